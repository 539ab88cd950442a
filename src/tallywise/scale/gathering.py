"""Texts of shards, read by workers and gathered once: what one machine then counts and fits as if it had read them.

A worker codes the texts of a shard as numbers of their runs between white space (`tallywise.text._coded`), a quarter to
a third of their size. The driver keeps the coded shards in memory up to `SPILL` bytes and beyond it in a file, in the
order in which they come, and hands them over in the order of the list: the same texts in the same order, whoever read
them.
"""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tallywise._native import Analyzer
from tallywise.evaluation.splits import number_groups
from tallywise.models import model_file
from tallywise.reading import InputError, Layout
from tallywise.scale.checkpoints import Checkpoints
from tallywise.scale.engines import Engine
from tallywise.scale.jobs import Done, Progress, Report
from tallywise.text._coded import CodedCorpus, coded
from tallywise.text_model.corpora import LOOKED_AT, WITH_MARKUP, has_markup

SPILL = 1 << 30  # bytes of coded texts in memory: those of 4 GB
_PART = 1 << 26  # characters in a part: its numbers take some 60 MB while they are counted


@dataclass(frozen=True)
class Reading:
    """How shards are read: the same for all workers."""

    layout: Layout
    deobfuscate: bool = False
    strip_markup: bool = False
    skip_bad: bool = False
    labelled: bool = True
    numbers: bool = False  # labels are numbers to predict
    part: int = _PART

    def analyzer(self) -> Analyzer:
        """What normalises a text and cuts it into runs."""
        return Analyzer("char_wb", True, 1, 1, 1, self.deobfuscate, [], False, self.strip_markup)


def read_shard(reading: Reading, number: int, shard: str) -> tuple[Done, bytes]:
    """One shard, coded: a container of arrays. What a worker does, as often as it is asked to."""
    began, found = time.perf_counter(), _Shard(reading)
    try:
        for piece in reading.layout.pieces(shard, require_label=reading.labelled):
            if reading.numbers:
                _refuse_words(piece.labels, shard)
            found.add(piece.texts, piece.labels if reading.labelled else [""] * len(piece.texts))
    except InputError as error:
        if not reading.skip_bad:
            raise
        return Done(number, 0, 0, time.perf_counter() - began, str(error)), b""
    data = found.packed()
    return Done(number, len(found.codes), found.characters, time.perf_counter() - began), data


def _refuse_words(labels: Sequence[str | None], shard: str) -> None:
    for label in labels:
        try:
            finite = math.isfinite(float(label or ""))
        except ValueError:
            finite = False
        if not finite:
            msg = f"{shard}: the label {label!r} is not a number, which a regression needs"
            raise InputError(msg)


