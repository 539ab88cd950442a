"""The model that answers, and its versions: swapped in one step, so that a request sees one model from start to end."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tallywise._allocator import return_memory
from tallywise.errors import ModelFileError, TallywiseError
from tallywise.files import replacing
from tallywise.models.loading import load
from tallywise.models.text_serving import TextModel
from tallywise.serve import near_repeats, queries, store_writes
from tallywise.serve.text_store import Store
from tallywise.table_model import TableRuntime


class NoModelError(TallywiseError, LookupError):
    """There is no model yet."""


class UnknownVersionError(TallywiseError, LookupError):
    """There is no such model version."""


class UnknownClassError(TallywiseError, LookupError):
    """The model has no such class."""


class Prediction(NamedTuple):
    """What a model says of a text."""

    position: int  # of the label among the classes
    label: str
    probability: float
    margin: float
    probabilities: list[float]


class Live(NamedTuple):
    """The active model: immutable, so that whoever holds it can finish with it."""

    model: TextModel
    number: int
    version: str
    names: list[str]  # the classes as text, as the store has labels
    encoded: list[bytes]  # as JSON
    version_field: bytes

    @classmethod
    def of(cls, model: TextModel, number: int, version: str) -> "Live":
        """A model under its version."""
        names = [str(label) for label in model.classes]
        encoded = [json.dumps(name).encode() for name in names]
        return cls(model, number, version, names, encoded, b'"version":%s' % json.dumps(version).encode())

    def predictions(self, texts: list[str]) -> list[Prediction]:
        """Predictions of texts."""
        P = self.model.predict_proba(texts)
        if not len(P):
            return []
        chosen = self.model.decide(P)
        own = P[np.arange(len(P)), chosen]
        rest = P.copy()
        rest[np.arange(len(P)), chosen] = 0.0
        margins = own - rest.max(axis=1)
        return [
            Prediction(k, self.names[k], p, m, row)
            for k, p, m, row in zip(chosen.tolist(), own.tolist(), margins.tolist(), P.tolist(), strict=True)
        ]

    def fields(self, position: int, probabilities: Sequence[float], everything: bool = False) -> bytes:
        """A prediction as clients see it: fields of a JSON object, put together from pieces that are made once."""
        own = b'"label":%s,"probability":%.9g' % (self.encoded[position], probabilities[position])
        if not everything:
            return own
        pairs = zip(self.encoded, probabilities, strict=True)
        return b'%s,"probabilities":{%s}' % (own, b",".join(b"%s:%.9g" % pair for pair in pairs))

    def label(self, name: str) -> Any:
        """The model's own label of a name."""
        if name not in self.names:
            msg = f"{name!r} is not one of the classes: {', '.join(self.names[:20])}."
            raise UnknownClassError(msg)
        return self.model.classes[self.names.index(name)]


