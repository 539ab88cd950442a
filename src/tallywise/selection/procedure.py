"""The procedure of selection: candidates on the same folds, their weighted sum, calibrated on held-out rows."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits

from tallywise.evaluation import Folds, Metric, make_folds, proportion
from tallywise.selection.combination import Combination, Link, links, plain_softmax, weighted_sum
from tallywise.selection.folds import Rows, draw_groups, folds_within, held_rows, parts_of
from tallywise.selection.work_limits import ROOM, WORK, Deadline, TimeUpError, free_memory

Array = NDArray[np.float64]
Tell = Callable[[str], None]

COMPARED = 100_000  # rows that take part at most: an error of 5 % is then known to 0.07 points
PARTS = 5  # of the held-out rows; weights, offsets and link that score one part are chosen on the others
# Of the seconds of the first candidate, which what comes after it leaves for its weights, its fit on all rows and the
# metrics: with 2,000 classes of 20,000 texts these take 1.6 and 0.3 times as long as its held-out scores.
_RESERVE = 2.0
_TINY = float(np.finfo(float).tiny)


class HeldOutScores(NamedTuple):
    """Scores of the held-out rows, in rising order of rows, one column per class (one in all for two classes).

    With `thresholds` there is one score, cut into ordered classes, which is a model of probabilities already.
    """

    scores: Array
    thresholds: Array = np.empty(0)


class Candidate(Protocol):
    """A model type on the rows that it may learn from."""

    @property
    def name(self) -> str:
        """What it is called in code; of the candidates of one selection, each has another."""

    @property
    def title(self) -> str:
        """Name and setting, human-readable."""

    @property
    def rank(self) -> int:
        """How much it can learn: of candidates with equal log loss the lowest is kept."""

    @property
    def adds(self) -> bool:
        """Whether its scores can be part of a weighted sum."""

    def cost(self, rows: Rows) -> float:
        """Entries of features that one fit on these rows reads, about."""

    def memory(self, held: int) -> float:
        """Bytes that held-out scores of so many rows take, and the model on all rows, about."""

    def held_out(self, rows: Rows, folds: Folds) -> HeldOutScores:
        """Scores of held-out rows by fits on the training rows of each fold; folds count places in `rows`."""


@dataclass
class Trial:
    """One model on the held-out rows: each row by weights, offsets and a link that were chosen on other rows."""

    title: str
    names: list[str]  # of the candidates with weight above 0
    rank: int  # the lowest of theirs
    combination: Combination  # chosen on all held-out rows, its weights those of the candidates named
    link: str
    probabilities: Array = field(repr=False)
    wrong: Array = field(repr=False)
    losses: Array = field(repr=False)
    thresholds: Array = field(default_factory=lambda: np.empty(0), repr=False)
    seconds: float = 0.0
    reference: bool = False  # shown beside the model, never selected before it

    @property
    def error(self) -> float:
        """Share of the held-out rows that the most likely class is wrong on."""
        return float(self.wrong.mean())

    @property
    def log_loss(self) -> float:
        """Mean log loss of the held-out rows."""
        return float(self.losses.mean())

    def error_metric(self, groups: Any = None) -> Metric:
        """Error on the held-out rows, with its interval; rows of a group count as far as they are independent."""
        return proportion("error", self.wrong, groups)


@dataclass
class Selection:
    """What was selected: trials with the model first, how they were compared, and what was left out."""

    trials: list[Trial]
    left_out: list[str]  # titles, each with the reason
    rows: Rows  # held-out rows, in rising order
    split: str  # how the rows were split
    fits: int  # how often each candidate was fitted
    description: list[str]


def select(
    candidates: Sequence[Candidate],
    codes: Rows,
    groups: Rows,
    *,
    reference: Candidate | None = None,
    cv: int | None = None,
    deadline: Deadline | None = None,
    random_state: int = 0,
    tell: Tell = lambda line: None,
) -> Selection:
    """Score candidates on the same held-out folds, add them up, calibrate the sum.

    Parameters
    ----------
    candidates : list of Candidate
        Those that add up make one model; others, if any, stand beside it, and the least held-out log loss wins.
    codes, groups : arrays of int
        Class of each row, and rows that stay on one side of every split.
    reference : Candidate, optional
        Scored first and shown beside the model. It is the model where time does not allow any other.
    cv : int, optional
        Folds; by default 5, of which as many are used as the work allows.
    deadline : Deadline, optional
        When no further candidate is scored, and the one under way is stopped.
    random_state : int
        Seed of the folds.
    tell : callable
        Called with a line of text before each candidate.
    """
    # Products here are small, and threads that wait for the next one cost more than they bring.
    with threadpool_limits(1, user_api="blas"):
        return _select(candidates, codes, groups, reference, cv, deadline or Deadline(), random_state, tell)


def _select(
    candidates: Sequence[Candidate],
    codes: Rows,
    groups: Rows,
    reference: Candidate | None,
    cv: int | None,
    clock: Deadline,
    random_state: int,
    tell: Tell,
) -> Selection:
    drawn = draw_groups(codes, groups, COMPARED, random_state)
    y, together = codes[drawn], groups[drawn]
    folds = make_folds(y, groups=together, n_splits=min(cv or 5, len(np.unique(together))), random_state=random_state)
    if cv is None:
        folds = folds_within(folds, sum(candidate.cost(drawn) for candidate in candidates), WORK)
    description = []
    if len(drawn) < len(codes):
        description.append(f"compared on {len(drawn):,} of {len(codes):,} rows, drawn at random")
    everyone = [*([reference] if reference is not None else []), *candidates]
    scored = score_held_out(everyone, drawn, folds, len(np.unique(y)), clock, tell)
    rows, known = held_rows(folds), scored.known
    tell("weighing")
    judge = _Trials(y[rows], parts_of(together[rows], PARTS), scored.seconds)
    plain = {"softmax": plain_softmax}  # for what is only shown beside the model
    adding = [pair for pair in known if pair[0].adds and pair[0] is not reference]
    trials = [judge.summed(adding)] if adding else []
    trials += [judge.alone(*pair) for pair in known if not pair[0].adds]
    trials.sort(key=lambda trial: (trial.log_loss, trial.rank))
    if len(adding) > 1:
        trials += [judge.summed([pair], plain) for pair in adding]
    if known[0][0] is reference:
        trials.append(judge.summed(known[:1], plain))
        trials[-1].reference = True
    how = [*description, *scored.description]
    return Selection(trials, scored.left_out, drawn[rows], folds.description, len(folds), how)


@dataclass
class Scored:
    """Candidates with their held-out scores, the seconds that these took, and what was left out and why."""

    known: list[tuple[Candidate, HeldOutScores]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    description: list[str] = field(default_factory=list)


def score_held_out(
    candidates: Sequence[Candidate], rows: Rows, folds: Folds, classes: int, clock: Deadline, tell: Tell
) -> Scored:
    """Held-out scores of candidates on the same folds, as memory and time allow; none is stopped for the first."""
    affordable, left_out = _affordable(candidates, len(held_rows(folds)), classes)
    found = Scored(left_out=left_out, description=[f"left out: {one}" for one in left_out])
    late, reserve = [], 0.0
    for candidate in affordable:
        began = time.perf_counter()
        if found.known and clock.over(reserve):
            late.append(f"{candidate.title} (no time was left)")
            continue
        tell(f"cross-validating {candidate.title}")
        try:
            with clock.enforced(reserve) if found.known else nullcontext():
                scores = candidate.held_out(rows, folds)
        except TimeUpError:
            late.append(f"{candidate.title} (stopped by the time limit)")
            continue
        found.seconds[candidate.name] = time.perf_counter() - began
        reserve = reserve or _RESERVE * found.seconds[candidate.name]
        found.known.append((candidate, scores))
    if late:
        found.left_out += late
        found.description.append(f"the time limit of {clock.seconds:g} s left out: {'; '.join(late)}")
    return found


def _affordable(candidates: Sequence[Candidate], held: int, classes: int) -> tuple[list[Candidate], list[str]]:
    """Candidates that the free memory has room for, and the others with what they need; an error where none is left."""
    free, taken = ROOM * free_memory(), 0.0
    kept: list[Candidate] = []
    left_out = []
    for candidate in candidates:
        needed = candidate.memory(held)
        if taken + needed <= free:
            kept.append(candidate)
            taken += needed
        else:
            left_out.append(
                f"{candidate.title} (needs about {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} are there)"
            )
    if not kept:
        msg = (
            f"{classes:,} classes need more memory than there is: {'; '.join(left_out)}. Join rare classes or leave "
            "them out, or take fewer terms: a larger min_df, a shorter ngram_range or n_features."
        )
        raise MemoryError(msg)
    return kept, left_out


class _Trials:
    """Held-out scores to trials: the labels of the rows, and the parts that they are calibrated in."""

    def __init__(self, y: Rows, part: Rows, seconds: dict[str, float]) -> None:
        self.y, self.part, self.seconds = y, part, seconds

    def summed(self, known: Sequence[tuple[Candidate, HeldOutScores]], ways: Mapping[str, Link] | None = None) -> Trial:
        """The weighted sum of candidates, with the link of least log loss."""
        Z, y = np.stack([found.scores for _, found in known]), self.y
        ways = ways or links(Z.shape[2])
        softmax = weighted_sum(Z, y)
        whole = {name: way(Z, y, softmax, None) for name, way in ways.items()}
        P = {name: np.empty((len(y), max(Z.shape[2], 2))) for name in ways}
        parts = [self.part == part for part in range(int(self.part.max()) + 1)]
        for inside in parts:
            # One group alone has no other rows to choose on.
            outside = np.flatnonzero(~inside) if not inside.all() else np.arange(len(y))
            start = weighted_sum(Z[:, outside], y[outside], softmax)
            for name, way in ways.items():
                found = way(Z[:, outside], y[outside], start, whole[name])
                P[name][inside] = found.probabilities(Z[:, inside])
        losses = {name: _losses(found, y) for name, found in P.items()}
        link = min(ways, key=lambda name: losses[name].mean())
        shown = P[link]
        if len(ways) > 1 and len(parts) > 1:  # the rows of a part by the link that the other parts would have chosen
            shown = np.empty_like(shown)
            for inside in parts:
                shown[inside] = P[min(ways, key=lambda name: losses[name][~inside].mean())][inside]
        kept = np.flatnonzero(softmax.weights)
        added = [candidate for k, (candidate, _) in enumerate(known) if k in kept]
        return self._trial(added, whole[link]._replace(weights=whole[link].weights[kept]), link, shown)

    def alone(self, candidate: Candidate, found: HeldOutScores) -> Trial:
        """A candidate that is part of no sum: ordered classes as they are, others calibrated."""
        if not found.thresholds.size:
            return self.summed([(candidate, found)])
        below = expit(found.thresholds[None, :] - found.scores)
        n = len(below)
        P = np.maximum(np.diff(np.hstack([np.zeros((n, 1)), below, np.ones((n, 1))]), axis=1), _TINY)
        trial = self._trial([candidate], Combination(np.ones(1), np.zeros(1)), "ordered", P)
        trial.thresholds = found.thresholds
        return trial

    def _trial(self, candidates: list[Candidate], combination: Combination, link: str, P: Array) -> Trial:
        wrong = (P.argmax(axis=1) != self.y).astype(float)
        title = " + ".join(candidate.title for candidate in candidates)
        names, rank = [candidate.name for candidate in candidates], min(candidate.rank for candidate in candidates)
        seconds = sum(self.seconds[name] for name in names)
        return Trial(title, names, rank, combination, link, P, wrong, _losses(P, self.y), seconds=seconds)


def _losses(P: Array, y: Rows) -> Array:
    return np.asarray(-np.log(np.maximum(P[np.arange(len(y)), y], _TINY)))
