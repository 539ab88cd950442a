"""Classifiers of fastText: their files read without their package, with equal answers, and explained.

A text is the mean of the rows of its words, of the n-grams of its words and of the parts of its words (subwords), where
the model has these; the scores of the labels are products with it. Needs NumPy alone.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.errors import ModelFileError
from tallywise.models import fasttext_file
from tallywise.models.fasttext_features import END, LABEL_PREFIX, InputRows, TextRows
from tallywise.models.text_counterfactual import fewest_words, without
from tallywise.models.text_serving import Explanation, Flip, Word, listed

Array = NDArray[np.float64]

_ROWS = 1 << 15  # of the input matrix, gathered at a time
_TEXTS, _CHARACTERS = 1024, 1 << 20  # scored at a time
_FREQUENT = 50_000  # words among which the most indicative ones are looked for
_LARGEST, _STEPS = 8, 512  # fastText has its logistic function in a table: of scores up to 8, in 512 steps


class FastTextModel:
    """A classifier of fastText, with the interface of `TextModel`.

    Made by `tallywise.load` from a ``.bin`` or ``.ftz`` file. Texts are cut at white space, as fastText does: prepare
    them as the training texts were. A line break counts as a space. Labels lose their prefix ``__label__``.

    Attributes
    ----------
    classes : list of str
        Labels, in the order of the columns of probabilities.
    meta : dict
        What the file says of itself.
    n_features : int
        Rows of the input matrix.

    Notes
    -----
    `predict_proba` gives fastText's probabilities without the 1e-5 that it adds to each. With the losses 'ova' and 'ns'
    each label has a probability of its own, in steps of the table that fastText uses; they do not add up to 1. There is
    no ``.tally`` file of such a model: its rows are found by fastText's own hashes, which our scorer does not have.

    Examples
    --------
    >>> import tallywise
    >>> model = tallywise.load("reviews.ftz")  # doctest: +SKIP
    >>> model.predict(["what a lovely film"]).tolist()  # doctest: +SKIP
    ['positive']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.file = file = fasttext_file.read(path)
        names = [label.decode("utf-8", "replace") for label in file.labels]
        marked = all(name.startswith(LABEL_PREFIX) and name != LABEL_PREFIX for name in names)
        self.classes: list[Any] = [name.removeprefix(LABEL_PREFIX) for name in names] if marked else names
        self.n_features = file.inputs.shape[0]
        self._rows = TextRows(file)
        self._outputs = file.outputs.rows(np.arange(len(names))).astype(np.float64)
        self._tree = _Tree(file.label_counts) if file.loss == "hs" else None
        self.meta: dict[str, Any] = {
            "kind": "fastText classifier",
            "model": "fasttext",
            "title": f"fastText, loss {file.loss}, {file.dim} dimensions",
            "classes": self.classes,
            "texts": sum(file.label_counts),
            "description": [self._description()],
            "figures": {},
        }

    def _description(self) -> str:
        file = self.file
        parts = [f"{len(file.words):,} words"]
        if file.word_ngrams > 1:
            parts.append(f"n-grams of up to {file.word_ngrams} words")
        if file.maxn > 0:
            parts.append(f"parts of words of {file.minn} to {file.maxn} characters")
        if isinstance(file.inputs, fasttext_file.Quantised):
            parts.append("quantised")
        return ", ".join(parts)

    # --- verdicts ---

    def scores(self, texts: Iterable[str], n_jobs: int | None = None) -> Array:
        """Scores, one column a label: products with the mean of a text's rows, or log probabilities (loss 'hs')."""
        every = listed(texts)
        found = np.empty((len(every), len(self.classes)))
        begin = 0
        while begin < len(every):
            end, characters = begin, 0
            while end < len(every) and end - begin < _TEXTS and (end == begin or characters < _CHARACTERS):
                characters += len(every[end])
                end += 1
            lines = [self._rows.line(text)[0] for text in every[begin:end]]
            means = self._means(self._rows.features(lines), end - begin)
            z = means @ self._outputs.T
            found[begin:end] = z if self._tree is None else self._tree.log_probabilities(z)
            begin = end
        if not np.isfinite(found).all():
            msg = f"Cannot use {self.path!r}: it holds numbers that are not finite."
            raise ModelFileError(msg)
        return found

    def predict_proba(self, texts: Iterable[str], n_jobs: int | None = None) -> Array:
        """Probabilities, one row a text, columns as in `classes`."""
        z = self.scores(texts)
        if self._tree is not None:
            return np.exp(z)
        if self.file.loss == "softmax":
            e = np.exp(z - z.max(axis=1, keepdims=True))
            return np.asarray(e / e.sum(axis=1, keepdims=True))
        return _tabled_sigmoid(z)

    def predict(self, texts: Iterable[str], n_jobs: int | None = None) -> NDArray[Any]:
        """The most likely label of each text."""
        return np.array(self.classes)[self.decide(self.predict_proba(texts))]

    def decide(self, probabilities: Array) -> NDArray[np.intp]:
        """Positions of the most likely labels; of equal ones the last, as in fastText."""
        return np.asarray(probabilities.shape[1] - 1 - probabilities[:, ::-1].argmax(axis=1))

    def _called(self, texts: list[str]) -> NDArray[np.intp]:
        return self.decide(self.predict_proba(texts))

    def unknown_words(self, texts: Iterable[str], n_jobs: int | None = None) -> Array:
        """The share of each text's words that are not among the words of the model."""
        return np.array([self._rows.unknown_share(text) for text in listed(texts)], dtype=np.float64)

    def out_of_depth(self, texts: Iterable[str], n_jobs: int | None = None) -> NDArray[np.bool_]:
        """Nowhere: the file does not say what share of unknown words is usual."""
        return np.zeros(len(listed(texts)), dtype=bool)

    # --- reasons ---

    def explain(self, text: str, label: Any = None) -> Explanation:
        """What each word of a text, and each n-gram of words, adds to the score of a label, exactly.

        The score is the log-odds of the label: with 'softmax' and more than two labels, its product less the mean over
        the labels. With 'hs' it is the log probability, whose change from that of an empty text is divided at each node
        of the tree in the proportion in which rows move the node's score. What the end of the text adds, which every
        text has, is the bias. Words come largest contribution first.

        Parameters
        ----------
        text : str
            The text.
        label : optional
            The label to speak for; the verdict by default.
        """
        p = self.predict_proba([text])[0]
        k = int(self.decide(p[None])[0]) if label is None else self._position(label)
        tokens, spans = self._rows.line(text)
        features, added, bias = self._added(tokens, lambda means: self._direction(k, means))
        sums: dict[str, float] = {}
        places: dict[str, dict[tuple[int, int], None]] = {}
        for value, a, b in zip(added.tolist(), features.first.tolist(), features.last.tolist(), strict=True):
            if a == len(spans):
                bias += value
                continue
            name = b" ".join(tokens[a : b + 1]).decode("utf-8", "replace")
            sums[name] = sums.get(name, 0.0) + value
            places.setdefault(name, {})[spans[a][0], spans[min(b, len(spans) - 1)][1]] = None
        words = sorted((Word(name, sums[name], [*places[name]]) for name in sums), key=lambda w: -abs(w.contribution))
        score = bias + sum(word.contribution for word in words)
        return Explanation(self.classes[k], float(p[k]), score, bias, words)

    def flip(self, text: str, most: int = 50) -> Flip | None:
        """The fewest words found whose removal, or addition, makes the verdict another; None where none is found.

        As `TextModel.flip`; the distance is that of the mean of the text's rows from the boundary between two labels.
        """
        p = self.predict_proba([text])
        k = int(self.decide(p)[0])
        rival = next((int(j) for j in np.argsort(-p[0], kind="stable") if j != k), None)
        if rival is None:
            return None
        tokens, spans = self._rows.line(text)
        features, gains, bias = self._added(tokens, lambda means: self._between(k, rival, means))
        names = [token.decode("utf-8", "replace") for token in tokens[: len(spans)]]
        weight, places = dict.fromkeys(names, 0.0), dict[str, list[tuple[int, int]]]()
        for name, span in zip(names, spans, strict=True):
            places.setdefault(name, []).append(span)
        for gain, a, b in zip(gains.tolist(), features.first.tolist(), features.last.tolist(), strict=True):
            for name in {*names[a : b + 1]}:
                weight[name] += gain
        cut = [name for name in sorted(weight, key=lambda name: -weight[name])[:most] if weight[name] > 0]
        removed = fewest_words(
            cut, k, lambda some: without(text, [span for name in some for span in places[name]]), self._called
        )
        against = self._frequent(lambda means: self._between(rival, k, means)[0])
        more = [name for name, _ in self._largest(against, most)]
        added = fewest_words(more, k, lambda some: " ".join([text, *some]), self._called)
        found = removed or added
        if found is None:
            return None
        length = float(np.linalg.norm(self._outputs[k] - self._outputs[rival])) if self._tree is None else 0.0
        distance = abs(bias + float(gains.sum())) / length if length > 0 else float("inf")
        becomes = self.classes[found[1]]
        return Flip(self.classes[k], becomes, removed[0] if removed else [], added[0] if added else [], distance)

    def top_terms(self, label: Any, n: int = 20) -> list[tuple[str, float]]:
        """The words that speak most for a label, each with what it adds to the score of a text of this one word.

        Looked for among the 50,000 most frequent words of the training texts.
        """
        k = self._position(label)
        return self._largest(self._frequent(lambda means: self._direction(k, means)[0]), n)

    def _largest(self, values: Array, n: int) -> list[tuple[str, float]]:
        best = np.argsort(-values, kind="stable")[: n + 1]
        found = [(self.file.words[j], float(values[j])) for j in best.tolist() if values[j] > 0]
        return [(word.decode("utf-8", "replace"), value) for word, value in found if word != END][:n]

    def _frequent(self, direction: Callable[[Array], Array]) -> Array:
        """What each of the most frequent words adds to a score as the only word of a text."""
        found = []
        for begin in range(0, min(len(self.file.words), _FREQUENT), _TEXTS):
            words = self.file.words[begin : min(begin + _TEXTS, _FREQUENT)]
            means = self._means(self._rows.features([[word] for word in words]), len(words))
            w = direction(means)
            found.append((means * w).sum(axis=1))
        return np.concatenate(found) if found else np.empty(0)

    def _added(self, tokens: Sequence[bytes], direction: Callable[[Array], Any]) -> tuple[InputRows, Array, float]:
        """The rows of one text, what each of them adds to a score, and that score of a text without rows."""
        features = self._rows.features([tokens])
        w, bias = direction(self._means(features, 1))
        rows = self.file.inputs.rows(features.rows).astype(np.float64)
        return features, rows @ w[0] / max(len(rows), 1), bias

    def _direction(self, k: int, means: Array) -> tuple[Array, float]:
        """Weights, a row for each text of these means, whose products with the means are the scores of a label.

        And the score of a mean of 0, which comes on top.
        """
        V = self._outputs
        if self._tree is not None:
            return self._tree.direction(k, means, V)
        if self.file.loss == "softmax" and len(V) > 1:
            # (z_k - mean z) for many labels; for two the difference, which is the log-odds.
            w = V[k] - V.mean(axis=0) if len(V) > 2 else V[k] - V[1 - k]
        else:
            w = V[k]
        return np.broadcast_to(w, means.shape), 0.0

    def _between(self, k: int, rival: int, means: Array) -> tuple[Array, float]:
        """The same for the difference of the scores of two labels."""
        if self._tree is None:
            return np.broadcast_to(self._outputs[k] - self._outputs[rival], means.shape), 0.0
        (w, b), (other, other_b) = self._direction(k, means), self._direction(rival, means)
        return w - other, b - other_b

    def _position(self, label: Any) -> int:
        if label not in self.classes:
            msg = f"{label!r} is not one of the classes: {', '.join(map(str, self.classes[:20]))}."
            raise ValueError(msg)
        return self.classes.index(label)

    def _means(self, features: InputRows, n: int) -> Array:
        """The mean of the rows of each text; 0 where it has none."""
        order = np.argsort(features.text, kind="stable")
        rows, text = features.rows[order], features.text[order]
        total = np.zeros((n, self.file.dim))
        for begin in range(0, len(rows), _ROWS):
            part = text[begin : begin + _ROWS]
            first = np.flatnonzero(np.diff(part, prepend=-1))
            values = self.file.inputs.rows(rows[begin : begin + _ROWS])
            total[part[first]] += np.add.reduceat(values, first, axis=0, dtype=np.float64)
        return np.asarray(total / np.maximum(np.bincount(text, minlength=n), 1)[:, None])


