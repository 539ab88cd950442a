"""What is measured. Each module here is a family and defines ``PROBLEMS``; a rival solves the ones it names.

A problem is data, a check, and goals. ``load()`` gives the data; a rival's solver is called as
``solver(data, threads)`` and returns a function of no arguments, which alone is timed; ``check(data, result)``
reduces what that function returned to named figures, which the runner compares by their kind:

- a string is a fingerprint of an answer: equal to ours, or it differs;
- a list holds one label (integers) or value (floats) per row: how many labels are the same, how far values are apart;
- the number that the problem names as ``lower`` (smaller is better) may be above the rival's by ``tolerance`` relative.

Other numbers are shown for information. A row whose figures offer nothing to compare says "not compared".
"""

import hashlib
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Problem:
    """One row of the table: a name, its data and what counts as the same answer."""

    name: str
    title: str
    load: Callable[[], Any]
    check: Callable[[Any, Any], dict[str, Any]]
    goals: dict[str, float] = field(default_factory=dict)  # rival -> wanted ratio of its time to ours
    threads: int = 2
    lower: str = "objective"  # the figure compared as a number
    tolerance: float = 1e-6
    repeats: int = 3
    family: str = ""


def digest(*arrays: Any) -> str:
    """Short fingerprint of arrays and sparse matrices: equal answers, equal strings."""
    sha = hashlib.sha256()
    for array in arrays:
        if sp.issparse(array):
            csr = array.tocsr()
            sha.update(digest(csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)).encode())
        elif isinstance(array, np.ndarray) and array.dtype != object:
            sha.update(str((array.shape, array.dtype.kind)).encode() + np.ascontiguousarray(array).tobytes())
        else:
            sha.update(repr(list(array)).encode())
    return sha.hexdigest()[:16]


def all_problems() -> dict[str, Problem]:
    """Every problem by name, in the order of families and of their files."""
    found: dict[str, Problem] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for problem in module.PROBLEMS:
            found[problem.name] = Problem(**{**problem.__dict__, "family": info.name})
    return found
