"""How often 95 % intervals hold the truth: data made from a known model, again and again.

``python -m reliability.coverage`` prints the table of docs/evaluation.md.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import norm

from reliability.results import Limit, Measured
from tallywise.evaluation import measure as measure_classes

Array = NDArray[Any]
LEAST = 0.93  # of intervals that say 95 %
SIZES = (100, 500, 2000)
NAMES = ("error", "macro_f1", "mcc", "log_loss", "brier", "roc_area", "pr_area")


@dataclass(frozen=True)
class Population:
    """Scores of K classes, each the class's signal plus noise of variance 1, whose best decision has a known error.

    ``sharpness`` multiplies the log odds: 1 for calibrated probabilities, 2 for those that are too certain. Of
    ``repeats`` rows each is a copy of one group's, of unequal sizes.
    """

    title: str
    error: float
    share: float = 0.5  # of the positive class, of two
    classes: int = 2
    sharpness: float = 1.0
    repeats: bool = False

    def draw(self, n: int, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """True codes, probabilities and groups."""
        sizes = np.ones(n, dtype=int)
        if self.repeats:  # most groups are single rows, some have dozens
            sizes = np.ceil(random.pareto(1.5, n)).astype(int).clip(1, max(n // 20, 1))
            sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n)) + 1]
        y, P = self.rows(len(sizes), random)
        rows = np.repeat(np.arange(len(sizes)), sizes)[:n]
        return y[rows], P[rows], rows

    def rows(self, n: int, random: np.random.Generator) -> tuple[Array, Array]:
        """True codes and probabilities of independent rows."""
        signal = _signal(self)
        if self.classes == 2:
            y = (random.random(n) < self.share).astype(int)
            log_odds = signal * (random.normal(size=n) + signal * y - signal / 2)
            log_odds += np.log(self.share / (1 - self.share))
            return y, softmax(np.c_[np.zeros(n), self.sharpness * log_odds], axis=1)
        y = random.integers(0, self.classes, n)
        z = random.normal(size=(n, self.classes))
        z[np.arange(n), y] += signal
        return y, softmax(self.sharpness * signal * z, axis=1)


@functools.cache
def _signal(population: Population) -> float:
    """How far apart the classes are for the best decision to have the population's error."""
    if population.classes == 2:

        def excess(d: float) -> float:
            t = np.log((1 - population.share) / population.share) / d + d / 2
            return float(population.share * norm.cdf(t - d) + (1 - population.share) * norm.sf(t) - population.error)

    else:
        z = np.random.default_rng(0).normal(size=(200_000, population.classes))
        rest = z[:, 1:].max(axis=1)

        def excess(d: float) -> float:
            return float((z[:, 0] + d < rest).mean() - population.error)

    return float(brentq(excess, 0.05, 15, xtol=1e-3))


POPULATIONS = (
    Population("two classes", 0.005),
    Population("two classes, too certain", 0.005, sharpness=2.0),
    Population("two classes, 10 % positive", 0.0075, share=0.1),
    Population("two classes, repeats", 0.02, repeats=True),
    Population("two classes", 0.05),
    Population("two classes", 0.25),
    Population("five classes", 0.005, classes=5),
    Population("twenty classes", 0.05, classes=20),
)


def cover(
    population: Population, n: int, trials: int, *, resamples: int = 300, going: Callable[[], bool] = lambda: True
) -> dict[str, float]:
    """Share of intervals that hold the true value, by figure; NaN where none was made."""
    y, P = population.rows(1_000_000, np.random.default_rng(10**6))
    names = np.arange(population.classes)
    truth = {name: figure.value for name, figure in measure_classes(y, P, names, resamples=1).items()}
    inside: dict[str, list[bool]] = {name: [] for name in NAMES if name in truth}
    for trial in range(trials):
        if not going():
            break
        y, P, groups = population.draw(n, np.random.default_rng(trial))
        found = measure_classes(y, P, names, groups=groups, resamples=resamples, random_state=trial)
        for name, held in inside.items():
            if name in found:
                held.append(found[name].low <= truth[name] <= found[name].high)
    return {name: float(np.mean(held)) if held else float("nan") for name, held in inside.items()}


def measure(full: bool, seconds: float | None, only: str | None = None) -> Iterator[Measured]:
    """Coverage of every figure in every population, as the least of them and as a table."""
    limit = Limit(seconds)
    trials = 1000 if full else 60
    table, wrong = [], []
    for population in POPULATIONS:
        for n in SIZES if full else SIZES[:1]:
            if limit.over():
                break
            if n < 10 * population.classes:  # the F1 of a class is biased by itself: no claim
                continue
            found = cover(population, n, trials, going=lambda: not limit.over())
            table.append({"title": population.title, "error": population.error, "n": n, **found})
            # below the claim by more than 1,000 (60) trials may by chance, with probability 0.1 %
            slack = 3.1 * (LEAST * (1 - LEAST) / trials) ** 0.5
            wrong += [
                f"{population.title}, error {population.error}, n = {n}: {name} covered {share:.3f}"
                for name, share in found.items()
                if share < LEAST - slack
            ]
    least = min(share for row in table for name, share in row.items() if name in NAMES)
    yield Measured(
        "coverage",
        "samples drawn from populations with known figures, and 95 % intervals of each figure",
        f"at least {100 * LEAST:g} % of the intervals hold the truth",
        {"populations and sizes": len(table), "samples of each": trials, "least coverage, %": round(100 * least, 1)},
        wrong,
    )


def main(trials: int = 400) -> None:
    """Print the table of docs/evaluation.md, row by row."""
    print(f"| population | n | {' | '.join(NAMES)} |")
    print("|---" * (len(NAMES) + 2) + "|")
    for population in POPULATIONS:
        for n in SIZES:
            found = cover(population, n, trials)
            shares = " | ".join(f"{100 * found[name]:.0f}" if name in found else "" for name in NAMES)
            print(f"| {population.title}, error {100 * population.error:g} % | {n:,} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
