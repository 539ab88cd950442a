"""Cross-validation splits that keep repeated texts, and groups, on one side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, TimeSeriesSplit

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def duplicate_groups(texts: Sequence[str]) -> NDArray[np.intp]:
    """Number the texts so that equal ones, up to case and white space, share a number.

    Examples
    --------
    >>> from tallywise.evaluation import duplicate_groups
    >>> duplicate_groups(["Win  now", "see you", "win now"])
    array([0, 1, 0])
    """
    # Texts are told apart by hashes of 64 bits, seeded by the process: a second copy of all texts is not made.
    hashes = np.fromiter((hash(" ".join(text.lower().split())) for text in texts), dtype=np.int64, count=len(texts))
    return number_groups(hashes)


def number_groups(hashes: NDArray[np.int64]) -> NDArray[np.intp]:
    """Numbers of rows, the same for equal hashes, in the order in which these come first.

    Examples
    --------
    >>> from tallywise.evaluation.splits import number_groups
    >>> import numpy as np
    >>> number_groups(np.array([7, 3, 7]))
    array([0, 1, 0])
    """
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[inverse])


@dataclass(frozen=True)
class Folds:
    """Train and test rows of each fold, and a sentence that describes them."""

    folds: list[Fold] = field(repr=False)
    description: str

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.folds)

    def __len__(self) -> int:
        return len(self.folds)


def make_folds(
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    n_splits: int = 5,
    n_repeats: int = 1,
    times: Any = None,
    random_state: int | None = 0,
) -> Folds:
    """Cross-validation folds, stratified by class, with the rows of a group kept together.

    Parameters
    ----------
    y : array of shape (n,)
        Labels, or numbers (more than 20 distinct floats are taken as a regression target and not stratified).
    groups : array of shape (n,), optional
        Rows with equal numbers stay on one side; `duplicate_groups(texts)` makes them for repeated texts.
    n_splits : int
        Folds; ``-1`` leaves one row (or one group) out at a time.
    n_repeats : int
        How often the whole cross-validation is repeated with another shuffle.
    times : array of shape (n,), optional
        When given, folds are ordered in time: train on the past, test on what follows.
    random_state : int, optional
        Seed of the shuffles.

    Returns
    -------
    Folds
        An iterable of (train, test) row numbers; ``.description`` describes it.

    Examples
    --------
    >>> from tallywise.evaluation import make_folds
    >>> make_folds(["a", "b"] * 10, groups=[0, 1] + list(range(18)), n_splits=2).description
    '2-fold cross-validation, 2 repeats kept together'
    """
    y = np.asarray(y)
    n = len(y)
    if times is not None:
        order = np.argsort(np.asarray(times), kind="stable")
        splits = TimeSeriesSplit(n_splits=n_splits).split(order)
        return Folds([(order[a], order[b]) for a, b in splits], f"{n_splits} time-ordered folds: past to future")
    numbers = np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if len(numbers) != n:
        msg = f"groups must have one entry per row. Got {len(numbers)} for {n} rows."
        raise ValueError(msg)
    # Groups are split, and a group stands for the class of its first row: scikit-learn's StratifiedGroupKFold walks
    # the groups in Python, 2.5 s for 23,000 of them.
    first = np.unique(numbers, return_index=True)[1]
    repeats = n - len(first)
    kept = f", {repeats:,} repeats kept together" if repeats else ""
    if n_splits == -1:
        parts = LeaveOneOut().split(first)
        return Folds(_expand(parts, numbers), f"leave one {'group' if repeats else 'row'} out{kept}")
    # Codes: scikit-learn stratifies no numbers with a fraction, however few they are.
    _, label, counts = np.unique(y[first], return_inverse=True, return_counts=True)
    regression = y.dtype.kind == "f" and len(counts) > 20
    if len(first) < n_splits:
        msg = f"{n_splits} folds need at least {n_splits} different rows. Got {len(first)}."
        raise ValueError(msg)
    folds: list[Fold] = []
    for repeat in range(n_repeats):
        seed = None if random_state is None else random_state + repeat
        stratify = not regression and counts.min() >= n_splits
        cut = (StratifiedKFold if stratify else KFold)(n_splits, shuffle=True, random_state=seed)
        folds += _expand(cut.split(first, label), numbers)
    times_over = f"{n_repeats} times repeated " if n_repeats > 1 else ""
    return Folds(folds, f"{times_over}{n_splits}-fold cross-validation{kept}")


def _expand(parts: Any, numbers: NDArray[np.intp]) -> list[Fold]:
    """Folds over groups to folds over rows."""
    folds = []
    for _, test in parts:
        inside = np.zeros(numbers.max(initial=-1) + 1, dtype=bool)
        inside[test] = True
        chosen = inside[numbers]
        folds.append((np.flatnonzero(~chosen), np.flatnonzero(chosen)))
    return folds
