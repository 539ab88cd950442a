"""Texts counted in every view: the features that model types learn from, made once for all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise._allocator import return_memory
from tallywise.evaluation import Folds
from tallywise.text_model.fits import FitData
from tallywise.text_model.forms import Block, Form, Part, SharedWeights
from tallywise.text_model.merging import Merging, merge
from tallywise.text_model.model_types import ModelType
from tallywise.text_model.views import View
from tallywise.text_model.weighting import Weighting, side_by_side

Array = NDArray[np.float64]


@dataclass
class Merged:
    """A view with equal columns merged: counts (None once features were made of them), their scales, their number."""

    merging: Merging
    counts: Any
    scale: Array
    width: int


class TrainingData:
    """Texts counted in every view, and what the models learn from them. Features are made once, for all models.

    Inverse document frequencies are those of all texts: labels have no part in them.
    """

    def __init__(
        self,
        views: Sequence[View],
        counts: Sequence[Any],
        codes: NDArray[np.intp],
        classes: NDArray[Any],
        n_jobs: int | None,
        class_weight: Any = None,
        sets: NDArray[np.uint8] | None = None,
    ) -> None:
        self.views = list(views)
        self.counts = list(counts)
        self.widths = [0 if X is None else int(X.shape[1]) for X in self.counts]
        self.codes, self.classes = codes, classes
        self.n_jobs, self.class_weight, self.sets = n_jobs, class_weight, sets
        # Terms of many texts that are rare are left out, and hardly any of the rest are the same in every text.
        self.many = any(view.many for view in self.views)
        self._whole: tuple[TrainingData, NDArray[np.intp]] | None = None  # of a part: the whole, and its rows of it
        self._part: tuple[TrainingData, NDArray[np.intp]] | None = None
        self._weightings: dict[tuple[str, str], Weighting] = {}
        self._values: dict[tuple[str, str], Any] = {}
        self._mergings: dict[tuple[str, str], Merged] = {}
        self._features: dict[tuple[tuple[str, ...], str, bool], tuple[Any, NDArray[np.int64]]] = {}

    @classmethod
    def counted(
        cls,
        views: Sequence[View],
        count: Callable[[View], Any],
        model_types: Sequence[ModelType],
        *how: Any,
        pairs: bool,
        look: Callable[[View, Any], None] = lambda view, counts: None,
    ) -> "TrainingData":
        """Count texts view by view; of each, keep what the models need.

        Parameters
        ----------
        views : list of View
            Views that have learned no terms.
        count : callable
            Gives the counts of a view, which learns its terms.
        model_types : list of ModelType
            The models that will ask.
        *how
            Codes, classes and the rest, as for the constructor.
        pairs : bool
            Runs of at most two words become a view of their own, for the models that take terms for independent:
            longer ones help a linear model and mislead these.
        look : callable
            Called with the first view and its counts.
        """
        data = cls(views, [None] * len(views), *how)
        for v, view in enumerate(views):
            data.counts[v] = count(view)
            data.widths[v] = int(data.counts[v].shape[1])
            if data.many:
                return_memory()
            made = [v]
            if v == 0:
                look(view, data.counts[0])
                if pairs and view.name == "words" and not view.hashed and view.vectorizer.ngram_range[1] > 2:
                    shorter, columns = view.pairs(data.counts[0])
                    data.views.append(shorter)
                    data.counts.append(columns)
                    data.widths.append(int(columns.shape[1]))
                    made.append(len(data.views) - 1)
            for k in made:
                data._settle(k, model_types)
        return data

    def _settle(self, v: int, model_types: Sequence[ModelType]) -> None:
        """Merge the columns of a view for the models that learn from merged ones; without others, counts can go."""
        asking = [model_type for model_type in model_types if v in self.seen_by(model_type)]
        if self.many:
            return
        for model_type in asking:
            if model_type.merged:
                self._merged(v, model_type.weighting)
        if all(model_type.merged for model_type in asking):
            self.counts[v] = None
            return_memory()

    def make_features(self, model_types: Sequence[ModelType]) -> None:
        """Make the features of all models that will ask, and let go of the merged counts."""
        for k, model_type in enumerate(model_types):
            self.features(model_type)
            rest = model_types[k + 1 :]
            asked = {(self.views[v].name, other.weighting) for other in rest for v in self.seen_by(other)}
            for key, merged in self._mergings.items():
                if key not in asked:
                    merged.counts = None
        return_memory()

    def forget_features_of(self, model_type: ModelType, others: Sequence[ModelType]) -> None:
        """Let go of the features of a model that was fitted, if no other has the same."""
        if self._key(model_type) not in map(self._key, others):
            self._features.pop(self._key(model_type), None)

    def part(self, rows: NDArray[np.intp]) -> "TrainingData":
        """Some of the texts, their features as they are among all; the last part is kept for the next who asks."""
        if len(rows) == len(self.codes):
            return self
        if self._part is None or not np.array_equal(self._part[1], rows):
            how = self.classes, self.n_jobs, self.class_weight, self.sets
            part = TrainingData(self.views, self.counts, self.codes[rows], *how)
            part._whole = self, rows
            self._part = part, rows
        return self._part[0]

    @property
    def columns(self) -> int:
        """Columns of scores that a model of these classes has."""
        if self.sets is not None:
            return int(self.sets.shape[1])
        return 1 if len(self.classes) == 2 else len(self.classes)

    def problem(self, model_type: ModelType) -> FitData:
        """What a model type learns from."""
        how = self.classes, self.n_jobs, self.class_weight, self.sets
        return FitData(self.features(model_type), self.codes, *how)

    def has_all_classes(self, folds: Folds) -> bool:
        """Whether the training rows of every fold have every class."""
        return all(len(np.unique(self.codes[train])) == len(self.classes) for train, _ in folds)

    def seen_by(self, model_type: ModelType) -> list[int]:
        """The views that a model type sees; where it asks for others, all that there are."""
        place = {view.name: v for v, view in enumerate(self.views)}
        # Models on counts or presence take terms for independent: for them pairs of words stand for words, if any.
        names = [
            ("pairs" if model_type.weighting != "tf-idf" and "pairs" in place else n) if n == "words" else n
            for n in model_type.views
        ]
        return [place[name] for name in names if name in place] or [0]

    def blocks(self, model_type: ModelType) -> tuple[Block, ...]:
        """The blocks of a model type's features."""
        kind = model_type.weighting
        return tuple(Block(self.views[v].name, self._weighting(v, kind)) for v in self.seen_by(model_type))

    def features(self, model_type: ModelType) -> Any:
        """The features of all texts for a model type: its blocks side by side, merged where that changes nothing."""
        return self._features_and_starts(model_type)[0]

    def unit_blocks(self, model_type: ModelType) -> NDArray[np.int64]:
        """Where the blocks of a model type's features begin, if each of them is divided by its length; else nothing."""
        unit = all(block.weighting.norm == "l2" for block in self.blocks(model_type))
        return self._features_and_starts(model_type)[1] if unit else np.empty(0, dtype=np.int64)

    def _key(self, model_type: ModelType) -> tuple[tuple[str, ...], str, bool]:
        return tuple(self.views[v].name for v in self.seen_by(model_type)), model_type.weighting, model_type.merged

    def _features_and_starts(self, model_type: ModelType) -> tuple[Any, NDArray[np.int64]]:
        key = self._key(model_type)
        if key not in self._features:
            seen = self.seen_by(model_type)
            if model_type.merged and not self.many:
                merged = [self._merged(v, model_type.weighting) for v in seen]
                scaled = [
                    replace(self._weighting(v, model_type.weighting), scale=m.scale)
                    for v, m in zip(seen, merged, strict=True)
                ]
                widths, X = [m.width for m in merged], side_by_side(scaled, [m.counts for m in merged])
            else:
                parts = [self._block_values(v, model_type.weighting) for v in seen]
                widths, X = (
                    [part.shape[1] for part in parts],
                    parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr"),
                )
            self._features[key] = X, np.cumsum([0, *widths[:-1]], dtype=np.int64)
        return self._features[key]

    def forget_features(self) -> None:
        """Let go of what can be made again from the counts."""
        self._values.clear()
        self._features.clear()
        self._part = None

    def keep_only(self, model_type: ModelType) -> None:
        """Let go of all but the features of a model_type, which are made first."""
        self.blocks(model_type)
        features = self._features_and_starts(model_type)
        self.forget_features()
        self.counts.clear()
        self._features[self._key(model_type)] = features

    def unmerge(self, form: Form, model_type: ModelType) -> Form:
        """A form over merged features as one over the blocks."""
        if not model_type.merged or self.many:
            return form
        parts, sizes, begin = [], [], 0
        for merged in (self._merged(v, model_type.weighting) for v in self.seen_by(model_type)):
            parts.append([Part(1.0, merged.merging, form.W[begin : begin + merged.width])])
            sizes.append(len(merged.merging.group))
            begin += merged.width
        return form._replace(W=SharedWeights(parts, sizes))

    def entries(self, model_type: ModelType) -> int:
        """Entries of the features of a model_type."""
        return int(self.features(model_type).nnz)

    def width(self, model_type: ModelType) -> int:
        """Columns of a model type's features before they are merged."""
        return sum(self.widths[v] for v in self.seen_by(model_type))

    def merged_width(self, model_type: ModelType) -> int:
        """Columns of a model type's features, as far as they are merged by now."""
        keys = [(v, (self.views[v].name, model_type.weighting)) for v in self.seen_by(model_type)]
        known = self._mergings if model_type.merged else {}
        return sum(known[key].width if key in known else self.widths[v] for v, key in keys)

    def features_of(self, form: Form, rows: NDArray[np.intp]) -> Any:
        """The features of some texts for a form that was fitted on this data."""
        place = {id(weighting): key for key, weighting in self._weightings.items()}
        names = [view.name for view in self.views]
        parts = []
        for block in form.blocks:
            name, kind = place[id(block.weighting)]
            parts.append(self._block_values(names.index(name), kind)[rows])
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def _counts(self, v: int) -> Any:
        """Counts of these texts in a view."""
        if self._whole is None:
            return self.counts[v]
        whole, rows = self._whole
        return whole._counts(v)[rows]

    def _weighting(self, v: int, kind: str) -> Weighting:
        if self._whole is not None:
            return self._whole[0]._weighting(v, kind)
        key = (self.views[v].name, kind)
        if key not in self._weightings:
            self._weightings[key] = Weighting.fit(kind, self.counts[v])
        return self._weightings[key]

    def _block_values(self, v: int, kind: str) -> Any:
        """Feature values of a view."""
        if self._whole is not None:
            return _without_empty_columns(self._weighting(v, kind).apply(self._counts(v)))
        key = (self.views[v].name, kind)
        if key not in self._values:
            self._values[key] = self._weighting(v, kind).apply(self.counts[v])
        return self._values[key]

    def _merged(self, v: int, kind: str) -> Merged:
        """Counts of a view with equal columns merged among these texts, and the scales of the merged."""
        key = (self.views[v].name, kind)
        if key not in self._mergings:
            weighting = self._weighting(v, kind)
            whole, rows = self._whole or (self, None)
            if rows is not None and key in whole._mergings:
                counts, scale = whole._mergings[key].counts[rows], whole._mergings[key].scale
            else:  # what only a sample of the texts may ever need is not merged among all of them
                counts, scale = self._counts(v), weighting.scale
            merging, found, total = merge(counts, scale, presence=weighting.tf == "presence")
            self._mergings[key] = Merged(merging, found, total, int(found.shape[1]))
        return self._mergings[key]


def _without_empty_columns(X: Any) -> Any:
    """Columns that some row has."""
    seen = np.zeros(X.shape[1], dtype=bool)
    seen[X.indices] = True
    place = np.cumsum(seen, dtype=X.indices.dtype) - 1
    return sp.csr_matrix((X.data, place[X.indices], X.indptr), shape=(X.shape[0], int(seen.sum())))
