"""What a worker does to score a shard. It needs the light side of a model only: no scikit-learn, no SciPy."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tallywise import files
from tallywise.models import model_file
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError, Layout, Piece
from tallywise.scale.jobs import Done

_PIECE = 1 << 14


@dataclass(frozen=True)
class Task:
    """What all shards share. The model travels once a node, in the form of its file."""

    model: bytes
    digest: str
    layout: Layout
    probabilities: bool
    skip_bad: bool


_MODELS: dict[str, TextModel] = {}  # the last one this process has read


def classify_shard(task: Task, shard: int, path: str, target: str) -> Done:
    """Write the verdicts of one shard. Run twice, it writes the same file twice."""
    began = time.perf_counter()
    if task.digest not in _MODELS:
        _MODELS.clear()
        _MODELS[task.digest] = TextModel(model_file.parse(task.model))
    write = _write_parquet if target.endswith(".parquet") else _write_jsonl
    try:
        pieces = task.layout.pieces(path, rows=_PIECE, every_row=True)
        rows, characters = write(Path(target), _verdicts(_MODELS[task.digest], pieces, task.probabilities))
    except InputError as error:
        if not task.skip_bad:
            raise
        return Done(shard, 0, 0, time.perf_counter() - began, str(error))
    return Done(shard, rows, characters, time.perf_counter() - began)


@dataclass(frozen=True)
class _Verdicts:
    """Columns of some rows of verdicts."""

    columns: dict[str, list[Any]]
    rows: int
    characters: int


def _verdicts(model: TextModel, pieces: Iterable[Piece], probabilities: bool) -> Iterator[_Verdicts]:
    for texts, _, sources in pieces:
        P = model.predict_proba(texts, 1)
        k = model.decide(P)
        labels = [model.classes[c] for c in k.tolist()]
        columns: dict[str, list[Any]] = {
            "source": sources,
            "label": labels,
            "probability": P[np.arange(len(k)), k].tolist(),
        }
        if probabilities:
            names = [str(label) for label in model.classes]
            columns["probabilities"] = [dict(zip(names, row, strict=True)) for row in P.tolist()]
        yield _Verdicts(columns, len(texts), sum(map(len, texts)))


def _write_jsonl(target: Path, verdicts: Iterable[_Verdicts]) -> tuple[int, int]:
    rows = characters = 0
    with files.replacing(target) as stream:
        for some in verdicts:
            names = list(some.columns)
            for cells in zip(*some.columns.values(), strict=True):
                line = json.dumps(dict(zip(names, cells, strict=True)), ensure_ascii=False)
                stream.write(line.encode("utf-8", "surrogatepass") + b"\n")
            rows, characters = rows + some.rows, characters + some.characters
    return rows, characters


def _write_parquet(target: Path, verdicts: Iterable[_Verdicts]) -> tuple[int, int]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        msg = "writing Parquet needs pyarrow: pip install pyarrow, or ask for jsonl"
        raise InputError(msg) from None
    rows = characters = 0
    with files.replacing(target) as stream:
        writer = None
        for some in verdicts:
            columns = dict(some.columns)
            columns["label"] = [str(label) for label in columns["label"]]
            if "probabilities" in columns:
                by_row = columns.pop("probabilities")
                columns |= {f"p_{name}": [row[name] for row in by_row] for name in by_row[0]}
            table = pyarrow.table(columns)
            writer = writer or parquet.ParquetWriter(stream, table.schema)
            writer.write_table(table)
            rows, characters = rows + some.rows, characters + some.characters
        if writer is None:
            schema = {"source": pyarrow.string(), "label": pyarrow.string(), "probability": pyarrow.float64()}
            writer = parquet.ParquetWriter(stream, pyarrow.schema(schema))
        writer.close()
    return rows, characters
