"""`regress`: ridge regression of numbers on texts, from shards."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from tallywise._certificate import Certificate
from tallywise.linear import Ridge
from tallywise.reading import find_shards, layout_of, shard_size
from tallywise.scale.checkpoints import Checkpoints, fingerprint
from tallywise.scale.counting import held_out_share
from tallywise.scale.engines import connect
from tallywise.scale.gathering import Reading, gather
from tallywise.scale.jobs import Features, Path_, Progress, Report, across
from tallywise.text import TfidfTransformer


@dataclass(frozen=True)
class Regression:
    """What a regression over shards has brought.

    Attributes
    ----------
    model : Pipeline
        A vectorizer, `TfidfTransformer` and `Ridge`, fitted: it predicts numbers for texts.
    alpha : float
        The penalty kept.
    rmse, r2 : float
        Of the held-out texts, by the model that had not learned them; NaN where none were held out.
    trials : list of (float, float)
        Penalties and the root mean squared error of each on held-out texts.
    certificate : Certificate
        Primal and dual value on all texts.
    """

    model: Pipeline
    alpha: float
    rmse: float
    r2: float
    trials: list[tuple[float, float]]
    certificate: Certificate
    rows: int
    shards: list[str]
    skipped: dict[str, str]
    workers: str
    bytes_moved: int
    seconds: float


def regress(
    shards: Path_ | Iterable[Path_],
    *,
    alpha: float | Sequence[float] = (10.0, 1.0, 0.1),
    ray: str | None = None,
    workers: int | None = None,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    ngram_range: tuple[int, int] = (1, 2),
    analyzer: str = "word",
    min_df: float = 1,
    max_features: int | None = None,
    n_features: int | None = None,
    stop_words: Any = None,
    held_out: float | None = None,
    tol: float = 1e-3,
    skip_bad: bool = False,
    resume: Path_ | None = None,
    progress: Report | None = None,
) -> Regression:
    """Ridge regression of a number on tf-idf weighted texts of shards, which are gathered as for `train`.

    Minimises ``sum (y - x'w - b)^2 + alpha |w|^2`` over the rows of all shards, as `Ridge` does over those of a matrix.

    Parameters
    ----------
    shards : path, glob, or list of them
        What `tallywise.reading.find_shards` takes.
    alpha : float or sequence of float
        The penalty; of several, the one with the least error on held-out texts.
    ray, workers, text, label, format, ngram_range, analyzer, min_df, max_features, n_features, stop_words, held_out
        As for `train`; the labels are numbers.
    tol : float
        Relative duality gap.
    skip_bad, resume, progress
        As for `train`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.scale import regress
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         rows = ["a good day,4.5", "a bad day,1.5", "good good,5", "so bad,1"] * 20
    ...         _ = pathlib.Path(folder, f"{k}.csv").write_text(chr(10).join(["text,stars", *rows]))
    ...     made = regress(folder + "/*.csv", text="text", label="stars", alpha=1.0, workers=1)
    >>> made.rows, made.model.predict(["a bad day"]).round(1).tolist()
    (240, [1.5])
    """
    began = time.perf_counter()
    alphas = [float(one) for one in np.atleast_1d(alpha)]
    if not alphas or not all(0 < one < np.inf for one in alphas):
        msg = f"alpha must be a positive number, or several. Got {alpha!r}."
        raise ValueError(msg)
    listed = find_shards(shards)
    sizes = [shard_size(shard) for shard in listed]
    layout, _ = layout_of(listed, text=text, label=label, format=format)
    share = held_out_share(held_out, listed, sizes, layout)
    reading = Reading(layout, skip_bad=skip_bad, numbers=True)
    report = progress or (lambda _: None)
    engine = connect(ray, workers, len(listed))
    try:
        checkpoints = Checkpoints(resume, fingerprint(listed, reading, sizes))
        corpus = gather(listed, reading, engine, checkpoints, report, markup=False)
        where, moved = across(engine.title, len(listed)), engine.bytes_moved
    finally:
        engine.close()
    features = Features((ngram_range[0], ngram_range[1]), analyzer, min_df, max_features, n_features, False, stop_words)
    vectorizer = features.view().vectorizer
    if n_features is None:
        vectorizer.set_params(min_df=min_df, max_features=max_features)
    weighting = TfidfTransformer(sublinear_tf=True)
    X, y = weighting.fit_transform(vectorizer.fit_transform(corpus.documents)), np.array(corpus.labels, dtype=float)
    held = corpus.hashes.view(np.uint64) < np.uint64(int(share * 2.0**64))

    def fitted(alpha: float, rows: Any) -> Any:
        report(Progress("fitting", len(listed), line=f"ridge regression, alpha = {alpha:g}"))
        return Ridge(alpha=alpha, tol=tol).fit(X[rows], y[rows])

    errors = [np.square(y[held] - fitted(one, ~held).predict(X[held])) for one in alphas] if held.any() else []
    best = min(range(len(alphas)), key=lambda k: errors[k].mean()) if errors else 0
    rmse, r2 = np.nan, np.nan
    if errors:
        error, spread = float(errors[best].mean()), float(y[held].var())
        rmse, r2 = float(np.sqrt(error)), 1 - error / spread if spread > 0 else np.nan
    ridge = fitted(alphas[best], slice(None))
    return Regression(
        make_pipeline(vectorizer, weighting, ridge),
        alphas[best],
        rmse,
        r2,
        [(one, float(np.sqrt(found.mean()))) for one, found in zip(alphas, errors, strict=False)],
        ridge.certificate_,
        len(corpus),
        listed,
        {listed[done.shard]: done.problem for done in corpus.done if done.problem},
        where,
        moved,
        time.perf_counter() - began,
    )
