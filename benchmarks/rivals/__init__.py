"""One file a library. Each names its PyPI ``PACKAGE`` and its ``SOLVERS``, by problem."""

from collections.abc import Callable
from typing import Any

Solver = Callable[[Any, int], Callable[[], Any]]


class Solvers(dict[str, Solver]):
    """Solvers by problem. A solver takes (data, threads) and returns the call of no arguments that is timed."""

    def of(self, *names: str) -> Callable[[Solver], Solver]:
        """Register the decorated solver for these problems."""

        def register(solver: Solver) -> Solver:
            self.update(dict.fromkeys(names, solver))
            return solver

        return register
