"""Plots as inline SVG."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from tallywise.plain_text import typeset
from tallywise.report import curves

Array = NDArray[np.float64]
_W, _H, _LEFT, _BOTTOM, _TOP, _RIGHT = 380, 280, 66, 40, 12, 14


class Axes:
    """A frame with two scales; x may be logarithmic, or have names at some of its places."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        labels: tuple[str, str],
        log: bool = False,
        names: Sequence[tuple[float, str]] | None = None,
    ) -> None:
        self.log = log
        self.x = (np.log(x[0]), np.log(x[1])) if log else x
        self.y = y if y[1] > y[0] else (y[0], y[0] + 1)
        self.parts: list[str] = []
        right, base = _W - _RIGHT, _H - _BOTTOM
        self.parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{base}H{right}"/>')
        for value in rounded(*self.y):
            place = self.v(value)
            self.parts.append(f'<path class="grid" d="M{_LEFT} {place:.1f}H{right}"/>')
            self.parts.append(f'<text x="{_LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{tick(value)}</text>')
        shown = self._numbers() if names is None else names
        for k, (value, name) in enumerate(shown):
            last = k and k == len(shown) - 1 and self.h(value) > right - 12  # it must not be cut off
            anchor = "end" if last else "middle"
            below = f'x="{self.h(value):.1f}" y="{base + 16}" text-anchor="{anchor}"'
            self.parts.append(f"<text {below}>{escape(name)}</text>")
        middle = (_TOP + base) / 2
        across = f'x="{(_LEFT + right) / 2}" y="{_H - 6}"'
        along = f'transform="translate(12 {middle}) rotate(-90)"'
        for where, label in zip((across, along), labels, strict=True):
            self.parts.append(f'<text class="label" {where} text-anchor="middle">{label}</text>')

    def _numbers(self) -> list[tuple[float, str]]:
        """Some numbers along x."""
        if not self.log:
            return [(value, tick(value)) for value in rounded(*self.x)]
        inner = [self.x[0] + (self.x[1] - self.x[0]) * k / 4 for k in range(5)]
        return [(value, f"{value:,.0f}") for value in np.exp(inner).tolist()]

    def h(self, x: float) -> float:
        """Horizontal place of a value."""
        inner = np.log(x) if self.log else x
        width = (self.x[1] - self.x[0]) or 1.0
        return float(_LEFT + (inner - self.x[0]) / width * (_W - _RIGHT - _LEFT))

    def v(self, y: float) -> float:
        """Vertical place of a value."""
        return float(_H - _BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (_H - _BOTTOM - _TOP))

    def line(self, x: Sequence[float] | Array, y: Sequence[float] | Array, kind: str = "curve") -> None:
        """A polyline."""
        points = " ".join(f"{self.h(a):.1f},{self.v(b):.1f}" for a, b in zip(x, y, strict=True))
        self.parts.append(f'<polyline class="{kind}" points="{points}"/>')

    def band(self, x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> None:
        """The area between two curves."""
        there = [f"{self.h(a):.1f},{self.v(b):.1f}" for a, b in zip(x, high, strict=True)]
        back = [f"{self.h(a):.1f},{self.v(b):.1f}" for a, b in zip(x, low, strict=True)]
        self.parts.append(f'<polygon class="band" points="{" ".join(there + back[::-1])}"/>')

    def dot(self, x: float, y: float, title: str, radius: float = 4) -> None:
        """A point with a tooltip."""
        place = f'cx="{self.h(x):.1f}" cy="{self.v(y):.1f}" r="{radius:.1f}"'
        self.parts.append(f"<circle {place}><title>{escape(title)}</title></circle>")

    def bar(self, left: float, right: float, y: float, title: str) -> None:
        """A bar from the bottom up to a height, with a tooltip."""
        x, top = self.h(left), self.v(y)
        place = f'x="{x:.1f}" y="{top:.1f}" width="{max(self.h(right) - x - 1, 0.5):.1f}"'
        self.parts.append(
            f'<rect class="against" {place} height="{_H - _BOTTOM - top:.1f}"><title>{escape(title)}</title></rect>'
        )

    def svg(self, title: str) -> str:
        """The finished picture."""
        return f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {_W} {_H}">{"".join(self.parts)}</svg>'


def tick(value: float) -> str:
    """A short number for an axis."""
    return typeset(value, 3)


def rounded(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high: multiples of 1, 2, 2.5 or 5 times a power of ten.

    Examples
    --------
    >>> from tallywise.report.svg import rounded
    >>> rounded(-3.1, 7.4), rounded(0, 1)
    ([-2.0, 0.0, 2.0, 4.0, 6.0], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    if not high > low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    steps = (m * power for m in (1, 2, 2.5, 5, 10, 20))
    for step in steps:
        first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
        if last - first < most:
            break
    return [float(k * step) + 0.0 for k in np.arange(first, last + 1)]


def thin(x: Array, y: Array, most: int = 300) -> tuple[Array, Array]:
    """At most `most` points of a curve, its ends among them."""
    keep = np.unique(np.linspace(0, len(x) - 1, most).astype(int))
    return x[keep], y[keep]


def roc(positive: NDArray[np.bool_], scores: Array) -> str:
    """True against false positives, over all thresholds."""
    axes = Axes((0, 1), (0, 1), ("false positive rate", "true positive rate"))
    axes.line([0, 1], [0, 1], "chance")
    axes.line(*thin(*curves.roc_curve(positive, scores)))
    return axes.svg("ROC curve")


def precision_recall(positive: NDArray[np.bool_], scores: Array) -> str:
    """Precision against recall, over all thresholds."""
    axes = Axes((0, 1), (0, 1), ("recall", "precision"))
    share = positive.mean()
    axes.line([0, 1], [share, share], "chance")
    axes.line(*thin(*curves.precision_recall_curve(positive, scores)))
    return axes.svg("precision and recall")


def reliability(hits: NDArray[np.bool_], claimed: Array) -> str:
    """Share of correct predictions against predicted probability, in ten bins of equal counts."""
    axes = Axes((0, 1), (0, 1), ("predicted probability", "share correct"))
    axes.line([0, 1], [0, 1], "chance")
    found = curves.calibration_bins(hits, claimed)
    axes.line(found.predicted, [share.value for share in found.observed])
    for x, share, size in zip(found.predicted.tolist(), found.observed, found.sizes, strict=True):
        axes.dot(x, share.value, f"predicted {x:.3f}, correct {share.value:.3f}, of {size:,}")
    return axes.svg("calibration")


def learning(sizes: Sequence[int], errors: Sequence[float], low: Sequence[float], high: Sequence[float]) -> str:
    """Error against the number of training texts."""
    axes = Axes((sizes[0], sizes[-1]), (0, round_up(max(high))), ("training texts", "error"), log=True)
    axes.band(sizes, low, high)
    axes.line(sizes, errors)
    for n, e in zip(sizes, errors, strict=True):
        axes.dot(n, e, f"{n:,} texts: error {e:.4f}")
    return axes.svg("learning curve")


def round_up(top: float) -> float:
    """The next of 1, 2, 4, 6, 8 times a power of ten, so that quarters of it are short numbers."""
    power = 10.0 ** np.floor(np.log10(top)) if top > 0 else 1.0
    return float(next(m * power for m in (1, 2, 4, 6, 8, 10) if m * power >= top * (1 - 1e-9)))


def bars(words: Sequence[tuple[str, float]], most: int = 24) -> str:
    """Bars of terms or columns, at most so many letters of each; those below 0 in another colour.

    A term stands in a column of its own beside the axis, so that the longest bar has all the room that is left.
    """
    top = max((abs(w) for _, w in words), default=1.0) or 1.0
    longest = max((min(len(word), most) for word, _ in words), default=1)
    height, column = 18, 6.4 * longest + 10  # by a usual width of a letter
    parts = []
    for k, (word, weight) in enumerate(words):
        place = f'x="{column:.1f}" y="{k * height + 2}"'
        kind = "for" if weight >= 0 else "against"
        parts.append(
            f'<rect class="{kind}" {place} width="{abs(weight) / top * (380 - column):.1f}" height="{height - 4}"/>'
        )
        shown = escape(word if len(word) <= most else word[: most - 1] + "…")
        where = f'x="{column - 5:.1f}" y="{k * height + 13}" text-anchor="end"'
        parts.append(f"<text {where}>{shown}<title>{escape(word)} {weight:+.3f}</title></text>")
    return f'<svg role="img" aria-label="bars" viewBox="0 0 380 {len(words) * height + 4}">{"".join(parts)}</svg>'


def scatter(
    x: Array, y: Array, labels: tuple[str, str], title: str, *, at: float | None = None, diagonal: bool = False
) -> str:
    """A cloud of points, with a line at a height or along the diagonal."""
    low, high = float(y.min()), float(y.max())
    if at is not None:
        low, high = min(low, at), max(high, at)
    if diagonal:
        low, high = min(low, float(x.min())), max(high, float(x.max()))
    across = (low, high) if diagonal else (float(x.min()), float(x.max()))
    axes = Axes(across if across[1] > across[0] else (across[0], across[0] + 1), (low, high), labels)
    if at is not None:
        axes.line(axes.x, (at, at), "chance")
    if diagonal:
        axes.line((low, high), (low, high), "chance")
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        axes.dot(a, b, f"{labels[0]} {typeset(a)}, {labels[1]} {typeset(b)}", 2)
    return axes.svg(title)


def histogram(x: Array, labels: tuple[str, str], most: int = 40) -> str:
    """How many values fall into bins of equal width; the hundredth part at each end is in the outermost bins."""
    low, high = np.quantile(x, [0.005, 0.995])
    if not high > low:
        low, high = float(x.min()) - 0.5, float(x.max()) + 0.5
    counts, edges = np.histogram(np.clip(x, low, high), min(most, max(int(np.sqrt(len(x))), 5)), (low, high))
    axes = Axes((float(low), float(high)), (0, round_up(float(counts.max()))), labels)
    for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        axes.bar(left, right, count, f"{typeset(left)} to {typeset(right)}: {count:,}")
    return axes.svg("histogram")
