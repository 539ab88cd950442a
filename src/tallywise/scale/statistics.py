"""Sums over the texts of shards, which merge exactly: counts are whole numbers, so no order of adding matters."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import naive_bayes
from tallywise.reading import InputError
from tallywise.scale.jobs import Features

Counts = NDArray[np.int64]


class Vocabulary:
    """Terms with numbers in the order in which they came."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def places(self, terms: Sequence[str]) -> NDArray[np.intp]:
        """Numbers of terms; new ones get the next."""
        numbers = self.numbers
        return np.fromiter((numbers.setdefault(term, len(numbers)) for term in terms), dtype=np.intp, count=len(terms))


@dataclass
class Statistics:
    """What a model needs to know of texts: rows and documents by class, term and class.

    Attributes
    ----------
    documents, occurrences : array
        By term: the texts that have it, and how often it occurs (neither is counted where nothing asks for it).
    sums : dict of str to naive Bayes model
        By event model: a model that has learned the texts.
    held_sums : dict
        The same of the texts that judge.
    """

    features: Features
    events: tuple[str, ...] = ()
    rows: int = 0
    characters: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    held_labels: Counter[str] = field(default_factory=Counter)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    documents: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    occurrences: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sums: dict[str, Any] = field(default_factory=dict)
    held_sums: dict[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Columns known."""
        return len(self.vocabulary) if self.features.n_features is None else self.features.n_features

    @property
    def _has_documents(self) -> bool:
        """Whether texts are counted by term: a vocabulary is cut by them, and tf-idf weighed."""
        return self.features.frequencies or self.features.n_features is None

    @property
    def _has_occurrences(self) -> bool:
        """Whether occurrences are counted: the sums of naive Bayes have them by class, and only a cut asks for more."""
        return self.features.max_features is not None or not self.events

    def add(self, texts: list[str], labels: list[str], held: NDArray[np.bool_]) -> Any:
        """Count texts; gives their counts, with columns as they are numbered here."""
        X = self._counts(texts)
        self.rows += len(texts)
        self.characters += sum(map(len, texts))
        self.labels.update(labels)
        self.held_labels.update(label for label, apart in zip(labels, held.tolist(), strict=True) if apart)
        if self._has_documents:
            self.documents = _longer(self.documents, self.width)
            self.documents += np.bincount(X.indices, minlength=self.width)
        if self._has_occurrences:
            self.occurrences = _longer(self.occurrences, self.width)
            self.occurrences += np.bincount(X.indices, X.data, minlength=self.width).astype(np.int64)
        y = np.array(labels, dtype=object)
        for event in self.events:
            for rows, models in ((~held, self.sums), (held, self.held_sums)):
                if rows.any():
                    some = X if rows.all() else X[rows]
                    models.setdefault(event, getattr(naive_bayes, event)()).partial_fit(some, y[rows])
        return X

    def _counts(self, texts: list[str]) -> Any:
        vectorizer = self.features.vectorizer()
        if self.features.n_features is not None:
            return vectorizer.transform(texts)
        try:
            X = vectorizer.fit_transform(texts)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            return sp.csr_matrix((len(texts), self.width), dtype=np.int64)
        places = self.vocabulary.places(vectorizer.get_feature_names_out().tolist())
        X.indices = places[X.indices].astype(X.indices.dtype)
        X.resize(len(texts), self.width)
        X.has_sorted_indices = False
        X.sort_indices()
        return X

    def merge(self, other: Statistics) -> None:
        """Know what another has counted, too."""
        self.rows += other.rows
        self.characters += other.characters
        self.labels.update(other.labels)
        self.held_labels.update(other.held_labels)
        places = np.arange(other.width)
        if self.features.n_features is None:
            places = self.vocabulary.places(list(other.vocabulary.numbers))
        if self._has_documents:
            self.documents = _longer(self.documents, self.width)
            # Terms are distinct, so no place comes twice.
            self.documents[places] += _longer(other.documents, other.width)
        if self._has_occurrences:
            self.occurrences = _longer(self.occurrences, self.width)
            self.occurrences[places] += _longer(other.occurrences, other.width)
        source = np.full(self.width, -1, dtype=np.intp)
        source[places] = np.arange(other.width)
        for mine, theirs in ((self.sums, other.sums), (self.held_sums, other.held_sums)):
            for event, model in theirs.items():
                moved = with_columns(model, source)
                if event in mine:
                    mine[event].merge(moved)
                else:
                    mine[event] = moved

    def packed(self) -> bytes:
        """Bytes for the way to the driver, and for checkpoints: a JSON document and arrays, nothing that is executed.

        Whole numbers of eight bytes go as integers, byte by byte, all first bytes before all second ones: those of
        small counts are nearly all alike, and pack to a tenth more than their entropy.
        """
        arrays = {"documents": self.documents, "occurrences": self.occurrences}
        classes: dict[str, list[str]] = {}
        for part, models in (("sums", self.sums), ("held_sums", self.held_sums)):
            for event, model in models.items():
                found = model.statistics()
                classes[f"{part} {event}"] = found.pop("classes").tolist()
                arrays |= {f"{part} {event} {name}": array for name, array in found.items()}
        planes = {
            name: _planes(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) for name, array in arrays.items()
        }
        document = {
            "rows": self.rows,
            "characters": self.characters,
            "labels": dict(self.labels),
            "held_labels": dict(self.held_labels),
            "terms": list(self.vocabulary.numbers),
            "classes": classes,
            "arrays": [[n, array.dtype.str, array.shape, planes[n][0]] for n, array in arrays.items()],
        }
        head = json.dumps(document).encode()
        return zlib.compress(
            b"".join([struct.pack("<Q", len(head)), head, *(content for _, content in planes.values())]), 6
        )

    @classmethod
    def unpacked(cls, data: bytes, features: Features, events: tuple[str, ...] = ()) -> Statistics:
        """Statistics that were packed, of these features and event models.

        Raises
        ------
        InputError
            When these bytes are none.
        """
        try:
            return cls._read(zlib.decompress(data), features, events)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error, zlib.error) as error:
            msg = f"these are no statistics of texts ({error})"
            raise InputError(msg) from None

    @classmethod
    def _read(cls, raw: bytes, features: Features, events: tuple[str, ...]) -> Statistics:
        (size,) = struct.unpack_from("<Q", raw)
        document, at = json.loads(raw[8 : 8 + size]), 8 + size
        arrays: dict[str, NDArray[Any]] = {}
        for name, kind, shape, stored in document["arrays"]:
            if kind not in ("<i8", "<f8"):
                msg = f"numbers of type {kind}"
                raise ValueError(msg)
            end = at + 8 * math.prod(shape)
            arrays[name] = np.frombuffer(bytearray(_numbers(stored, raw[at:end])), kind).reshape(shape)
            at = end
        found = cls(features, events, int(document["rows"]), int(document["characters"]))
        found.labels, found.held_labels = Counter(document["labels"]), Counter(document["held_labels"])
        found.vocabulary.places(document["terms"])
        found.documents, found.occurrences = arrays["documents"], arrays["occurrences"]
        for key, classes in document["classes"].items():
            part, event = key.split(" ")
            if event not in events:
                msg = f"sums of {event}"
                raise ValueError(msg)
            own = {"classes": np.array(classes, dtype=object)}
            own |= {name[len(key) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{key} ")}
            {"sums": found.sums, "held_sums": found.held_sums}[part][event] = getattr(naive_bayes, event)().restore(own)
        return found

    # --- what follows ---

    def chosen_terms(self) -> tuple[list[str], NDArray[np.intp]]:
        """The vocabulary that min_df and max_features leave, sorted, and the number of each term here.

        The same terms in the same order as `CountVectorizer` finds on all texts at once.
        """
        terms = list(self.vocabulary.numbers)
        order = np.array(sorted(range(len(terms)), key=terms.__getitem__), dtype=np.intp)
        least = self.features.min_df
        least = least if isinstance(least, int | np.integer) else least * self.rows
        documents = _longer(self.documents, len(terms))[order]
        kept = documents >= least
        limit = self.features.max_features
        if limit is not None and kept.sum() > limit:
            # The call that CountVectorizer makes, on the same values in the same order: ties fall alike.
            occurrences = _longer(self.occurrences, len(terms))[order]
            best = (-occurrences[kept]).argsort()[:limit]
            kept[np.delete(np.flatnonzero(kept), best)] = False
        if not kept.any():
            msg = "no terms remain: lower min_df, or look whether the texts hold any words"
            raise InputError(msg)
        order = order[kept]
        return [terms[k] for k in order.tolist()], order


def encoded_terms(terms: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Terms as UTF-8, one after the other, and where each begins."""
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(term) for term in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def _planes(data: memoryview) -> tuple[str, bytes]:
    """Bytes of numbers of eight bytes by their place in the number, and of which kind; others as they are."""
    if len(data) % 8:
        return "bytes", data.tobytes()
    numbers, kind = np.frombuffer(data, np.float64), "number"
    # Integers read as floating point numbers are none that are whole, but for 0, which has the same bytes.
    if np.all((np.abs(numbers) < 1 << 53) & (np.trunc(numbers) == numbers)) and not np.signbit(numbers).any():
        numbers, kind = numbers.astype(np.int64).view(np.float64), "whole"
    return kind, numbers.view(np.uint8).reshape(-1, 8).T.tobytes()


def _numbers(kind: str, planes: bytes) -> bytes:
    """What `_planes` was made from."""
    if kind == "bytes":
        return planes
    data = np.ascontiguousarray(np.frombuffer(planes, np.uint8).reshape(8, -1).T).view(np.int64)
    return data.astype(np.float64).tobytes() if kind == "whole" else data.tobytes()


def _longer(counts: Counts, width: int) -> Counts:
    """The same counts with zeros behind them."""
    return counts if len(counts) == width else np.concatenate([counts, np.zeros(width - len(counts), dtype=np.int64)])


def with_columns(model: Any, source: NDArray[np.intp]) -> Any:
    """A naive Bayes model as if its rows had been learned with other columns: column j is the old source[j].

    Where that is -1, column j is one that no row had. The sums are whole numbers, so that of the tokens of a class is
    exact.
    """
    old = model.statistics()
    made = type(model)(**model.get_params())
    width = old["value"].shape[2]
    if len(source) == width and np.array_equal(source, np.arange(width)):
        return made.restore(old)
    known = source.copy()
    known[known >= width] = -1
    value = np.zeros((*old["value"].shape[:2], len(source)))
    value[:, :, known >= 0] = old["value"][:, :, known[known >= 0]]
    totals = old["totals"].copy()
    totals[2] = value[0].sum(axis=1)
    return made.restore({"classes": old["classes"], "value": value, "totals": totals})
