"""The schema of saved models of texts, one label or label sets: what a fit hands over, how it is written and read.

Fits make a `TextModelFile`; `contents` writes it, `read` reads it and the forms of earlier releases. Nothing else knows
the names of the parts of the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _native
from tallywise.models.compression import ModelWeights, Scales, compact, terms_of
from tallywise.models.decision_rule import DecisionRule, Label, refuse
from tallywise.models.model_file import Contents

Array = NDArray[np.float64]
KIND = "text classifier"
LABEL_SETS = "multi-label text classifier"
LONGEST_NGRAM = 64


@dataclass(frozen=True)
class Tokenisation:
    """How texts are cut into terms."""

    units: str  # word, char, char_wb
    ngram_range: tuple[int, int]
    lower: bool = True
    least: int = 1  # characters of a word
    marks: bool = False  # are punctuation marks words?
    deobfuscate: bool = False
    strip_markup: bool | None = None  # None: not stated, which is False
    stop_words: tuple[str, ...] = ()
    n_features: int | None = None  # columns, where these are hashes of terms
    name: str | None = None

    @classmethod
    def read(cls, meta: Mapping[str, Any]) -> "Tokenisation":
        """From what the model file says."""
        low, high = meta["ngram_range"] if "ngram_range" in meta else meta["ngrams"]  # the name in 0.1
        if not 1 <= low <= high <= LONGEST_NGRAM:
            refuse(f"it has n-grams of {low} to {high}")
        hashed = meta.get("n_features", meta.get("buckets"))  # the name in 0.1
        if hashed is not None and (type(hashed) is not int or hashed <= 0):
            refuse("its number of columns is malformed")
        return cls(
            units=meta["units"],
            ngram_range=(low, high),
            lower=bool(meta["lower"]),
            least=meta["least"],
            marks=bool(meta.get("marks", False)),
            deobfuscate=meta["deobfuscate"],
            strip_markup=meta.get("strip_markup"),
            stop_words=tuple(meta["stop_words"]),
            n_features=hashed,
            name=meta.get("name"),
        )

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        found: dict[str, Any] = {
            "name": self.name,
            "units": self.units,
            "lower": self.lower,
            "least": self.least,
            "marks": self.marks,
            "ngram_range": list(self.ngram_range),
            "deobfuscate": self.deobfuscate,
            "strip_markup": self.strip_markup,
            "stop_words": list(self.stop_words),
            "n_features": self.n_features,
        }
        return {key: value for key, value in found.items() if value is not None or key == "n_features"}


@dataclass(frozen=True, eq=False)
class ViewTerms:
    """One tokenisation and its terms: UTF-8, and where each begins; none where columns are hashes."""

    tokenisation: Tokenisation
    text: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8), repr=False)
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64), repr=False)

    @property
    def size(self) -> int:
        """Number of columns."""
        hashed = self.tokenisation.n_features
        return len(self.offsets) - 1 if hashed is None else hashed


@dataclass(frozen=True)
class TermWeighting:
    """The terms of a view as features: x_j = tf(c_j) scale_j, divided by the row's norm."""

    view: int
    tf: str  # count, presence, log
    norm: str  # none, l2
    length: float | None = None  # of a usual text; None where it is not known

    @classmethod
    def read(cls, meta: Mapping[str, Any], views: int) -> "TermWeighting":
        """From what the model file says."""
        if type(meta["view"]) is not int or not 0 <= meta["view"] < views:
            refuse("one of its blocks has no view")
        return cls(meta["view"], meta["tf"], meta["norm"], float(meta["length"]) if "length" in meta else None)

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        found = {"view": self.view, "tf": self.tf, "norm": self.norm}
        return found if self.length is None else {**found, "length": self.length}


@dataclass(frozen=True)
class Link:
    """Scores to probabilities."""

    kind: str  # sigmoid, sigmoids, softmax, ordered, independent
    scale: float = 1.0
    shift: float = 0.0

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        return {"kind": self.kind, "scale": self.scale, "shift": self.shift}


