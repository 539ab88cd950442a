"""How many words of a text a model does not know, as its own texts would have had it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.classifier.views import View

_HIGH = 0.99


def unknown_word_levels(view: View, counts: Any, groups: NDArray[np.intp]) -> dict[str, float] | None:
    """Mean and 99 % quantile, over the training texts, of the share of words that no other text has.

    A word of one text alone (or of repeats of it) would have been unknown, had the text not been learned from: this is
    leave-one-out, exactly. None where words are hashed, single words are no terms, or rare ones were left out before.
    """
    vectorizer: Any = view.vectorizer
    if view.hashed or vectorizer.analyzer != "word" or vectorizer.ngram_range[0] != 1 or vectorizer.min_df != 1:
        return None
    words = counts[:, view.single_words()]
    of_entry = np.repeat(groups, np.diff(words.indptr))
    first, last = np.full(words.shape[1], len(groups)), np.full(words.shape[1], -1)
    np.minimum.at(first, words.indices, of_entry)
    np.maximum.at(last, words.indices, of_entry)
    alone = (first == last).astype(float)
    total = np.asarray(words.sum(axis=1)).ravel()
    shares = (words @ alone)[total > 0] / total[total > 0]
    if not len(shares):
        return None
    return {"mean": float(shares.mean()), "high": float(np.quantile(shares, _HIGH, method="higher"))}
