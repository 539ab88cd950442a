"""When a fit has learned what it can: words left out of the documents are predicted no better than before."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays
from tallywise._native import topic_log_likelihoods
from tallywise.topics._learn import FIRST_UPDATE, ROUND, Counts

LAST = 5  # sweeps after the words left out have come back
SHARE = 0.02  # of the entries, left out
MOST = 50_000  # entries left out
LEAST = 2_000  # entries to judge by: smaller collections are swept through as often as allowed, in no time
FALL = 0.005  # of the perplexity in a round of sweeps, below which it counts as fallen


class Unseen:
    """Entries of X that are left out of a fit and predicted by it.

    Perplexity on what is learned from keeps falling, or rises again while topics become better, so it is no guide.
    (KOS, 50 topics: it is lowest after 20 sweeps, that of new documents falls by 3.4 % from there to 60.)
    """

    def __init__(self, X: Any, random: np.random.Generator) -> None:
        X = sp.csr_matrix(X)
        left_out = np.zeros(X.nnz, dtype=bool)
        left_out[random.permutation(X.nnz)[: min(int(SHARE * X.nnz), MOST)]] = True
        self.seen, self._hidden = (_entries(X, chosen) for chosen in (~left_out, left_out))
        self._tokens = float(self._hidden.sum())
        self._last = np.inf

    @staticmethod
    def suffices(X: Any) -> bool:
        """Whether X is large enough for its rest to tell."""
        return bool(SHARE * (X.nnz if sp.issparse(X) else np.count_nonzero(X)) >= LEAST)

    def perplexity(self, state: Counts, threads: int) -> float:
        """Perplexity of what was left out."""
        theta = _shares(state.document_topic() + state.alpha)
        phi = _shares((state.word_topic() + state.beta[:, None]).T).T
        logs = topic_log_likelihoods(_arrays.rows(self._hidden), theta, np.ascontiguousarray(phi), threads)
        return float(np.exp(-np.sum(logs) / self._tokens))

    def stopped(self, state: Counts, threads: int) -> bool:
        """Whether perplexity has stopped falling; to be asked after each round of sweeps."""
        if state.done % ROUND or state.done < FIRST_UPDATE:  # what priors bring is seen in the round after the first
            return False
        before, self._last = self._last, self.perplexity(state, threads)
        return self._last > (1 - FALL) * before


def _entries(X: Any, chosen: NDArray[np.bool_]) -> Any:
    before = np.concatenate([[0], np.cumsum(chosen)])
    return sp.csr_matrix((X.data[chosen], X.indices[chosen], before[X.indptr]), shape=X.shape)


def _shares(counts: Any) -> NDArray[np.float64]:
    values = np.asarray(counts, dtype=np.float64)
    return np.asarray(values / values.sum(axis=1, keepdims=True))
