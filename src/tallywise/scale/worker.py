"""What one worker does: it reads its own shards and gives sums.

Every verb can be asked of a worker that has just been started again: whatever it lacks it makes anew from its shards
and the arguments, to the same bits. That is all there is to recovery; who restarts workers is the engine's business.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models import model_file
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError
from tallywise.scale.jobs import Done, Job
from tallywise.scale.statistics import Statistics
from tallywise.scale.trees import Node, Sum, node_sum, whole_nodes

Array = NDArray[np.float64]


class Worker:
    """Holder of some consecutive shards of a job."""

    def __init__(self, job: Job, start: int, stop: int) -> None:
        self.job, self.shards = job, range(start, stop)
        self._statistics = Statistics(job.features, job.events)
        self._done: dict[int, Done] = {}
        self._held: dict[int, list[tuple[str, str]]] = {}

    # --- counting ---

    def count(self, shard: int) -> Done:
        """Add the statistics of a shard to those of the worker, once."""
        if shard not in self._done:
            began = time.perf_counter()
            all_of_it = self._statistics
            rows, characters = all_of_it.rows, all_of_it.characters
            if self.job.skip_bad:  # a shard counts whole or not at all, so that it is counted apart
                own, problem = self._read_or_skip(shard)
                all_of_it.merge(own)
            else:
                problem = ""
                self._read(shard, all_of_it)
            took = time.perf_counter() - began
            self._done[shard] = Done(shard, all_of_it.rows - rows, all_of_it.characters - characters, took, problem)
        return self._done[shard]

    def _read_or_skip(self, shard: int) -> tuple[Statistics, str]:
        """Read a shard for its held-out texts; its statistics, and why it was skipped if it was."""
        own = Statistics(self.job.features, self.job.events)
        try:
            self._read(shard, own)
        except InputError as error:
            if not self.job.skip_bad:
                raise
            self._held[shard] = []
            return Statistics(self.job.features, self.job.events), str(error)
        return own, ""

    def _read(self, shard: int, own: Statistics) -> None:
        held_texts: list[tuple[str, str]] = []
        for texts, labels, held in self._pieces(shard):
            own.add(texts, labels, held)
            held_texts += [(texts[i], labels[i]) for i in np.flatnonzero(held)]
        self._held[shard] = held_texts

    def _pieces(self, shard: int) -> Iterator[tuple[list[str], list[str], NDArray[np.bool_]]]:
        name, job = self.job.shards[shard], self.job
        pieces = job.layout.pieces(name, rows=job.piece_rows, characters=job.piece_characters, require_label=True)
        for texts, found, _ in pieces:
            labels = [sys.intern(label) for label in found if label is not None]  # one of each is kept, not one a row
            held = np.zeros(len(texts), dtype=bool)
            if job.held_out > 0:
                held = np.fromiter(map(job.is_held_out, texts), dtype=bool, count=len(texts))
            yield texts, labels, held

    def statistics(self) -> bytes:
        """The sums over all of the worker's shards, packed. It keeps none of them: asked again, it counts again.

        An answer can be lost on its way from a worker that lives on, and is then asked for once more.
        """
        for shard in self.shards:
            self.count(shard)
        found = self._statistics.packed()
        self._statistics = Statistics(self.job.features, self.job.events)
        self._done.clear()
        return found

    # --- judging ---

    def judge(self, model: bytes, probabilities: bool) -> list[tuple[NDArray[Any], Array]]:
        """True classes by number and scores (or probabilities) of the texts that judge, a shard at a time.

        The model comes in the form of its file.
        """
        scorer = TextModel(model_file.parse(model))
        places = {str(label): k for k, label in enumerate(scorer.classes)}
        kind = np.min_scalar_type(len(places))
        found = []
        for shard in self.shards:
            if shard not in self._held:
                self._read_or_skip(shard)
            held = self._held[shard]
            texts = [text for text, _ in held]
            judged = scorer.predict_proba if probabilities else scorer.scores
            scores = judged(texts, 1) if texts else np.zeros((0, 1))
            found.append((np.array([places[label] for _, label in held], dtype=kind), scores))
        return found

    def held_texts(self, places: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Some of the texts that judge, by shard and number: those of the worker's own shards."""
        found = {}
        for shard, i in places:
            if shard in self.shards:
                if shard not in self._held:
                    self._read_or_skip(shard)
                found[shard, i] = self._held[shard][i][0]
        return found

    def _tree(self, leaf: Callable[[range], Sum | None]) -> dict[Node, Sum | None]:
        """Sums over the largest subtrees of which the worker holds all leaves, which are runs of shards."""
        leaves = self.job.leaves
        own = [k for k, shards in enumerate(leaves) if shards[0] in self.shards]
        held, n = range(own[0], own[-1] + 1), len(leaves)
        return {node: node_sum(node, lambda k: leaf(leaves[k]), n) for node in whole_nodes(held, n)}
