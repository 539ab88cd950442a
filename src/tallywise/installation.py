"""Checks of the installation: versions, native build, threads, and fits whose results are known."""

import importlib
import importlib.metadata
import importlib.util
import math
import os
import platform
import re
from typing import NamedTuple

_EXTRAS = {"pyarrow": "Parquet files and Arrow columns", "polars": "polars columns", "pandas": "pandas columns"}

_TO_LEARN = ("scikit-learn", "scipy", "threadpoolctl")  # an installation that only serves a model can do without


class Check(NamedTuple):
    """One check: its result, and the problem, if any."""

    name: str
    value: str
    problem: str | None = None


def build_facts() -> str:
    """Version, native build, interpreter and scikit-learn in one line, for reports of defects.

    Examples
    --------
    >>> from tallywise.installation import build_facts
    >>> build_facts().startswith("tallywise ")
    True
    """
    version = importlib.metadata.version("tallywise")
    try:
        from tallywise import _native

        native = f"native build {_native.level} by {_native.compiler}"
    except ImportError as error:
        native = f"no native build: {error}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    try:
        learning = f"scikit-learn {importlib.metadata.version('scikit-learn')}"
    except importlib.metadata.PackageNotFoundError:
        learning = "without scikit-learn"
    return f"tallywise {version} ({native}, {python}, {learning}, {platform.system()} {platform.machine()})"


def examine() -> list[Check]:
    """Results of all checks; those with a ``problem`` need attention.

    Examples
    --------
    >>> from tallywise.installation import examine
    >>> [finding.name for finding in examine()][:2]
    ['tallywise', 'python']
    """
    findings = [
        Check("tallywise", importlib.metadata.version("tallywise")),
        Check("python", platform.python_version()),
        Check("platform", platform.platform()),
        *_requirements(),
    ]
    for name, purpose in _EXTRAS.items():
        found = importlib.metadata.version(name) if importlib.util.find_spec(name) else None
        findings.append(Check(name, found or f"not installed (for {purpose})"))
    try:
        findings.append(_native_build())
    except ImportError as error:
        return [*findings, Check("native build", "none", str(error))]
    findings.append(_thread_count())
    usable = findings[-1].problem is None and _can_learn()  # else no fit would start
    return [*findings, *([_known_counts(), _known_optimum()] if usable else [])]


def _can_learn() -> bool:
    try:
        importlib.import_module("sklearn.base")
    except ModuleNotFoundError:
        return False
    return True


def _requirements() -> list[Check]:
    found = []
    for line in importlib.metadata.requires("tallywise") or []:
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)", line.split(";")[0].strip())
        if match is None or "extra" in line:
            continue
        name, least = match.groups()
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name in _TO_LEARN:
                found.append(Check(name, "not installed (models can be served, not trained)"))
            else:
                found.append(Check(name, "not installed", f"{name} {least} or newer is needed: pip install '{line}'"))
            continue
        old = _numbers(version) < _numbers(least)
        found.append(Check(name, version, f"{least} or newer is needed: pip install '{line}'" if old else None))
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _native_build() -> Check:
    from tallywise import _native
    from tallywise._cpu import levels

    best, asked = levels()[0], os.environ.get("TALLYWISE_LEVEL")
    problem = None
    if _native.level != best and asked is None:
        problem = f"this processor can run the {best!r} build, which is faster but not installed: reinstall tallywise"
    note = f" (by TALLYWISE_LEVEL; this processor can run {best!r})" if asked and asked != best else ""
    return Check("native build", _native.level + note, problem)


def _thread_count() -> Check:
    from tallywise import _threads

    given = os.environ.get("TALLYWISE_NUM_THREADS")
    try:
        threads, cores = _threads.count(), _threads.count(-1)
    except ValueError as error:
        return Check("threads", str(given), str(error))
    problem = f"TALLYWISE_NUM_THREADS asks for more threads than the {cores} cores" if threads > cores else None
    return Check(
        "threads", f"{threads} ({f'TALLYWISE_NUM_THREADS={given}' if given else 'one for each core'})", problem
    )


def _known_counts() -> Check:
    """P(first class | "spam") after "spam spam ham" and "ham" is 9/14 by hand, with one added to each count."""
    from tallywise.naive_bayes import MultinomialNB
    from tallywise.text import CountVectorizer

    vectorizer = CountVectorizer()
    model = MultinomialNB().fit(vectorizer.fit_transform(["spam spam ham", "ham"]), [0, 1])
    found = float(model.predict_proba(vectorizer.transform(["spam"]))[0, 0])
    right = math.isclose(found, 9 / 14, rel_tol=1e-12)
    return Check("naive Bayes", f"{found:.12f}", None if right else f"{9 / 14:.12f} is right: reinstall tallywise")


def _known_optimum() -> Check:
    """The least of w^2 / 2 + 2 log(1 + exp(-w)) has w (1 + exp(w)) = 2."""
    import numpy as np

    from tallywise.linear import LogisticRegression

    model = LogisticRegression(fit_intercept=False, tol=1e-10).fit(np.array([[1.0], [-1.0]]), [1, 0])
    w = float(model.coef_[0, 0])
    right = math.isclose(w * (1 + math.exp(w)), 2, rel_tol=1e-4) and model.certificate_.relative_gap <= 1e-10
    value = f"w = {w:.6f}, relative gap {model.certificate_.relative_gap:.0e}"
    return Check("logistic fit", value, None if right else "w (1 + exp(w)) must be 2: reinstall tallywise")
