"""`classify`: a model file and shards in, one file of verdicts per shard out."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallywise import files
from tallywise.models import model_file
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError, find_shards, input_files, layout_of
from tallywise.scale.engines import connect
from tallywise.scale.jobs import Done, Path_, Progress
from tallywise.scale.shard_predictions import Task, classify_shard

KINDS = ("jsonl", "parquet")
_NOTE = "_verdicts.json"  # whose verdicts a folder holds


@dataclass(frozen=True)
class Scoring:
    """What a scoring over shards has brought: files of verdicts, in the order of the shards."""

    outputs: list[str]
    rows: int
    skipped: dict[str, str]  # shards that could not be read, and why
    kept: int  # shards whose verdicts were there already
    workers: str
    bytes_moved: int  # between driver and workers
    seconds: float
    slowest: list[Done]


def classify(
    model: Path_,
    shards: Path_ | Iterable[Path_],
    output: Path_,
    *,
    ray: str | None = None,
    workers: int | None = None,
    text: str | None = None,
    format: str | None = None,
    kind: str | None = None,
    probabilities: bool = False,
    skip_bad: bool = False,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Scoring:
    r"""Classify the texts of shards; each shard's verdicts go to a file of their own.

    A file of verdicts takes its place when it is complete, so that an interrupted run leaves whole files only.

    Parameters
    ----------
    model : path
        A model file.
    shards : path, glob, or list of them
        What `tallywise.reading.find_shards` takes.
    output : path
        Folder of the verdicts: local, or shared by all machines.
    ray, workers, text, format, skip_bad, progress
        As for `train`.
    kind : {'jsonl', 'parquet'}, optional
        Of the verdicts; by default Parquet for shards of Parquet and JSONL for others.
    probabilities : bool
        Every class's probability, too.
    resume : bool
        Leave shards alone whose verdicts, by this very model, are there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise import TextClassifier
    >>> from tallywise.scale import classify
    >>> texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = TextClassifier("multinomial_nb", cv=2).fit(texts, labels).save(folder + "/m.tally")
    ...     _ = pathlib.Path(folder, "a.csv").write_text("text\na prize\nlunch\n")
    ...     done = classify(folder + "/m.tally", folder + "/*.csv", folder + "/out", workers=1)
    ...     print(pathlib.Path(done.outputs[0]).name, done.rows)
    a.jsonl 2
    """
    began = time.perf_counter()
    if kind is not None and kind not in KINDS:
        msg = f"kind must be one of {', '.join(KINDS)}. Got {kind!r}."
        raise ValueError(msg)
    data = Path(model).read_bytes()
    TextModel(model_file.parse(data, model), os.fspath(model))  # damaged files are refused here, not by each worker
    listed = find_shards(shards)
    layout, _ = layout_of(listed, text=text, format=format, labelled=False)
    layout = layout._replace(label=None)
    folder = Path(output)
    targets = _targets(listed, folder, kind)
    files.refuse_overwrite([*targets, folder / _NOTE], [os.fspath(model), *input_files(listed)])
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()
    _claim(folder, {"model": digest, "probabilities": probabilities, "text": layout.text}, resume)
    waiting = [k for k in range(len(listed)) if not (resume and targets[k].exists())]
    told = Progress("classifying", len(listed))
    told.done += [Done(k, 0, 0, 0.0) for k in range(len(listed)) if k not in set(waiting)]
    kept = len(told.done)
    engine = connect(ray, workers, len(waiting))
    try:
        task = Task(data, digest, layout, probabilities, skip_bad)
        for done in engine.map(classify_shard, ((k, listed[k], str(targets[k])) for k in waiting), task):
            told.done.append(done)
            if progress is not None:
                progress(told)
    finally:
        engine.close()
    skipped = {listed[done.shard]: done.problem for done in told.done if done.problem}
    outputs = [str(target) for shard, target in zip(listed, targets, strict=True) if shard not in skipped]
    title = f"{engine.title}, {len(listed)} shard{'s' * (len(listed) > 1)}"
    slowest = sorted(told.done, key=lambda done: -done.seconds)[:3]
    return Scoring(outputs, told.rows, skipped, kept, title, engine.bytes_moved, time.perf_counter() - began, slowest)


def _claim(folder: Path, note: dict[str, Any], resume: bool) -> None:
    """Note whose verdicts a folder holds; refuse to mix those of two models."""
    path = folder / _NOTE
    if resume and path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found != note:
            msg = f"{folder} holds verdicts of another model or other options: use another folder, or no --resume"
            raise InputError(msg)
    with files.replacing(path) as stream:
        stream.write(json.dumps(note).encode())


def _targets(shards: list[str], folder: Path, kind: str | None) -> list[Path]:
    """A file a shard, named for it; the names of shards in several folders get a mark of their path."""
    stems = []
    for shard in shards:
        name = shard.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1]
        stems.append(name.split(".", 1)[0] if not name.startswith(".") else name)
    folded = [stem.casefold() for stem in stems]  # some file systems do not tell A from a
    found = []
    for shard, stem in zip(shards, stems, strict=True):
        own = stem if folded.count(stem.casefold()) == 1 else f"{stem}-{hashlib.sha256(shard.encode()).hexdigest()[:8]}"
        ending = kind or ("parquet" if shard.lower().endswith(".parquet") else "jsonl")
        found.append(folder / f"{own}.{ending}")
    return found
