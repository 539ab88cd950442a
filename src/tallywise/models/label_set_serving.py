"""The serve side of models that give a text any number of labels. Needs NumPy alone, as `runtime` does."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models.text_counterfactual import fewest_words, without
from tallywise.models.text_schema import LABEL_SETS, TextModelFile
from tallywise.models.text_serving import Array, Explanation, Flip, TextModel
from tallywise.models.text_views import added_by_touch


class MultiLabelTextModel(TextModel):
    """A trained text model that gives a text any number of labels, or none.

    Made by `tallywise.load` or found as ``MultiLabelTextClassifier.runtime_``. The score of a label is its log odds,
    and a text gets the label from a probability on that the model has for each.

    Attributes
    ----------
    classes : list
        Labels, in the order of the columns of probabilities.
    thresholds : array
        Probabilities from which on a text gets each label.
    meta : dict
        What the file says of itself: name of the model, options, figures.

    Examples
    --------
    >>> from tallywise import MultiLabelTextClassifier
    >>> foods, places = ["pizza", "pasta", "bread", "soup"], ["rome", "paris", "oslo", "lima"]
    >>> texts = [f"{food} {what}" for food in foods for what in ("for lunch", "and wine", "recipe")]
    >>> texts += [f"{what} {place}" for place in places for what in ("flight to", "hotel in", "map of")]
    >>> texts += [f"{food} in {place}" for food, place in zip(foods, places, strict=True)]
    >>> texts += ["meeting at noon", "annual report", "see you monday", "call me back"]
    >>> y = [["food"]] * 12 + [["travel"]] * 12 + [["food", "travel"]] * 4 + [[]] * 4
    >>> model = MultiLabelTextClassifier(cv=4).fit(texts, y).runtime_
    >>> model.predict_labels(["pizza in oslo"]), model.explain("pizza at noon", "food").words[0].term
    ([['food', 'travel']], 'pizza')
    """

    kind = LABEL_SETS

    def _open(self, file: TextModelFile) -> None:
        super()._open(file)
        assert file.label_thresholds is not None
        self.thresholds = file.label_thresholds

    # --- answers ---

    def predict(self, texts: Iterable[str], n_jobs: int | None = None) -> NDArray[np.int64]:
        """1 where a text gets a label and 0 where not, one row a text."""
        return self.decide(self.predict_proba(texts, n_jobs)).astype(np.int64)

    def decide(self, probabilities: Array) -> NDArray[np.bool_]:  # type: ignore[override]  # one a label, not one in all
        """Which labels a text gets, true or false, of its probabilities."""
        return np.asarray(probabilities >= self.thresholds)

    def predict_labels(self, texts: Iterable[str], n_jobs: int | None = None) -> list[list[Any]]:
        """The labels of each text, in the order of `classes`."""
        return [[self.classes[k] for k in np.flatnonzero(row)] for row in self.predict(texts, n_jobs)]

    # --- reasons ---

    def explain(self, text: str, label: Any = None) -> Explanation:
        """What each word of a text adds to the log odds of a label, exactly; words come largest contribution first.

        Parameters
        ----------
        text : str
            The text.
        label : optional
            The label to speak for; by default the one that is most over its threshold, or least under.
        """
        return super().explain(text, label)

    def flip(self, text: str, label: Any = None, *, most: int = 50) -> Flip | None:
        """The fewest words found whose removal, or addition, gives or takes a label; None where none is found.

        `label` is as in `explain`; ``becomes`` of the answer is whether the text then gets it. Changed texts are read
        and scored anew, so that what is reported has been seen to work.
        """
        p = self.predict_proba([text])
        k = self._chosen(p[0], label)
        given = bool(self.decide(p)[0, k])
        sign = 1.0 if given else -1.0
        columns, _, x = self._scorer.row(text)
        w, bias = self._direction(k, *self._linear(columns, x))
        places = self._words(text)
        weight = added_by_touch(self._views, self._blocks, text, columns, sign * w * x, places)
        cut = [word for word in sorted(weight, key=lambda word: -weight[word])[:most] if weight[word] > 0]
        put = self._speaking(most, lambda v: -sign * self._of_view(v, k))

        def gets(texts: list[str]) -> NDArray[np.intp]:
            return self.decide(self.predict_proba(texts))[:, k].astype(np.intp)

        removed = fewest_words(
            cut, given, lambda words: without(text, [span for word in words for span in places[word]]), gets
        )
        added = fewest_words(put, given, lambda words: " ".join([text, *words]), gets)
        if removed is None and added is None:
            return None
        odds = np.clip(self.thresholds[k], 1e-300, 1 - 1e-16)
        apart = abs(bias + float((w * x).sum()) - float(np.log(odds / (1 - odds))))
        length = self._length(lambda W: self._direction(k, W, self.file.b)[0])
        distance = apart / length if length > 0 else float("inf")
        return Flip(self.classes[k], not given, removed[0] if removed else [], added[0] if added else [], distance)

    def _chosen(self, p: Array, label: Any) -> int:
        """The position of a label; by default of the one that is most over its threshold, or least under."""
        return int(np.argmax(p - self.thresholds)) if label is None else self._position(label)

    def _direction(self, k: int, W: Array, b: Array) -> tuple[Array, float]:
        return W[:, k], float(b[k])
