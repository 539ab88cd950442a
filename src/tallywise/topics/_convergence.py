"""When a fit has learned what it can: words left out of the documents are predicted no better than before."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays
from tallywise._arrays import Matrix
from tallywise._native import topic_log_likelihoods
from tallywise.topics._inference_algorithms import FIRST_UPDATE, CollapsedFit
from tallywise.topics._perplexity import ratio

LAST = 5  # sweeps after the words left out have come back
SHARE = 0.02  # of the entries, left out
MOST = 50_000  # entries left out
LEAST = 2_000  # entries to judge by: smaller collections are swept through as often as allowed, in no time
LOOK = 5  # sweeps from one look at them to the next
FALL = 0.001  # of the log perplexity from look to look: what further sweeps have to be worth


class Unseen:
    """Entries of X that are left out of a fit and predicted by it.

    Perplexity on what is learned from keeps falling, or rises again while topics become better, so it is no guide.
    (KOS, 50 topics: it is lowest after 20 sweeps, that of new documents falls by 3.4 % from there to 60.)

    A fit ends when it is not sure, by one standard error, that the last sweeps were worth FALL. The error is that of
    the difference, the same words being predicted before and after, with documents as the unit. (On five collections
    with 20 to 200 topics fits end after 30 to 85 sweeps.)
    """

    def __init__(self, X: Matrix, random: np.random.Generator) -> None:
        X = sp.csr_matrix(X)
        left_out = np.zeros(X.nnz, dtype=bool)
        left_out[random.permutation(X.nnz)[: min(int(SHARE * X.nnz), MOST)]] = True
        self.seen, self._hidden = (_entries(X, chosen) for chosen in (~left_out, left_out))
        self._tokens = np.asarray(self._hidden.sum(axis=1), dtype=np.float64).ravel()
        self._last: NDArray[np.float64] | None = None

    @staticmethod
    def suffices(X: Any) -> bool:
        """Whether X is large enough for its rest to tell."""
        return bool(SHARE * (X.nnz if sp.issparse(X) else np.count_nonzero(X)) >= LEAST)

    def logs(self, state: CollapsedFit, threads: int) -> NDArray[np.float64]:
        """Log likelihoods of what was left out of each document."""
        theta = _shares(state.document_topic() + state.alpha)
        phi = _shares((state.word_topic() + state.beta[:, None]).T).T
        return np.asarray(topic_log_likelihoods(_arrays.rows(self._hidden), theta, np.ascontiguousarray(phi), threads))

    def stopped(self, state: CollapsedFit, threads: int) -> bool:
        """Whether perplexity has stopped falling; to be asked every ``LOOK`` sweeps."""
        if state.done % LOOK or state.done < FIRST_UPDATE:  # what priors bring is seen after their first update
            return False
        before, self._last = self._last, self.logs(state, threads)
        if before is None:
            return False
        gain, error = ratio(self._last - before, self._tokens)
        return gain - error < FALL


def _entries(X: sp.csr_matrix, chosen: NDArray[np.bool_]) -> Any:
    before = np.concatenate([[0], np.cumsum(chosen)])
    return sp.csr_matrix((X.data[chosen], X.indices[chosen], before[X.indptr]), shape=X.shape)


def _shares(counts: Any) -> NDArray[np.float64]:
    values = np.asarray(counts, dtype=np.float64)
    return np.asarray(values / values.sum(axis=1, keepdims=True))
