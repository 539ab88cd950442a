"""The error of the best of several models, corrected for having been chosen by it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def corrected_error(wrong: Any, groups: NDArray[np.intp], draws: int = 300, random_state: int = 0) -> float:
    """Error corrected for model selection: of choosing the best of several models by their held-out rows.

    Groups of rows are drawn with replacement; the model best on the drawn rows is evaluated on the others.

    Parameters
    ----------
    wrong : array of shape (models, n)
        The error of each model on each held-out row; the first is the one that was chosen.
    groups : array of int, shape (n,)
        Rows that are drawn together.
    draws, random_state
        Number of draws, and their seed.

    References
    ----------
    Tsamardinos, Greasidou & Borboudakis (2018), Bootstrapping the out-of-sample predictions for efficient and accurate
    cross-validation, Machine Learning 107.
    """
    wrong = np.asarray(wrong, dtype=float)
    if len(wrong) == 1:
        return float(wrong.mean())
    random = np.random.default_rng(random_state)
    numbers = np.unique(groups, return_inverse=True)[1]
    m = int(numbers.max()) + 1
    found = []
    for _ in range(draws):
        weights = np.bincount(random.integers(0, m, m), minlength=m)[numbers]
        outside = weights == 0
        if not outside.any():  # every group was drawn, which happens where there are few
            continue
        best = int((wrong @ weights).argmin())
        found.append(wrong[best][outside].mean())
    return float(np.mean(found)) if found else float(wrong[0].mean())
