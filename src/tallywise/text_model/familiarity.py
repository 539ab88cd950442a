"""How many words of a text a model does not know, as its own texts would have had it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.text_model.merging import with_columns
from tallywise.text_model.views import View
from tallywise.text_model.weighting import document_frequencies

_HIGH = 0.99


def unknown_word_levels(view: View, counts: Any, groups: NDArray[np.intp]) -> dict[str, float] | None:
    """Mean and 99 % quantile, over the training texts, of the share of words that no other text has.

    A word of one text alone (or of repeats of it) would have been unknown, had the text not been learned from: this is
    leave-one-out, exactly. None where words are hashed, single words are no terms, or rare ones were left out before.
    """
    vectorizer: Any = view.vectorizer
    if view.hashed or vectorizer.analyzer != "word" or vectorizer.ngram_range[0] != 1:
        return None
    if vectorizer.min_df != 1 or view.least_of_words > 1:
        return None
    counts = with_columns(counts, view.single_words())
    p = counts.shape[1]
    # A word of one group is in no more texts than the largest group has: most entries need no second look.
    rare = document_frequencies(counts) <= np.bincount(groups).max()
    entries = np.flatnonzero(rare[counts.indices])
    words, of_entry = counts.indices[entries], groups[np.searchsorted(counts.indptr, entries, side="right") - 1]
    first, last = np.full(p, len(groups)), np.full(p, -1)
    np.minimum.at(first, words, of_entry)
    np.maximum.at(last, words, of_entry)
    alone = (rare & (first == last)).astype(counts.dtype)  # of the type of the counts, which SciPy would copy otherwise
    total = counts @ np.ones(p, dtype=counts.dtype)
    shares = (counts @ alone)[total > 0] / total[total > 0]
    if not len(shares):
        return None
    return {"mean": float(shares.mean()), "high": float(np.quantile(shares, _HIGH, method="higher"))}
