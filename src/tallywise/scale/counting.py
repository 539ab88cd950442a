"""The first pass over shards, which every model needs: what is counted, what is held out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tallywise.reading import InputError, Layout, find_shards, layout_of, shard_size
from tallywise.scale.checkpoints import Checkpoints
from tallywise.scale.engines import Fleet
from tallywise.scale.jobs import Done, Features, Job, Path_, Progress, Report, grouped
from tallywise.scale.statistics import Statistics

_JUDGES = 20_000  # texts held out: enough for an error to a third of a percent


def planned(
    shards: Path_ | Iterable[Path_],
    features: Features,
    *,
    text: str | None,
    label: str | None,
    format: str | None,
    held_out: float | None,
    **settings: Any,
) -> tuple[Job, list[int]]:
    """A job on labelled texts (`settings` are fields of `Job`), and the sizes of its shards."""
    listed = find_shards(shards)
    sizes = [shard_size(shard) for shard in listed]
    layout, _ = layout_of(listed, text=text, label=label, format=format)
    share = held_out_share(held_out, listed, sizes, layout)
    return Job(tuple(listed), layout, features, held_out=share, groups=grouped(sizes), **settings), sizes


def count_shards(job: Job, fleet: Fleet, checkpoints: Checkpoints, report: Report) -> tuple[Statistics, list[Done]]:
    """Statistics of all shards, merged in their order, and what was said of each; or those of a run before."""
    saved = checkpoints.load("statistics")
    if saved is not None:
        data, meta = saved
        try:
            return Statistics.unpacked(data, job.features, job.events), [Done(*row) for row in meta["done"]]
        except (InputError, KeyError, TypeError) as error:
            msg = f"{checkpoints.folder} holds work that cannot be resumed ({error}): remove it, or do not resume"
            raise InputError(msg) from None
    progress = Progress("counting", len(job.shards))
    for done in fleet.each_shard("count"):
        progress.done.append(done)
        report(progress)
    statistics = Statistics(job.features, job.events)
    for packed in fleet.ask("statistics"):
        statistics.merge(Statistics.unpacked(packed, job.features, job.events))
    if checkpoints.folder is not None:
        checkpoints.save("statistics", statistics.packed(), {"done": [list(done) for done in sorted(progress.done)]})
    return statistics, progress.done


def held_out_share(
    wanted: float | None, shards: list[str], sizes: list[int], layout: Layout, *, labelled: bool = True
) -> float:
    """Share of the texts to hold out: as asked for, or about 20,000 texts and a sixteenth at most."""
    if wanted is not None:
        if not 0 <= wanted < 1:
            msg = f"held_out must be in [0, 1). Got {wanted}."
            raise ValueError(msg)
        return wanted
    for shard in shards:
        try:
            first = next(layout.pieces(shard, rows=1000, require_label=labelled), None)
        except InputError:
            continue
        if first is not None:
            mean = sum(len(text) for text in first.texts) / len(first.texts)
            wanted = _JUDGES * (mean + 8) / max(sum(sizes), 1)
            # A power of two: the same for the same rows, however they are cut into files.
            return float(2.0 ** min(-4, round(np.log2(wanted))))
    return 0.0
