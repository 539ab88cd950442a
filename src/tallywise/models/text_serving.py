"""The serve side: a trained text model over the native scorer. Needs NumPy alone, never scikit-learn or SciPy.

The fit side (`tallywise.TextClassifier`) hands its model over in the same form in which it is saved, so both sides give
the same bits.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _native, _threads
from tallywise.errors import ModelFileError
from tallywise.models import model_file
from tallywise.models.decision_rule import refuse
from tallywise.models.text_counterfactual import fewest_words, without
from tallywise.models.text_schema import KIND, LABEL_SETS, StoredTexts, TextModelFile
from tallywise.models.text_views import ServedBlock, ServedView, added_by_touch, added_by_word, token_pattern

Array = NDArray[np.float64]
_ROWS_AT_ONCE = 1 << 16
_ONE_CHUNK = 64  # texts that one thread scores at a time; fewer need no second one


class Word(NamedTuple):
    """A term of a text, what it adds to the score, and where it stands (character positions)."""

    term: str
    contribution: float
    spans: list[tuple[int, int]]


@dataclass(frozen=True)
class Explanation:
    """Why a text was called what it was called: bias + contributions of all words = score."""

    label: Any
    probability: float
    score: float
    bias: float
    words: list[Word] = field(repr=False)

    def __str__(self) -> str:
        shown = "  ".join(f'"{word.term}" {word.contribution:+.2f}' for word in self.words[:8])
        return f"{self.label}  {self.probability:.3f}   {shown}"


@dataclass(frozen=True)
class Flip:
    """The fewest words found whose removal, or addition, changes the verdict."""

    label: Any
    becomes: Any
    remove: list[str]
    add: list[str]
    distance: float  # from the text's vector to the boundary between the two classes


class TextModel:
    """A trained text model that reads texts and predicts.

    Made by `tallywise.load` or found as ``TextClassifier.runtime_``.

    Attributes
    ----------
    classes : list
        Labels, in the order of the columns of probabilities.
    meta : dict
        What the file says of itself: name of the model, options, figures.
    n_features : int
        Terms, or hashes of terms, that have weights; one in two blocks counts twice.

    Examples
    --------
    >>> from tallywise import TextClassifier
    >>> texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    >>> model = TextClassifier("multinomial_nb", cv=2).fit(texts, labels).runtime_
    >>> model.classes, model.explain("prize draw").words[0].term
    (['ham', 'spam'], 'prize')
    """

    kind = KIND

    def __init__(self, contents: model_file.Contents | TextModelFile, path: str = "<memory>") -> None:
        try:
            file = contents.dense() if isinstance(contents, TextModelFile) else TextModelFile.read(contents)
            if file.kind != self.kind:
                several = "; it gives texts several labels" if file.kind == LABEL_SETS else ""
                refuse(f"it holds no {self.kind}{several}")
            self._open(file)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
            cause = "a part of it is missing or of the wrong kind" if not isinstance(error, ValueError) else str(error)
            msg = f"Cannot read {path!r} as a text model: {cause.rstrip('.')}."
            raise ModelFileError(msg) from None
        self.contents = file.contents() if isinstance(contents, TextModelFile) else contents
        self.meta = self.contents.meta

    def _open(self, file: TextModelFile) -> None:
        self.file, self.classes = file, list(file.classes)
        self._views = [ServedView(terms) for terms in file.views]
        self._blocks: list[ServedBlock] = []
        for how in file.blocks:
            begin = self._blocks[-1].end if self._blocks else 0
            self._blocks.append(ServedBlock(how, begin, begin + self._views[how.view].size, file.scales))
        self.n_features = len(file.scales)
        self._memory = None if file.stored is None else file.stored.native()
        self._scorer = _native.Scorer(
            [view.native for view in self._views],
            [block.native for block in self._blocks],
            file.weights.W,
            file.weights.native,
            file.b,
            _native.Link(file.link.kind, file.link.scale, file.link.shift, file.thresholds),
            self._memory,
        )
        if self._scorer.classes != len(self.classes):
            refuse(f"it scores {self._scorer.classes} classes and names {len(self.classes)}")

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to one safe file for `tallywise.load` and ``tally classify``; returns its size in bytes."""
        return model_file.write(path, *self.contents)

    # --- verdicts ---

    def scores(self, texts: Iterable[str], n_jobs: int | None = None) -> Array:
        """Scores before calibration: one column for two classes, else one a class."""
        return self._score(texts, False, n_jobs)

    def predict_proba(self, texts: Iterable[str] | _native.TextBlock, n_jobs: int | None = None) -> Array:
        """Calibrated probabilities, one row a text, columns as in `classes`.

        Besides lists, blocks of `tallywise.reading.open_blocks` are taken.
        """
        return self._score(texts, True, n_jobs)

    def _score(self, texts: Iterable[str] | _native.TextBlock, probabilities: bool, n_jobs: int | None) -> Array:
        if isinstance(texts, _native.TextBlock):
            return self._scorer.rows(texts.readable(self._scorer.lowers), probabilities, _threads.count(n_jobs))
        every = listed(texts)
        threads = 1 if len(every) <= _ONE_CHUNK else _threads.count(n_jobs)
        return self._scorer.rows(every, probabilities, threads)

    def predict(self, texts: Iterable[str], n_jobs: int | None = None) -> NDArray[Any]:
        """Verdicts."""
        return np.array(self.classes)[self.decide(self.predict_proba(texts, n_jobs))]

    def decide(self, probabilities: Array) -> NDArray[np.intp]:
        """Positions of the verdicts among the classes, by the model's rule: most likely, threshold, or least cost."""
        return self.file.rule.decide(probabilities, self.classes)

    def unknown_words(self, texts: Iterable[str] | _native.TextBlock, n_jobs: int | None = None) -> Array | None:
        """The share of each text's words (and punctuation marks) that are in no term of the model.

        None for models without a vocabulary of words: of characters alone, or of hashes. ``meta['unknown_words']`` says
        what is usual: the mean over the training texts, each as if it had not been learned from, and the level ("high")
        that 99 % of them do not exceed.
        """
        if isinstance(texts, _native.TextBlock):
            return self._scorer.unknown_words(texts.readable(self._scorer.lowers), _threads.count(n_jobs))
        return self._scorer.unknown_words(listed(texts), _threads.count(n_jobs))

    def answer_lines(self, block: _native.TextBlock, probabilities: Array, source: str | None = None) -> bytes:
        """Verdicts on a block as lines of UTF-8: label, probability and beginning of each text; or as JSON.

        Parameters
        ----------
        block : TextBlock
            Of `tallywise.reading.open_blocks`.
        probabilities : array
            What `predict_proba` says of it.
        source : str, optional
            The name of the file: gives JSON with the source of each text and its share of unknown words.
        """
        verdicts = self.decide(probabilities)
        likely = probabilities[np.arange(len(probabilities)), verdicts]
        shares = None if source is None else self.unknown_words(block)
        labels = [str(name) if source is None else json.dumps(name, ensure_ascii=False) for name in self.classes]
        opened = None if source is None else json.dumps(f"{source}:", ensure_ascii=False)[:-1]
        style = _native.AnswerStyle([_encoded(label) for label in labels], None if opened is None else _encoded(opened))
        rounded = None if shares is None else shares.round(4)
        return block.lines(style, verdicts.astype(np.int64), likely, rounded, 1)

    def out_of_depth(self, texts: Iterable[str], n_jobs: int | None = None) -> NDArray[np.bool_]:
        """Texts with a larger share of unknown words than 99 % of the training texts; nowhere, where none is known."""
        every = listed(texts)
        shares = self.unknown_words(every, n_jobs) if "unknown_words" in self.meta else None
        if shares is None:
            return np.zeros(len(every), dtype=bool)
        return np.asarray(shares > float(self.meta["unknown_words"]["high"]))

    def largest_change(self, text: str) -> float:
        """By how much, at most, rounded weights change a score of a text; 0 for weights that were not rounded.

        The sum over features of x_j times half a unit of the weights in row j.
        """
        columns, _, x = self._scorer.row(text)
        return float(np.abs(x) @ self.file.weights.half_units(columns))

    # --- reasons ---

    def explain(self, text: str, label: Any = None) -> Explanation:
        """What each word of a text adds to the score of a class, exactly.

        With more than two classes the score is that of the class minus the mean over the classes: what all classes
        share says nothing. Words come largest contribution first.

        Parameters
        ----------
        text : str
            The text.
        label : optional
            The class to speak for; the verdict by default.
        """
        p = self.predict_proba([text])[0]
        k = self._chosen(p, label)
        columns, _, x = self._scorer.row(text)
        w, bias = self._direction(k, *self._linear(columns, x))
        found = added_by_word(self._views, self._blocks, text, columns, w * x)
        words = sorted((Word(*word) for word in found), key=lambda word: -abs(word.contribution))
        score = float(bias + (w * x).sum())
        return Explanation(self.classes[k], float(p[k]), score, float(bias), words)

    def flip(self, text: str, *, most: int = 50) -> Flip | None:
        """The fewest words found whose removal, or addition, makes the verdict another; None where none is found.

        Words are cut out of the text (all their occurrences), or put behind it, in the order of what the features they
        touch add to the difference between the verdict and its nearest rival. The changed text is read and scored
        anew after each, so that what is reported has been seen to work, and words that turn out superfluous are left
        out again. For single words without normalisation this order is optimal. At most 64 million characters of
        changed texts are read each way: in texts of a megabyte the search may end early.
        """
        p = self.predict_proba([text])
        k = int(self.decide(p)[0])
        rival = next((int(j) for j in np.argsort(-p[0], kind="stable") if j != k), None)
        if rival is None:
            return None
        columns, _, x = self._scorer.row(text)
        W, b = self._linear(columns, x)
        (w, bias), (other, other_bias) = self._direction(k, W, b), self._direction(rival, W, b)
        gains, bias = (w - other) * x, bias - other_bias
        places = self._words(text)
        weight = added_by_touch(self._views, self._blocks, text, columns, gains, places)
        cut = [word for word in sorted(weight, key=lambda word: -weight[word])[:most] if weight[word] > 0]
        removed = fewest_words(
            cut, k, lambda words: without(text, [span for word in words for span in places[word]]), self._called
        )
        put = self._speaking(most, lambda v: self._of_view(v, rival) - self._of_view(v, k))
        added = fewest_words(put, k, lambda words: " ".join([text, *words]), self._called)
        found = removed or added
        if found is None:
            return None
        length = self._length(
            lambda W: self._direction(k, W, self.file.b)[0] - self._direction(rival, W, self.file.b)[0]
        )
        distance = abs(bias + gains.sum()) / length if length > 0 else float("inf")
        becomes = self.classes[found[1]]
        return Flip(self.classes[k], becomes, removed[0] if removed else [], added[0] if added else [], distance)

    def _chosen(self, p: Array, label: Any) -> int:
        """The position of a class; by default of the verdict."""
        return int(self.decide(p[None])[0]) if label is None else self._position(label)

    def _called(self, texts: list[str]) -> NDArray[np.intp]:
        return self.decide(self.predict_proba(texts))

    def _speaking(self, most: int, weights: Callable[[int], Array]) -> list[str]:
        """The terms with the largest weights, which are given by view: what to put into a text."""
        found = []
        for v, view in enumerate(self._views):
            if view.hashed or (not view.words and any(other.words for other in self._views)):
                continue
            w = weights(v)
            found += [view.term(int(j)) for j in np.argsort(-w, kind="stable")[:most] if w[j] > 0]
        return found

    def _words(self, text: str) -> dict[str, list[tuple[int, int]]]:
        """Where each word of a text stands; for models of characters, what stands between white space."""
        found: dict[str, list[tuple[int, int]]] = {}
        for match in re.finditer(token_pattern(self._views), text):
            found.setdefault(match.group().lower(), []).append(match.span())
        return found

    # --- what it holds ---

    def top_terms(self, label: Any, n: int = 20) -> list[tuple[str, float]]:
        """The terms that speak most for a class, each with what it adds in a text of usual length.

        Words, where the model has them, and else n-grams of characters.
        """
        k = self._position(label)
        best: list[tuple[str, float]] = []
        for v, view in enumerate(self._views):
            if view.words or not any(other.words for other in self._views):
                w = self._of_view(v, k)
                best += [(view.term(int(j)), float(w[j])) for j in np.argsort(-w, kind="stable")[:n] if w[j] > 0]
        return sorted(best, key=lambda pair: -pair[1])[:n]

    def _of_view(self, v: int, k: int) -> Array:
        """What one occurrence of each term of a view adds to class k, in a text of usual length."""
        total = np.zeros(self._views[v].size)
        for block in self._blocks:
            if block.view != v:
                continue
            for rows in self._pieces(block):
                here = slice(rows.start - block.begin, rows.stop - block.begin)
                total[here] += self._direction(k, self._rows(rows), self.file.b)[0] * block.usual(rows)
        return total

    def _rows(self, rows: Any) -> Array:
        """Rows of W; where rows of the training set are remembered, summed over these."""
        if self.file.stored is not None:
            whole: Array = self._summed(self.file.stored, np.ones(len(self.file.stored.A)))
            return np.asarray(whole[rows])
        return self.file.weights[rows]

    def _pieces(self, block: ServedBlock) -> list[slice]:
        """Its rows, so many at a time: as float64 all of them take eight times what the model takes."""
        step = _ROWS_AT_ONCE if self._memory is None else self.n_features
        return [slice(first, min(first + step, block.end)) for first in range(block.begin, block.end, step)]

    def _length(self, direction: Callable[[Array], Array]) -> float:
        """Length of a direction, which is made of rows of W."""
        square = 0.0
        for block in self._blocks:
            for rows in self._pieces(block):
                w = direction(self._rows(rows))
                square += float((w * w).sum())
        return float(np.sqrt(square))

    def _position(self, label: Any) -> int:
        if label not in self.classes:
            msg = f"{label!r} is not one of the classes: {', '.join(map(str, self.classes[:20]))}."
            raise ValueError(msg)
        return self.classes.index(label)

    def _linear(self, columns: NDArray[np.int64], x: Array) -> tuple[Array, Array]:
        """Weights of these features, and biases, whose products with this text are its scores, exactly.

        Those of the model; where it remembers rows, the sum of the rows it goes by, each by its slope.
        """
        if self.file.stored is None or self._memory is None:
            return self._rows(columns), self.file.b
        slopes, base = self._memory.slopes(columns, x)
        return self._summed(self.file.stored, slopes)[columns], self.file.b + base

    def _summed(self, stored: StoredTexts, slopes: Array) -> Array:
        """One row per term, the sum over stored rows of slope times value times what the row adds."""
        terms = np.repeat(np.arange(self.n_features), np.diff(stored.starts))
        shares = stored.values * slopes[stored.rows]
        return np.column_stack([np.bincount(terms, shares * a[stored.rows], self.n_features) for a in stored.A.T])

    def _direction(self, k: int, W: Array, b: Array) -> tuple[Array, float]:
        """Weights and bias of class k: of its score less the mean over classes."""
        if W.shape[1] == 1:
            sign = 1.0 if k == len(self.classes) - 1 else -1.0
            return sign * W[:, 0], sign * float(b[0])
        return W[:, k] - W.mean(axis=1), float(b[k] - b.mean())


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def listed(texts: Iterable[str]) -> list[str]:
    """Texts as a list; one text alone, and what has no order or more than one dimension, is refused."""
    if type(texts) is list:
        return texts
    if isinstance(texts, str):
        msg = "Texts are wanted as a list. Got one str: put it in brackets."
        raise ValueError(msg)
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping | Set) or getattr(texts, "ndim", 1) != 1:
        what = f"{texts.ndim} dimensions" if hasattr(texts, "ndim") else type(texts).__name__
        msg = f"Texts are wanted as a list, or as one column. Got {what}."
        raise TypeError(msg)
    return (
        texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    )  # Arrow's columns hold scalars of their own
