from typing import Annotated

from numpy.typing import NDArray


level: str = ...

class Design:
    """A validated matrix: a list of lines (rows or columns) of one width."""

    @staticmethod
    def dense(array: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> Design:
        """Lines are the rows of a C-ordered array."""

    @staticmethod
    def sparse(data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], width: int) -> Design:
        """Lines are the compressed axis: rows of CSR, columns of CSC."""

    @property
    def lines(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def sorted(self) -> bool: ...

def losses() -> list[str]: ...

def loss_at(name: str, parameter: float, y: float, z: float) -> dict:
    """The functions of a loss at (y, z); the conjugate at its gradient."""

def loss_conjugate(name: str, parameter: float, y: float, a: float) -> float: ...

def loss_traits(name: str) -> dict: ...

def penalties() -> list[str]: ...

def penalty_at(name: str, l1: float, l2: float, w: float, u: float) -> dict:
    """
    The functions of a penalty: value(w), prox(w, step=u), conjugate(u), distance(w, g=u).
    """