class _Tree:
    """The tree of a hierarchical softmax: rare labels lie deep. Inner nodes have a score, leaves are labels."""

    def __init__(self, counts: Sequence[int]) -> None:
        K = len(counts)
        self.leaves = K
        total = [*counts, *[fasttext_file.INFINITE] * (K - 1)]
        self.children: list[tuple[int, int]] = []
        self.parent = [(-1, False)] * (2 * K - 1)  # the node above, and whether it is reached to the right
        leaf, node = K - 1, K
        for new in range(K, 2 * K - 1):
            pair = []
            for _ in range(2):
                if leaf >= 0 and total[leaf] < total[node]:
                    pair.append(leaf)
                    leaf -= 1
                else:
                    pair.append(node)
                    node += 1
            left, right = pair
            total[new] = total[left] + total[right]
            self.children.append((left, right))
            self.parent[left], self.parent[right] = (new, False), (new, True)

    def log_probabilities(self, z: Array) -> Array:
        """Logarithms of the probabilities of the labels from the scores of the inner nodes."""
        found = np.zeros((2 * self.leaves - 1, len(z)))
        for k in range(self.leaves - 2, -1, -1):
            left, right = self.children[k]
            found[left] = found[self.leaves + k] - np.logaddexp(0, z[:, k])
            found[right] = found[self.leaves + k] - np.logaddexp(0, -z[:, k])
        return np.ascontiguousarray(found[: self.leaves].T)

    def direction(self, k: int, means: Array, V: Array) -> tuple[Array, float]:
        """Weights whose products with the means are log probabilities less those of a mean of 0, and these.

        Along the line from 0 to a mean the score of a node is f = v'h, and its part of the logarithm grows by
        log s(f) - log s(0), which is f times a weight.
        """
        w, bias = np.zeros_like(means), 0.0
        node, right = self.parent[k]
        while node >= 0:
            v = V[node - self.leaves] if right else -V[node - self.leaves]
            f = means @ v
            grown = np.log(2) - np.logaddexp(0, -f)
            near = np.abs(f) < 1e-9
            w += np.where(near, 0.5, grown / np.where(near, 1.0, f))[:, None] * v
            bias -= float(np.log(2))
            node, right = self.parent[node]
        return w, bias


def _tabled_sigmoid(z: Array) -> Array:
    """The logistic function as fastText has it: a step function, 0 and 1 beyond scores of 8."""
    table = 1 / (1 + np.exp(_LARGEST - np.arange(_STEPS + 1) * (2 * _LARGEST / _STEPS)))
    single = z.astype(np.float32)
    place = ((np.clip(single, -_LARGEST, _LARGEST) + _LARGEST) * np.float32(_STEPS / _LARGEST / 2)).astype(np.int64)
    return np.where(single < -_LARGEST, 0.0, np.where(single > _LARGEST, 1.0, table[place]))