class Models:
    """Versions in the store, and the one in place."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.live: Live | None = None

    def current(self) -> Live:
        """The model in place.

        Raises
        ------
        NoModelError
            When there is none yet.
        """
        if self.live is None:
            msg = "There is no model yet. Label texts of two classes, or start with a model file."
            raise NoModelError(msg)
        return self.live

    def open(self, version: queries.Version) -> Live:
        """Load a version from its file."""
        model = load(self.store.models / version.file)
        return Live.of(model, version.version, version.name)

    def start(self) -> None:
        """Put the version in place that was there last."""
        number = self.store.read(lambda db: queries.value(db, "active"))
        if number is not None:
            self.live = self.open(self.get(int(number)))

    def get(self, number: int) -> queries.Version:
        """A version by its number."""
        found = self.store.read(lambda db: queries.version(db, number))
        if found is None:
            msg = f"There is no model version {number}."
            raise UnknownVersionError(msg)
        return found

    def bring(self, path: str | os.PathLike[str], has_texts: bool) -> None:
        """Take up a model file from elsewhere, once; `has_texts` says whether its training texts are in the store."""
        model = _one_label(path)
        content = Path(path).read_bytes()
        name = f"brought-{near_repeats.digest(content.hex()).hex()}.tally"
        known = next((v for v in self.store.read(queries.versions) if v.file == name), None)
        if known is not None:
            return
        with replacing(self.store.models / name) as stream:
            stream.write(content)
        facts = {
            "classes": [str(label) for label in model.classes],
            "figures": model.meta.get("figures", {}),
            "split": "; ".join(model.meta.get("description", [])),
            "words": {str(label): model.top_terms(label) for label in model.classes[:50]},
        }
        texts = int(model.meta.get("texts", 0))
        title = str(model.meta.get("title", "a model file"))
        number = self.store.write(
            lambda db: store_writes.add_model(db, title, name, store_writes.last_event(db), texts, not has_texts, facts)
        ).result()
        self.activate(number)

    def activate(self, number: int, pin: bool = False) -> Live:
        """Put a version in place; pinned, it stays when newer ones are fitted."""
        version = self.get(number)
        live = self.open(version)

        def write(db: Any) -> None:
            store_writes.set_value(db, "active", number)
            store_writes.set_value(db, "pinned", pin)

        self.store.write(write).result()
        self.live = live
        return_memory()  # the model before was freed, and lay between what stays
        return live

    def roll_back(self) -> Live:
        """Put the version before the one in place, and keep it there."""
        now = self.current().number
        older = [version.version for version in self.store.read(queries.versions) if version.version < now]
        if not older:
            msg = f"Version {now} is the first: there is none to go back to."
            raise UnknownVersionError(msg)
        return self.activate(max(older), pin=True)

    @property
    def pinned(self) -> bool:
        """Whether the version in place stays when newer ones are fitted."""
        return bool(self.store.read(lambda db: queries.value(db, "pinned", False)))

    def differences(self, one: int, other: int, most: int = 5000, shown: int = 50) -> list[dict[str, Any]]:
        """Texts of which two versions say different things, and the words that make the difference."""
        a, b = self.open(self.get(one)), self.open(self.get(other))
        items, _ = self.store.read(lambda db: queries.page(db, limit=most))
        texts = [item.text for item in items]
        found: list[dict[str, Any]] = []
        for item, p, q in zip(items, a.predictions(texts), b.predictions(texts), strict=True):
            if p.label != q.label:
                found.append({"item": item, "one": p, "other": q})
        found.sort(key=lambda row: -min(row["one"].probability, row["other"].probability))
        for row in found[:shown]:
            row["why"] = _why(a, b, row["item"].text, row["other"].label)
        return found


def _why(a: Live, b: Live, text: str, label: str) -> list[tuple[str, float]]:
    """Words whose say for a label has changed the most from one model to the other."""
    if label not in a.names:
        return []
    before = {word.term: word.contribution for word in a.model.explain(text, a.label(label)).words}
    after = {word.term: word.contribution for word in b.model.explain(text, b.label(label)).words}
    change = {term: after.get(term, 0.0) - before.get(term, 0.0) for term in {*before, *after}}
    return sorted(change.items(), key=lambda pair: -abs(pair[1]))[:6]


def table_model(inputs: Sequence[str]) -> TableRuntime | None:
    """The model of a table, if that is what is to be served; it is served alone."""
    if len(inputs) != 1 or not Path(inputs[0]).is_file():
        return None
    with open(inputs[0], "rb") as stream:
        if stream.read(5) != b"tally":
            return None
    found = load(inputs[0])
    return found if isinstance(found, TableRuntime) else None


def _one_label(path: str | os.PathLike[str]) -> TextModel:
    """A model that gives a text one label; others are refused."""
    model = load(path)
    if not isinstance(model, TextModel):
        msg = f"Cannot serve {os.fspath(path)!r}: it is a model of tables, which is served alone."
        raise ModelFileError(msg)
    if hasattr(model, "predict_labels"):
        msg = f"Cannot serve {os.fspath(path)!r}: it gives texts several labels, and the service one."
        raise ModelFileError(msg)
    return model


def readable(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a model file rather than data; a damaged one raises `ModelFileError`."""
    with open(path, "rb") as stream:
        start = stream.read(5)
    if start == b"tally":
        _one_label(path)
        return True
    if os.fspath(path).endswith(".tally"):
        msg = f"Cannot read {os.fspath(path)!r} as a model: it is not a tallywise model."
        raise ModelFileError(msg)
    return False
