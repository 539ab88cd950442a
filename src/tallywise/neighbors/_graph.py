"""Precomputed neighbours: sparse matrices of distances, where what is not stored is not a neighbour."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Lists = list[NDArray[Any]]


def sorted_entries(graph: Any, own: NDArray[np.int64] | None = None) -> tuple[Lists, Lists]:
    """Distances and columns of each row of a sparse matrix, in order of (distance, column).

    With ``own``, the entry of row i in column own[i] is left out.
    """
    graph = sp.csr_matrix(graph)
    if graph.nnz and graph.data.min() < 0:
        msg = "Negative values in data passed to precomputed distance matrix."
        raise ValueError(msg)
    lines = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    kept = np.ones(graph.nnz, dtype=bool) if own is None else graph.indices != own[lines]
    lines, columns, distances = lines[kept], graph.indices[kept].astype(np.int64), graph.data[kept].astype(np.float64)
    order = np.lexsort((columns, distances, lines))
    cuts = np.searchsorted(lines, np.arange(1, graph.shape[0]))
    return np.split(distances[order], cuts), np.split(columns[order], cuts)


def nearest(graph: Any, k: int, own: NDArray[np.int64] | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The k nearest of each row; each must have k entries."""
    distances, columns = sorted_entries(graph, own)
    fewest = min((len(row) for row in distances), default=k)
    if fewest < k:
        msg = f"{k} neighbors are required for each samples, but some samples have only {fewest} neighbors in the "
        raise ValueError(msg + "precomputed sparse matrix.")
    return np.array([row[:k] for row in distances]), np.array([row[:k] for row in columns])


def within(graph: Any, radius: float, own: NDArray[np.int64] | None) -> tuple[Any, Any, Any]:
    """All entries within the radius, as `Searcher.within` gives them."""
    distances, columns = sorted_entries(graph, own)
    counts = [int(np.searchsorted(row, radius, side="right")) for row in distances]
    return (
        np.concatenate([row[:m] for row, m in zip(distances, counts, strict=True)]),
        np.concatenate([row[:m] for row, m in zip(columns, counts, strict=True)]),
        np.concatenate([[0], np.cumsum(counts)]),
    )