@dataclass(frozen=True, eq=False)
class StoredTexts:
    """Training rows that a model compares with, by column, and what each of them adds to the scores."""

    kind: str  # nearest, gaussian
    number: float  # k, or gamma
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: Array
    A: Array

    @classmethod
    def read(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "StoredTexts":
        """From what the model file says: ``memory_*`` among its arrays."""
        starts, rows, values, A = (arrays[f"memory_{name}"] for name in ("starts", "rows", "values", "A"))
        if {starts.dtype.kind, rows.dtype.kind} != {"i"} or {values.dtype.kind, A.dtype.kind} != {"f"}:
            refuse("its remembered rows are of the wrong kind")
        return cls(meta["kind"], meta["number"], starts, rows, values, A)

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it, besides its arrays."""
        return {"kind": self.kind, "number": self.number}

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays in the model file."""
        return {
            "memory_starts": self.starts,
            "memory_rows": self.rows,
            "memory_values": self.values,
            "memory_A": self.A,
        }

    def native(self) -> _native.RowMemory:
        """What scores texts by them."""
        return _native.RowMemory(self.kind, self.number, self.starts, self.rows, self.values, self.A)


@dataclass(frozen=True)
class ModelFacts:
    """What a model says of itself: nothing that it needs to answer."""

    model: str
    title: str
    texts: int = 0  # learned from
    description: Sequence[str] = ()
    figures: Mapping[str, Sequence[float]] = field(default_factory=dict)  # value, low, high
    unknown_words: Mapping[str, float] | None = None  # mean and high share in training texts
    time_limit: float | None = None


@dataclass(frozen=True, eq=False)
class TextModelFile:
    """A text model as it is saved: scores z = x W + b over the weighted terms of its views, and what they mean.

    With `label_thresholds` a text gets every label whose probability reaches its threshold.
    """

    classes: Sequence[Label]
    views: Sequence[ViewTerms]
    blocks: Sequence[TermWeighting]
    scales: Scales
    weights: ModelWeights
    b: Array
    link: Link
    thresholds: Array = field(default_factory=lambda: np.empty(0))  # of ordinal labels
    rule: DecisionRule = field(default_factory=DecisionRule)
    label_thresholds: Array | None = None
    stored: StoredTexts | None = None
    facts: ModelFacts | None = None

    @property
    def kind(self) -> str:
        """The kind of model that the file says it is."""
        return KIND if self.label_thresholds is None else LABEL_SETS

    # --- written ---

    def contents(self) -> Contents:
        """What the file holds, weights and terms as they are."""
        meta: dict[str, Any] = {"kind": self.kind}
        if self.facts is not None:
            meta |= {"model": self.facts.model, "title": self.facts.title}
        meta |= {
            "classes": list(self.classes),
            "views": [view.tokenisation.meta for view in self.views],
            "blocks": [block.meta for block in self.blocks],
            "link": self.link.meta,
            "rule": self.rule.meta,
        }
        meta |= _facts_meta(self.facts)
        arrays = self.weights.arrays() | {"b": self.b} | self.scales.arrays()
        arrays |= {"thresholds": self.thresholds, "costs": self.rule.costs}
        for v, view in enumerate(self.views):
            arrays[f"terms{ending(v)}"], arrays[f"term_offsets{ending(v)}"] = view.text, view.offsets
        if self.stored is not None:
            meta["memory"] = self.stored.meta
            arrays |= self.stored.arrays
        if self.label_thresholds is not None:
            arrays["label_thresholds"] = self.label_thresholds
        return Contents(meta, arrays)

    def dense(self) -> "TextModelFile":
        """The same with all weights in memory, where they are made as they are asked for."""
        return replace(self, weights=replace(self.weights, W=np.asarray(self.weights.W)))

    def compact(self, max_size: int | None = None) -> Contents:
        """What the file holds in few bytes; see `compression.compact`."""
        return compact(self.contents(), max_size)

    # --- read ---

    @classmethod
    def read(cls, contents: Contents) -> "TextModelFile":
        """The model that a file holds; ValueError, KeyError or TypeError where it holds none."""
        meta, arrays = contents
        kind = meta["kind"]
        if kind not in (KIND, LABEL_SETS):
            refuse(f"it holds a {kind}")
        classes = list(meta["classes"])
        if not all(isinstance(label, str | int | float) for label in classes):
            refuse("one of its classes is neither text nor number")
        _check_types(arrays)
        # A model of one view and one weighting was once written without these lists.
        options = meta["views"] if "views" in meta else [meta["text"]]
        blocks = meta["blocks"] if "blocks" in meta else [{"view": 0, **meta["weighting"]}]
        views = [_read_terms(Tokenisation.read(each), arrays, v) for v, each in enumerate(options)]
        weightings = [TermWeighting.read(block, len(views)) for block in blocks]
        scales = Scales.read(arrays)
        if not weightings or sum(views[block.view].size for block in weightings) != len(scales):
            refuse("its scales do not fit its terms")
        label_thresholds = None
        if kind == LABEL_SETS:
            label_thresholds = arrays["label_thresholds"]
            if label_thresholds.dtype != np.float64 or label_thresholds.shape != (len(classes),):
                refuse("its thresholds do not fit its labels")
            if meta["rule"]["kind"] != "thresholds" or meta["link"]["kind"] != "independent":
                refuse("its labels exclude each other")
        elif meta["rule"]["kind"] == "thresholds":
            refuse("there is no rule 'thresholds' for one label per text")
        return cls(
            classes,
            views,
            weightings,
            scales,
            ModelWeights.read(arrays),
            arrays["b"],
            Link(meta["link"]["kind"], meta["link"]["scale"], meta["link"]["shift"]),
            arrays["thresholds"],
            DecisionRule.read(meta["rule"], arrays["costs"], classes),
            label_thresholds,
            StoredTexts.read(meta["memory"], arrays) if "memory" in meta else None,
            _read_facts(meta),
        )


def ending(v: int) -> str:
    """What the names of the arrays of a view end in."""
    return f"_{v}" if v else ""


def _check_types(arrays: Mapping[str, NDArray[Any]]) -> None:
    for name in ("b", "thresholds", "costs"):
        if arrays[name].dtype != np.float64:
            refuse(f"its {name} is not float64")


def _read_terms(how: Tokenisation, arrays: Mapping[str, NDArray[Any]], v: int) -> ViewTerms:
    if how.n_features is not None:
        return ViewTerms(how)
    text, offsets = terms_of(arrays, ending(v))
    if text.dtype != np.uint8 or offsets.dtype.kind not in "iu":
        refuse("its terms are no bytes, or do not begin at whole numbers")
    return ViewTerms(how, text, offsets)


def _facts_meta(facts: ModelFacts | None) -> dict[str, Any]:
    if facts is None:
        return {}
    found: dict[str, Any] = {
        "texts": facts.texts,
        "description": list(facts.description),
        "figures": {name: list(values) for name, values in facts.figures.items()},
    }
    if facts.unknown_words is not None:
        found["unknown_words"] = dict(facts.unknown_words)
    if facts.time_limit is not None:
        found["time_limit"] = facts.time_limit
    return found


def _read_facts(meta: Mapping[str, Any]) -> ModelFacts | None:
    unknown = meta.get("unknown_words", {"mean": 0.0, "high": 1.0})
    if not all(isinstance(unknown[name], float) for name in ("mean", "high")):
        refuse("its levels of unknown words are no numbers")
    if "model" not in meta:
        return None
    return ModelFacts(
        str(meta["model"]),
        str(meta.get("title", "")),
        meta.get("texts", 0),
        meta.get("description", ()),
        meta.get("figures", {}),
        meta.get("unknown_words"),
        meta.get("time_limit"),
    )
