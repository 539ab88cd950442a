"""Topics of the stored texts: sizes, a map, words by relevance, documents, shares over time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.report import svg
from tallywise.text import CountVectorizer
from tallywise.topics import LatentDirichletAllocation

RELEVANCES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_MOST_TEXTS = 20_000
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_UNITS = ("day", "week", *_MONTHS)
_MOST_PERIODS = 48  # that a picture has room for
_FEWEST_TEXTS = 10  # that a period should have on average


def find_topics(
    rows: Sequence[tuple[int, str, float | None]], n_topics: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Fit topics and gather what the page shows; rows are numbers, texts and days since 1970."""
    step = max(1, -(-len(rows) // _MOST_TEXTS))
    kept = list(rows[::step])
    if len(kept) < max(10, n_topics):
        msg = f"{n_topics} topics need at least {max(10, n_topics)} texts. There are {len(kept)}."
        raise ValueError(msg)
    tell("counting words")
    vectorizer = CountVectorizer(stop_words="english", min_df=2 if len(kept) >= 50 else 1)
    X = vectorizer.fit_transform([text for _, text, _ in kept])
    tell(f"finding {n_topics} topics")
    model = LatentDirichletAllocation(n_topics, random_state=0).fit(X)
    names = vectorizer.get_feature_names_out().tolist()
    theta = np.asarray(model.transform(X))
    words = {
        str(relevance): [[word for word, _ in topic] for topic in
                         model.topics(12, by="relevance", names=names, relevance=relevance)]
        for relevance in RELEVANCES
    }  # fmt: skip
    order = np.argsort(-theta, axis=0, kind="stable")[:8].T
    days = np.array([np.nan if day is None else day for _, _, day in kept])
    times = over_time(theta, days)
    return {
        "texts": len(kept),
        "shares": theta.mean(axis=0).tolist(),
        "places": places(np.asarray(model.phi_)).tolist(),
        "words": words,
        "documents": [[[kept[i][0], float(theta[i, k])] for i in best] for k, best in enumerate(order.tolist())],
        "over_time": times,
        "pictures": pictures(times) if times else [],
    }


def places(phi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Topics in the plane, so that distances are near the Hellinger distances of their words (classical scaling).

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, Psychometrika 17.
    """
    root = np.sqrt(phi)
    squared = np.maximum(1 - root @ root.T, 0)
    K = len(phi)
    centre = np.eye(K) - 1 / K
    value, vector = np.linalg.eigh(-centre @ squared @ centre / 2)
    found = vector[:, ::-1][:, :2] * np.sqrt(np.maximum(value[::-1][:2], 0))
    if found.shape[1] < 2:
        found = np.column_stack([found, np.zeros(K)])
    return np.asarray(found)


# --- over time ---


def over_time(theta: NDArray[np.float64], days: NDArray[np.float64]) -> dict[str, Any] | None:
    """Mean share of each topic among the texts of each period, with its 95 % interval; None where there are no two.

    The period is the shortest of day, week, month, quarter, year, decade and century that gives not too many periods
    and enough texts to each on average. The interval is the mean -+ 1.96 standard errors, and missing for one text.
    """
    known = np.isfinite(days)
    theta, days = theta[known], days[known]
    if not len(days):
        return None
    unit = _unit(days)
    at = _period(days, unit)
    first, count = int(at.min()), int(at.max() - at.min()) + 1
    if count < 2:
        return None
    n = np.bincount(at - first, minlength=count).astype(float)
    shares, low, high = [], [], []
    for share in theta.T:
        with np.errstate(invalid="ignore", divide="ignore"):  # periods without texts have no mean
            mean = np.bincount(at - first, share, count) / n
            square = np.bincount(at - first, (share - mean[at - first]) ** 2, count) / (n - 1)
            half = 1.96 * np.sqrt(square / n)
        shares.append(_or_none(mean))
        low.append(_or_none(np.maximum(mean - half, 0)))
        high.append(_or_none(np.minimum(mean + half, 1)))
    names = [_name(first + k, unit) for k in range(count)]
    counts = n.astype(int).tolist()
    return {"unit": unit, "periods": names, "texts": counts, "shares": shares, "low": low, "high": high}


def _unit(days: NDArray[np.float64]) -> str:
    """The shortest period with enough texts in each; where that is one for all, the longest that tells two apart."""
    chosen = "century"
    for unit in reversed(_UNITS):
        at = _period(days, unit)
        seen = len(np.unique(at))
        crowded = int(at.max() - at.min()) >= _MOST_PERIODS
        if (crowded or len(days) < _FEWEST_TEXTS * seen) and len(np.unique(_period(days, chosen))) > 1:
            break
        chosen = unit
    return chosen


def _or_none(values: NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _period(days: NDArray[np.float64], unit: str) -> NDArray[np.int64]:
    """Numbers of the periods that days lie in; weeks begin on Monday."""
    whole = np.floor(days).astype(np.int64)
    if unit == "day":
        return whole
    if unit == "week":
        return np.asarray((whole + 3) // 7)
    months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 12 * 1970
    return np.asarray(months // _MONTHS[unit])


def _name(period: int, unit: str) -> str:
    """A period as people write it; a week by its Monday."""
    if unit in ("day", "week"):
        return str(np.datetime64(period if unit == "day" else 7 * period - 3, "D"))
    year, month = divmod(period * _MONTHS[unit], 12)
    if unit == "month":
        return f"{year}-{month + 1:02d}"
    if unit == "quarter":
        return f"{year} Q{month // 3 + 1}"
    return f"{year}" if unit == "year" else f"{year}s"


def pictures(times: dict[str, Any]) -> list[str]:
    """One picture a topic, all with the same scales."""
    names: list[str] = times["periods"]
    known = [value for row in times["shares"] for value in row if value is not None]
    top = svg.round_up(max(known)) if known else 1.0
    marks = np.unique(np.linspace(0, len(names) - 1, min(4, len(names))).astype(int)).tolist()
    found = []
    for k, shares in enumerate(times["shares"]):
        axes = svg.Axes((0, len(names) - 1), (0, top), (times["unit"], "share"), names=[(m, names[m]) for m in marks])
        for run in _runs(shares):
            banded = [t for t in run if times["low"][k][t] is not None]
            for part in _runs([1.0 if t in banded else None for t in range(run[0], run[-1] + 1)]):
                at = [run[0] + t for t in part]
                low, high = ([min(times[end][k][t], top) for t in at] for end in ("low", "high"))
                axes.band(at, low, high)
            axes.line(run, [shares[t] for t in run])
            for t in run:
                axes.dot(t, shares[t], f"{names[t]}: {100 * shares[t]:.1f} % of {times['texts'][t]:,} texts", 2.5)
        found.append(axes.svg(f"Topic {k + 1} by {times['unit']}"))
    return found


def _runs(values: Sequence[float | None]) -> list[list[int]]:
    """Places of values that stand beside each other without a gap."""
    found: list[list[int]] = []
    for t, value in enumerate(values):
        if value is None:
            continue
        if found and found[-1][-1] == t - 1:
            found[-1].append(t)
        else:
            found.append([t])
    return found