class _Shard:
    """The texts of a shard as they come."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.characters = reading, 0
        self.labels: dict[str, int] = {}
        self.codes: list[int] = []
        self._hashes = bytearray()
        self._tagged: list[bool] = []
        self._parts: list[bytes] = []
        self._rows: list[int] = []
        self._waiting: list[list[str]] = []
        self._held = 0

    def add(self, texts: list[str], labels: Sequence[str | None]) -> None:
        for text, label in zip(texts, labels, strict=True):
            self.codes.append(self.labels.setdefault(label or "", len(self.labels)))
            plain = " ".join(text.lower().split()).encode("utf-8", "surrogatepass")
            self._hashes += hashlib.blake2b(plain, digest_size=8).digest()
            self._tagged.append(has_markup(text))
        size = sum(map(len, texts))
        if self._waiting and self._held + size > self.reading.part:
            self._end_part()
        self._waiting.append(texts)
        self._held += size
        self.characters += size

    def _end_part(self) -> None:
        self._parts.append(coded(self._waiting, self.reading.analyzer()))
        self._rows.append(sum(map(len, self._waiting)))
        self._waiting, self._held = [], 0

    def packed(self) -> bytes:
        """In the container of model files, whose reader checks what it reads."""
        if self._waiting:
            self._end_part()
        arrays: dict[str, NDArray[Any]] = {
            "codes": np.array(self.codes, dtype=np.int32),
            "hashes": np.frombuffer(self._hashes, dtype=np.int64),
            "tagged": np.packbits(np.array(self._tagged, dtype=bool)),
        }
        arrays |= {f"part {k}": np.frombuffer(part, dtype=np.uint8) for k, part in enumerate(self._parts)}
        return model_file.to_bytes({"kind": "coded texts", "labels": list(self.labels), "rows": self._rows}, arrays)


class Spill:
    """Coded parts: in memory, and from a size on in a file that nobody else sees."""

    def __init__(self, size: int = SPILL) -> None:
        self._most, self.size = size, 0  # bytes of all parts
        self._held: list[bytes] = []
        self._places: list[tuple[int, int]] = []
        self._file: Any = None

    def add(self, data: bytes) -> int:
        """Keep a part; its number."""
        self._places.append((self.size, len(data)))
        self.size += len(data)
        self._held.append(data)
        if self._file is None and self.size > self._most:
            self._file = tempfile.TemporaryFile()  # it lives as long as this does
            weakref.finalize(self, self._file.close)
        if self._file is not None:
            self._file.seek(0, os.SEEK_END)
            self._file.writelines(self._held)
            self._held = []
        return len(self._places) - 1

    def __getitem__(self, number: int) -> bytes:
        if self._file is None:
            return self._held[number]
        begin, size = self._places[number]
        self._file.seek(begin)
        data: bytes = self._file.read(size)
        return data


@dataclass
class _Gathered:
    """What is kept of one shard beside its parts."""

    parts: list[int]
    rows: list[int]
    codes: NDArray[np.int32]
    hashes: NDArray[np.int64]
    tagged: NDArray[np.bool_]


@dataclass
class ShardCorpus:
    """The texts of all shards in their order, as `TextClassifier.fit_corpus` takes them."""

    shards: list[str]
    layout: Layout
    labels: list[str] = field(default_factory=list)
    characters: int = 0
    markup: bool = False
    spill: Spill = field(default_factory=Spill)
    done: list[Done] = field(default_factory=list)
    _known: dict[int, _Gathered] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, done: Done, data: bytes) -> None:
        """Take up what was read of a shard."""
        self.done.append(done)
        if done.problem:
            return
        meta, arrays = model_file.parse(data, self.shards[done.shard])
        numbers = [self._numbers.setdefault(label, len(self._numbers)) for label in meta["labels"]]
        parts = [self.spill.add(arrays[f"part {k}"].tobytes()) for k in range(len(meta["rows"]))]
        codes = np.array(numbers, dtype=np.int32)[arrays["codes"]] if numbers else arrays["codes"]
        tagged = np.unpackbits(arrays["tagged"])[: len(codes)].astype(bool)
        self._known[done.shard] = _Gathered(parts, list(meta["rows"]), codes, arrays["hashes"], tagged)
        self.characters += done.characters

    def finish(self) -> None:
        """All shards were read: put them in their order."""
        found = [self._known[k] for k in sorted(self._known)]
        names = list(self._numbers)
        self.labels = [names[code] for one in found for code in one.codes.tolist()]
        if not self.labels:
            problems = [one.problem for one in self.done if one.problem]
            msg = problems[0] if problems else f"{self.shards[0]} holds no texts"
            raise InputError(msg)
        self.hashes = np.concatenate([one.hashes for one in found])
        tagged = np.concatenate([one.tagged for one in found])[:: max(1, len(self.labels) // LOOKED_AT)]
        self.tagged = int(tagged.sum()) > WITH_MARKUP * len(tagged)
        order = [part for one in found for part in one.parts]
        self.documents = CodedCorpus(lambda k: self.spill[order[k]], [rows for one in found for rows in one.rows])

    def __len__(self) -> int:
        return len(self.labels)

    def groups(self) -> NDArray[np.intp]:
        """Texts that are equal up to case and white space have one number."""
        return number_groups(self.hashes)

    @property
    def texts(self) -> ShardTexts:
        """The texts themselves, read from the shards again."""
        rows = [(self.shards[k], len(one.codes)) for k, one in sorted(self._known.items())]
        return ShardTexts(self.layout, rows)


def gather(
    shards: list[str], reading: Reading, engine: Engine, checkpoints: Checkpoints, report: Report, *, markup: bool
) -> ShardCorpus:
    """Read shards by the workers of an engine.

    With `markup`, they are read once more where it turns out that one text in a hundred has tags of HTML.
    """
    corpus = _gathered(shards, reading, engine, checkpoints, report)
    if markup and corpus.tagged:
        corpus = _gathered(shards, replace(reading, strip_markup=True), engine, checkpoints.named("markup"), report)
        corpus.markup = True
    return corpus


def _gathered(
    shards: list[str], reading: Reading, engine: Engine, checkpoints: Checkpoints, report: Report
) -> ShardCorpus:
    corpus, progress, waiting = ShardCorpus(shards, reading.layout), Progress("reading", len(shards)), []
    for k, shard in enumerate(shards):
        saved = checkpoints.load(f"shard {k}")
        if saved is None:
            waiting.append((k, shard))
            continue
        corpus.add(Done(*saved[1]["done"]), saved[0])
    for done, data in engine.map(read_shard, waiting, reading):
        corpus.add(done, data)
        if not done.problem:
            checkpoints.save(f"shard {done.shard}", data, {"done": list(done)})
        progress.done.append(done)
        report(progress)
    corpus.finish()
    return corpus


class ShardTexts(Sequence[str]):
    """Texts by their number, read from the shards as they are asked for: quickly in rising order."""

    def __init__(self, layout: Layout, rows: Sequence[tuple[str, int]]) -> None:
        self._layout, self._shards = layout, [shard for shard, _ in rows]
        self._starts = np.concatenate([[0], np.cumsum([n for _, n in rows])]).astype(int)
        self._shard, self._next = -1, 0
        self._stream: Iterator[str] = iter(())

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[k] for k in range(*row.indices(len(self)))]
        row = int(row)
        if not 0 <= row < len(self):
            raise IndexError(row)
        shard = int(np.searchsorted(self._starts, row, side="right")) - 1
        place = row - int(self._starts[shard])
        if shard != self._shard or place < self._next:
            pieces = self._layout.pieces(self._shards[shard], require_label=self._layout.label is not None)
            self._stream = (text for piece in pieces for text in piece.texts)
            self._shard, self._next = shard, 0
        for text in self._stream:
            self._next += 1
            if self._next > place:
                return text
        msg = f"{self._shards[shard]} has fewer texts than when it was read first"
        raise InputError(msg)
