"""Pictures on matplotlib (``pip install tallywise[plots]``), in the manner of scikit-learn's displays.

Each ``plot_*`` function computes what is shown, draws it and returns a display, which keeps the numbers, the axes
(``ax_``) and the figure (``figure_``), and draws itself again with ``plot(ax=...)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallywise._arrays import Matrix
from tallywise.evaluation import Metric, Threshold, choose_threshold, make_folds, proportion
from tallywise.evaluation.comparison import rows_of
from tallywise.report import curves

__all__ = [
    "CalibrationPlot",
    "LearningCurvePlot",
    "PathPlot",
    "ThresholdPlot",
    "TopicsPlot",
    "plot_calibration",
    "plot_learning_curve",
    "plot_path",
    "plot_thresholds",
    "plot_topics",
]

Array = NDArray[np.float64]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        msg = "Plots need matplotlib, which is not installed: pip install 'tallywise[plots]'."
        raise ImportError(msg) from None
    return pyplot


@dataclass
class _Plot:
    """What all displays share: axes of their own where none are given."""

    ax_: Any = field(init=False, default=None, repr=False)
    figure_: Any = field(init=False, default=None, repr=False)

    def _on(self, ax: Any) -> Any:
        self.ax_ = _pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


@dataclass
class PathPlot(_Plot):
    """Weights against the strength of the penalty; made by `plot_path`."""

    alphas: Array
    coefs: Array
    names: list[str]
    most: int

    def plot(self, ax: Any = None) -> "PathPlot":
        """Draw; the `most` weights that grow largest have a name and a colour."""
        ax = self._on(ax)
        shown = np.argsort(-np.abs(self.coefs).max(axis=1), kind="stable")[: self.most]
        rest = np.setdiff1d(np.flatnonzero(np.abs(self.coefs).max(axis=1) > 0), shown)
        for j in rest:
            ax.plot(self.alphas, self.coefs[j], color="0.8", linewidth=0.8)
        for j in shown:
            ax.plot(self.alphas, self.coefs[j], label=self.names[j])
        ax.axhline(0, color="0.5", linewidth=0.8)
        ax.set(xscale="log", xlabel="alpha", ylabel="weight")
        ax.invert_xaxis()
        if len(shown):
            ax.legend(fontsize="small")
        return self


def plot_path(
    alphas: ArrayLike, coefs: ArrayLike, *, names: Sequence[str] | None = None, most: int = 8, ax: Any = None
) -> PathPlot:
    """Draw weights against the strength of the penalty.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        As `lasso_path` and `enet_path` return them.
    coefs : array of shape (n_features, n_alphas)
        Likewise.
    names : sequence of str, optional
        One name per feature.
    most : int
        Features with a colour and a name: those whose weights grow largest. The others are grey.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise import lasso_path
    >>> from tallywise.report.plots import plot_path
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> alphas, coefs, _ = lasso_path(X, X @ [1.0, 0.5, 0.0])
    >>> plot_path(alphas, coefs, names=["a", "b", "c"]).ax_.get_xlabel()
    'alpha'
    """
    a, W = np.asarray(alphas, dtype=float), np.asarray(coefs, dtype=float)
    if W.ndim != 2 or a.shape != W.shape[1:]:
        msg = f"coefs must have one row per feature and one column per alpha. Got {W.shape} for {len(a)} alphas."
        raise ValueError(msg)
    called = [f"x{j}" for j in range(len(W))] if names is None else [str(name) for name in names]
    if len(called) != len(W):
        msg = f"names must have one entry per feature: {len(W)}. Got {len(called)}."
        raise ValueError(msg)
    return PathPlot(a, W, called, most).plot(ax)


@dataclass
class CalibrationPlot(_Plot):
    """Share correct against predicted probability, in bins of equal counts; made by `plot_calibration`."""

    predicted: Array
    observed: list[Metric]

    def plot(self, ax: Any = None) -> "CalibrationPlot":
        """Draw, with the interval of each bin."""
        ax = self._on(ax)
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="exact")
        ax.errorbar(self.predicted, *_with_intervals(self.observed), marker="o", capsize=2, label="observed, 95 %")
        ax.set(xlabel="predicted probability", ylabel="share observed", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.legend(fontsize="small")
        return self


def plot_calibration(hits: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 10, ax: Any = None) -> CalibrationPlot:
    """Draw how often predictions of each probability come true, on held-out rows.

    Parameters
    ----------
    hits : array of bool, shape (n,)
        Whether the row is of the class predicted: of the positive class, or of the verdict.
    probabilities : array of shape (n,)
        Probability that was predicted for it.
    n_bins : int
        Bins, of equal counts; each shows its share with an exact binomial interval.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Examples
    --------
    >>> from tallywise.report.plots import plot_calibration
    >>> shown = plot_calibration([False, False, True, True], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    >>> [round(figure.value, 2) for figure in shown.observed]
    [0.0, 1.0]
    """
    true, p = np.asarray(hits, dtype=bool), np.asarray(probabilities, dtype=float)
    if true.ndim != 1 or true.shape != p.shape or not len(p):
        msg = f"hits and probabilities must be of one length, at least 1. Got shapes {true.shape} and {p.shape}."
        raise ValueError(msg)
    if not ((p >= 0) & (p <= 1)).all():
        msg = "probabilities must be in [0, 1]."
        raise ValueError(msg)
    if n_bins < 1:
        msg = f"n_bins must be at least 1. Got {n_bins}."
        raise ValueError(msg)
    found = curves.calibration_bins(true, p, n_bins)
    return CalibrationPlot(found.predicted, found.observed).plot(ax)


@dataclass
class LearningCurvePlot(_Plot):
    """Held-out error against the number of training rows; made by `plot_learning_curve`."""

    sizes: NDArray[np.intp]
    errors: list[Metric]

    def plot(self, ax: Any = None) -> "LearningCurvePlot":
        """Draw, with the interval of each error."""
        ax = self._on(ax)
        ax.fill_between(self.sizes, [e.low for e in self.errors], [e.high for e in self.errors], alpha=0.2)
        ax.plot(self.sizes, [e.value for e in self.errors], marker="o")
        ax.set(xscale="log", xlabel="training rows", ylabel="held-out error (95 % band)")
        ax.set_ylim(bottom=0)
        return self


def plot_learning_curve(
    model: Any,
    X: Matrix,
    y: ArrayLike,
    *,
    sizes: Sequence[float] = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    cv: int = 3,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    ax: Any = None,
) -> LearningCurvePlot:
    """Draw the held-out error of a classifier against the number of rows it is trained on.

    Parameters
    ----------
    model : classifier
        Of ours or scikit-learn's; copies of it are fitted.
    X : texts, array or sparse matrix
        Rows.
    y : array of shape (n,)
        Labels.
    sizes : sequence of float
        Shares of the training rows of a fold. A share whose rows miss a class is left out.
    cv : int
        Folds; every row is held out once at each size, and the errors of all folds are pooled.
    groups : array of shape (n,), optional
        Rows of one group (near repeats, one author) stay in one fold.
    random_state : int
        Of the folds and of the order in which rows are added.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Examples
    --------
    >>> from tallywise import MultinomialNB
    >>> from tallywise.report.plots import plot_learning_curve
    >>> X, y = [[2, 0], [1, 0], [0, 1], [0, 3]] * 10, [0, 0, 1, 1] * 10
    >>> shown = plot_learning_curve(MultinomialNB(), X, y, sizes=(0.5, 1.0), cv=2)
    >>> shown.sizes.tolist(), [e.value for e in shown.errors]
    ([10, 20], [0.0, 0.0])
    """
    from sklearn.base import clone

    labels = np.asarray(y)
    if not sizes or not all(0 < share <= 1 for share in sizes):
        msg = f"sizes must be shares in (0, 1]. Got {list(sizes)}."
        raise ValueError(msg)
    classes, codes = np.unique(labels, return_inverse=True)
    folds = list(make_folds(codes, groups=groups, n_splits=cv, random_state=random_state))
    random = np.random.default_rng(random_state)
    orders = [random.permutation(train) for train, _ in folds]
    points: list[tuple[int, Metric]] = []
    for share in sorted(set(sizes)):
        parts = [order[: max(1, round(share * len(order)))] for order in orders]
        if any(len(np.unique(codes[part])) < len(classes) for part in parts):
            continue
        wrong = np.zeros(len(labels), dtype=bool)
        for part, (_, test) in zip(parts, folds, strict=True):
            fitted = clone(model).fit(rows_of(X, part), labels[part])
            wrong[test] = np.asarray(fitted.predict(rows_of(X, test))) != labels[test]
        points.append((round(float(np.mean([len(part) for part in parts]))), proportion("error", wrong, groups)))
    if not points:
        msg = f"No share of {list(sizes)} holds rows of all {len(classes)} classes: larger sizes are needed."
        raise ValueError(msg)
    return LearningCurvePlot(np.array([n for n, _ in points]), [error for _, error in points]).plot(ax)


@dataclass
class TopicsPlot(_Plot):
    """Words of topics as bars; made by `plot_topics`. `ax_` is an array of axes, one per topic."""

    topics: list[list[tuple[str, float]]]
    titles: list[str]

    def plot(self, ax: Any = None) -> "TopicsPlot":
        """Draw one panel per topic, on the axes of `ax` (an array of them) or on new ones."""
        if ax is None:
            columns = min(4, len(self.topics))
            rows = -(-len(self.topics) // columns)
            longest = max(len(topic) for topic in self.topics)
            size = (3.0 * columns, (0.6 + 0.2 * longest) * rows)
            ax = _pyplot().subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")[1]
        panels = np.asarray(ax).ravel()
        if len(panels) < len(self.topics):
            msg = f"One panel per topic is needed: {len(self.topics)}. Got {len(panels)}."
            raise ValueError(msg)
        for panel, topic, title in zip(panels, self.topics, self.titles, strict=False):
            panel.barh([word for word, _ in topic][::-1], [share for _, share in topic][::-1])
            panel.set_title(title, fontsize="small")
            panel.tick_params(labelsize="small")
        for panel in panels[len(self.topics) :]:
            panel.set_axis_off()
        self.ax_, self.figure_ = panels[: len(self.topics)], panels[0].figure
        return self


def plot_topics(
    model: Any,
    *,
    n: int = 8,
    by: str = "relevance",
    topics: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> TopicsPlot:
    """Draw the leading words of each topic, largest topics first.

    Parameters
    ----------
    model : LatentDirichletAllocation
        Fitted.
    n : int
        Words per topic.
    by : {"relevance", "probability", "frex"}
        What chooses and orders the words; the bars are their probabilities in the topic.
    topics : sequence of int, optional
        These topics alone, in this order; all, by their share of the tokens, by default.
    names : sequence of str, optional
        The vocabulary; ``feature_names_in_`` by default.
    ax : array of matplotlib axes, optional
        One panel per topic; new ones by default.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise import LatentDirichletAllocation
    >>> from tallywise.report.plots import plot_topics
    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 5]] * 5)
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> shown = plot_topics(model, n=2, names=["ball", "goal", "vote", "law"])
    >>> sorted(sorted(word for word, _ in topic) for topic in shown.topics)
    [['ball', 'goal'], ['law', 'vote']]
    """
    shares = model.topic_shares_
    order = np.argsort(-shares, kind="stable").tolist() if topics is None else list(topics)
    if not order or not all(0 <= k < len(shares) for k in order):
        msg = f"topics must be numbers from 0 to {len(shares) - 1}. Got {order}."
        raise ValueError(msg)
    probable = [dict(topic) for topic in model.topics(model.phi_.shape[1], "probability", names=names)]
    leading = model.topics(n, by, names=names)
    words = [[(word, probable[k][word]) for word, _ in leading[k]] for k in order]
    return TopicsPlot(words, [f"topic {k}, {shares[k]:.1%}" for k in order]).plot(ax)


@dataclass
class ThresholdPlot(_Plot):
    """Shares caught and flagged against the threshold; made by `plot_thresholds`."""

    thresholds: Array
    caught: list[Metric]
    flagged: list[Metric]
    chosen: Threshold | None

    def plot(self, ax: Any = None) -> "ThresholdPlot":
        """Draw both shares with their bands, and the threshold chosen."""
        ax = self._on(ax)
        for name, figures in (("positives caught", self.caught), ("negatives flagged", self.flagged)):
            ax.fill_between(self.thresholds, [f.low for f in figures], [f.high for f in figures], alpha=0.2)
            ax.plot(self.thresholds, [f.value for f in figures], label=name)
        if self.chosen is not None:
            ax.axvline(self.chosen.value, color="0.4", linestyle="--", label=f"chosen: {self.chosen.value:.4g}")
        ax.set(xlabel="threshold on the probability", ylabel="share (95 % band)", xlim=(0, 1), ylim=(-0.02, 1.02))
        ax.legend(fontsize="small")
        return self


def plot_thresholds(
    positive: ArrayLike, probabilities: ArrayLike, *, max_flagged: float | None = None, ax: Any = None
) -> ThresholdPlot:
    """Draw what a threshold on the probability catches and what it flags wrongly, on held-out rows.

    Parameters
    ----------
    positive : array of bool, shape (n,)
        True for rows of the positive class.
    probabilities : array of shape (n,)
        Held-out probability of that class.
    max_flagged : float, optional
        Marks the threshold that `tallywise.evaluation.choose_threshold` finds for this share of negatives.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Examples
    --------
    >>> from tallywise.report.plots import plot_thresholds
    >>> shown = plot_thresholds([False, False, True, True], [0.1, 0.6, 0.5, 0.9], max_flagged=0.0)
    >>> round(shown.chosen.value, 3)
    0.75
    """
    true, p = np.asarray(positive, dtype=bool), np.asarray(probabilities, dtype=float)
    if true.ndim != 1 or true.shape != p.shape or not true.any() or true.all():
        msg = "positive and probabilities must be of one length, with rows of both classes."
        raise ValueError(msg)
    if not ((p >= 0) & (p <= 1)).all():
        msg = "probabilities must be in [0, 1]."
        raise ValueError(msg)
    shares = curves.threshold_shares(true, p, np.linspace(0, 1, 201))
    chosen = None if max_flagged is None else choose_threshold(true, p, max_flagged)
    levels = np.array([share.threshold for share in shares])
    return ThresholdPlot(levels, [s.caught for s in shares], [s.flagged for s in shares], chosen).plot(ax)


def _with_intervals(figures: Sequence[Metric]) -> tuple[Array, Array]:
    """Values, and how far their intervals reach below and above: what matplotlib's error bars want."""
    value, low, high = (np.array([getattr(f, part) for f in figures]) for part in ("value", "low", "high"))
    return value, np.array([np.maximum(value - low, 0), np.maximum(high - value, 0)])
