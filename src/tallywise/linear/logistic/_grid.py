"""Logistic regression of every fold at every point of a grid, and the choice of a point."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallywise._penalty import from_inverse_strength
from tallywise.linear.logistic._fit import LogisticFit, LogisticProblem, Progress, path

Judge = Callable[[LogisticFit, Any], float]  # the score of a fit on rows held out


@dataclass(frozen=True)
class Grid:
    """Arrays over (fold, l1_ratio, C); of weights further over (class, feature), the intercept last."""

    coefs: NDArray[np.float64]
    scores: NDArray[np.float64]
    iterations: NDArray[np.int32]

    @classmethod
    def fit(
        cls,
        task: LogisticProblem,
        folds: list[Any],
        ratios: list[float],
        Cs: NDArray[np.float64],
        judge: Judge,
        progress: Progress | None,
    ) -> Self:
        """The points of a fold share warm starts, folds share the threads."""
        p, shape = task.X.shape[1], (len(folds), len(ratios), len(Cs))
        grid = cls(
            coefs=np.zeros((*shape, task.lanes, p + task.fit_intercept)),
            scores=np.zeros(shape),
            iterations=np.zeros(shape, dtype=np.int32),
        )
        jobs = [(f, r) for f in range(len(folds)) for r in range(len(ratios))]
        workers = min(task.threads, len(jobs))
        order = np.argsort(Cs, kind="stable")
        done, lock = 0, threading.Lock()
        stopped = threading.Event()

        def go_on(_done: int, _total: int) -> None:
            if stopped.is_set():
                raise CancelledError

        def tell() -> None:
            nonlocal done
            with lock:
                done += 1
                if progress is not None:
                    progress(done, grid.scores.size)

        def work(f: int, r: int) -> None:
            train, test = folds[f]
            threads = max(1, task.threads // workers)
            part = replace(task, X=task.X[train], codes=task.codes[train], weights=task.weights[train], threads=threads)
            penalties = [from_inverse_strength(C, ratios[r]) for C in Cs[order]]
            for at, found in zip(order, path(part, penalties, None, go_on), strict=True):
                grid.coefs[f, r, at, :, :p] = found.coef
                if task.fit_intercept:
                    grid.coefs[f, r, at, :, -1] = found.intercept
                grid.scores[f, r, at] = judge(found, test)
                grid.iterations[f, r, at] = found.iterations
                tell()

        with ThreadPoolExecutor(workers) as pool:
            running = [pool.submit(work, *job) for job in jobs]
            try:
                for finished in running:
                    finished.result()
            except BaseException:
                # Ctrl-C reaches the main thread alone: what is queued is dropped, what runs ends with its current fit.
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return grid

    def select(self, Cs: NDArray[np.float64], rule: str) -> tuple[int, int]:
        """Position (l1_ratio, C) of the best mean score, or of the strongest penalty within one standard error."""
        mean = self.scores.mean(axis=0)
        # The first of the best in scikit-learn's order: C, then l1_ratio.
        c, r = np.unravel_index(np.argmax(mean.T), mean.T.shape)
        if rule == "best" or len(self.scores) < 2:
            return int(r), int(c)
        error = self.scores[:, r, c].std(ddof=1) / np.sqrt(len(self.scores))
        within = [(Cs[k], -mean[j, k], j, k) for j, k in np.argwhere(mean >= mean[r, c] - error)]
        *_, r, c = min(within)
        return int(r), int(c)
