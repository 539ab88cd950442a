"""What one worker does: it reads its own shards, keeps their rows, and gives sums.

Every verb can be asked of a worker that has just been started again: whatever it lacks it makes anew from its shards
and the arguments, to the same bits. That is all there is to recovery; who restarts workers is the engine's business.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _native
from tallywise.models import model_file
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError
from tallywise.scale.jobs import Done, Job
from tallywise.scale.statistics import Statistics
from tallywise.scale.trees import Node, Sum, node_sum, whole_nodes
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ShardProblem:
    """What is fitted to the rows of all shards: columns, their weighting, the loss.

    Travels by reference; equal keys stand for equal problems.
    """

    key: str
    terms: NDArray[np.uint8]  # the vocabulary, sorted, and where each term begins; empty where columns are hashes
    offsets: NDArray[np.int64]
    tf: str
    norm: str
    scale: Array  # one a column
    classes: tuple[str, ...]
    loss: str
    parameter: float = 0.0
    class_weight: tuple[float, ...] = ()  # one a class; none stands for ones
    held_out_too: bool = True  # whether the texts that judge are learned, too

    @property
    def weighting(self) -> Weighting:
        """Counts to features."""
        return Weighting(self.tf, self.norm, self.scale)


class Point(NamedTuple):
    """Weights by name, so that scores are worked out once a point."""

    key: str
    W: Array


class ShardBlock(NamedTuple):
    """Some rows of a shard, as a design."""

    rows: Any  # _native.ShardRows
    held: NDArray[np.bool_]
    s: Array  # weights of the rows


class Worker:
    """Holder of some consecutive shards of a job."""

    def __init__(self, job: Job, start: int, stop: int) -> None:
        self.job, self.shards = job, range(start, stop)
        self._statistics = Statistics(job.features, job.events)
        self._done: dict[int, Done] = {}
        self._held: dict[int, list[tuple[str, str]]] = {}
        self._kept: dict[int, list[tuple[Any, list[str], NDArray[np.bool_]]]] = {}
        self._blocks: dict[int, list[ShardBlock]] = {}
        self._problem = ""
        self._weighed = True
        self._at: dict[int, str] = {}
        self._towards: dict[int, str] = {}

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
        """Read a shard for its held-out texts and kept rows; its statistics, and why it was skipped if it was."""
        own = Statistics(self.job.features, self.job.events)
        try:
            self._read(shard, own)
        except InputError as error:
            if not self.job.skip_bad:
                raise
            self._held[shard], self._kept[shard] = [], []
            return Statistics(self.job.features, self.job.events), str(error)
        return own, ""

    def _read(self, shard: int, own: Statistics) -> None:
        held_texts: list[tuple[str, str]] = []
        kept = []
        for texts, labels, held in self._pieces(shard):
            X = own.add(texts, [""] * len(texts) if self.job.numbers else labels, held)
            held_texts += [(texts[i], labels[i]) for i in np.flatnonzero(held)]
            if self.job.keep_rows:
                kept.append((X.astype(np.float64), labels, held))
        self._held[shard], self._kept[shard] = held_texts, kept

    def _pieces(self, shard: int) -> Iterator[tuple[list[str], list[str], NDArray[np.bool_]]]:
        name, job = self.job.shards[shard], self.job
        pieces = job.layout.pieces(name, rows=job.piece_rows, characters=job.piece_characters, require_label=True)
        for texts, found, _ in pieces:
            labels = [sys.intern(label) for label in found if label is not None]  # one of each is kept, not one a row
            if job.numbers:
                _targets(labels, name)
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

    def held_predictions(self, problem: ShardProblem, point: Point, b: Array) -> list[tuple[Array, Array]]:
        """Numbers of the texts that judge, and what one lane of weights predicts for them, a shard at a time."""
        vectorizer, found = self._vectorizer(problem), []
        for shard in self.shards:
            if shard not in self._held:
                self._read_or_skip(shard)
            y = _targets([label for _, label in self._held[shard]], self.job.shards[shard])
            z = np.zeros(0)
            if len(y):
                X = problem.weighting.apply(vectorizer.transform([text for text, _ in self._held[shard]]))
                z = X @ point.W[:, 0] + b[0]
            found.append((y, z))
        return found

    # --- linear models ---

    def build(self, problem: ShardProblem, shard: int) -> Done:
        """Make the design of a shard, once."""
        began = time.perf_counter()
        blocks = self._design(problem, shard)
        rows = sum(len(block.held) for block in blocks)
        return Done(shard, rows, 0, time.perf_counter() - began)

    def _design(self, problem: ShardProblem, shard: int) -> list[ShardBlock]:
        if self._problem != problem.key:
            self._blocks.clear()
            self._problem, self._weighed = problem.key, True
            self._at.clear()
            self._towards.clear()
        if shard not in self._blocks:
            blocks = []
            try:
                for X, labels, held in self._counted(problem, shard):
                    y = _targets(labels, self.job.shards[shard]) if self.job.numbers else _codes(problem, labels)
                    blocks.append(_block(problem, X, y, held))
            except InputError:
                if not self.job.skip_bad:
                    raise
                blocks = []
            self._blocks[shard] = blocks
            if not self._weighed:
                _weigh(blocks, False)
        if self._weighed != problem.held_out_too:
            for some in self._blocks.values():
                _weigh(some, problem.held_out_too)
            self._weighed = problem.held_out_too
        return self._blocks[shard]

    def _counted(self, problem: ShardProblem, shard: int) -> Iterator[tuple[Any, list[str], NDArray[np.bool_]]]:
        if self.job.keep_rows:
            if shard not in self._kept:
                self._read_or_skip(shard)
            kept = self._kept.pop(shard)[::-1]  # should the rows be asked for again, they are read again
            while kept:
                yield kept.pop()  # what is weighed is not held twice
            return
        vectorizer = self._vectorizer(problem)
        for texts, labels, held in self._pieces(shard):
            yield vectorizer.transform(texts), labels, held

    def _vectorizer(self, problem: ShardProblem) -> Any:
        if self.job.features.n_features is not None:
            return self.job.features.vectorizer()
        terms = _native.decode_terms(problem.terms, problem.offsets)
        return self.job.features.vectorizer(terms)

    def offset_sums(
        self, problem: ShardProblem, point: Point, towards: Point | None, t: float, b: Array, derivatives: bool
    ) -> dict[Node, Sum | None]:
        """Sums of the loss at scores X (W + t D) + b, of its slope and of its curvature by b."""

        def leaf(shards: range) -> Sum | None:
            found: Sum | None = None
            for shard in shards:
                blocks = self._at_point(problem, point, shard)
                if towards is not None and self._towards.get(shard) != towards.key:
                    for block in blocks:
                        block.rows.aim(towards.W)
                    self._towards[shard] = towards.key
                for block in blocks:
                    value, slope, curvature = block.rows.offset_sums(b, t, derivatives)
                    found = _plus(found, (np.array([value]), slope, curvature))
            return found

        return self._tree(leaf)

    def gradient(self, problem: ShardProblem, point: Point, b: Array) -> dict[Node, Sum | None]:
        """Sums of X' dl/dz and of the conjugates."""

        def leaf(shards: range) -> Sum | None:
            blocks = [block for shard in shards for block in self._at_point(problem, point, shard)]
            G, conjugates = np.zeros_like(point.W), np.zeros(1)
            for block in blocks:
                conjugates += block.rows.gradient(b, G)
            return (G, conjugates) if blocks else None

        return self._tree(leaf)

    def product(self, problem: ShardProblem, point: Point, b: Array, D: Array, e: Array) -> dict[Node, Sum | None]:
        """Sums of the Hessian's products with a direction (D, e)."""

        def leaf(shards: range) -> Sum | None:
            blocks = [block for shard in shards for block in self._at_point(problem, point, shard)]
            H, q = np.zeros_like(D), np.zeros_like(e)
            for block in blocks:
                block.rows.product(b, D, e, H, q)
            return (H, q) if blocks else None

        return self._tree(leaf, short=True)

    def diagonal(self, problem: ShardProblem, point: Point, b: Array) -> dict[Node, Sum | None]:
        """Sums of the Hessian's diagonal."""

        def leaf(shards: range) -> Sum | None:
            blocks = [block for shard in shards for block in self._at_point(problem, point, shard)]
            d = np.zeros_like(point.W)
            for block in blocks:
                block.rows.diagonal(b, d)
            return (d,) if blocks else None

        return self._tree(leaf, short=True)

    def _at_point(self, problem: ShardProblem, point: Point, shard: int) -> list[ShardBlock]:
        blocks = self._design(problem, shard)
        if self._at.get(shard) != point.key:
            for block in blocks:
                block.rows.move(point.W)
            self._at[shard] = point.key
            self._towards.pop(shard, None)
        return blocks

    def _tree(self, leaf: Callable[[range], Sum | None], short: bool = False) -> dict[Node, Sum | None]:
        """Sums over the largest subtrees of which the worker holds all leaves, which are runs of shards."""
        leaves = self.job.leaves
        own = [k for k, shards in enumerate(leaves) if shards[0] in self.shards]
        held, n = range(own[0], own[-1] + 1), len(leaves)
        return {node: node_sum(node, lambda k: leaf(leaves[k]), n, short) for node in whole_nodes(held, n)}

    # --- about itself ---

    def memory(self) -> dict[str, int]:
        """Bytes of its designs, and the most that its process has held."""
        import resource

        design = sum(block.rows.nbytes for blocks in self._blocks.values() for block in blocks)
        return {"design": design, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, "pid": os.getpid()}


def _plus(a: Sum | None, b: Sum) -> Sum:
    if a is None:
        return b
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _codes(problem: ShardProblem, labels: list[str]) -> Array:
    """Classes as numbers."""
    places = {label: k for k, label in enumerate(problem.classes)}
    return np.fromiter((places[label] for label in labels), dtype=np.float64, count=len(labels))


def _targets(labels: list[str], shard: str) -> Array:
    """Labels that are numbers."""
    try:
        y = np.array(labels, dtype=np.float64)
    except ValueError:
        y = np.full(len(labels), np.nan)
    if np.isfinite(y).all():
        return y
    wrong = next(label for label in labels if not _is_number(label))
    msg = f"{shard}: the label {wrong!r} is not a number, which a regression needs"
    raise InputError(msg)


def _is_number(label: str) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except ValueError:
        return False


def _block(problem: ShardProblem, X: Any, y: Array, held: NDArray[np.bool_]) -> ShardBlock:
    features = problem.weighting.apply(X, copy=False)  # the counts are not asked for again
    s = np.array(problem.class_weight)[y.astype(np.intp)] if problem.class_weight else np.ones(len(y))
    rows = _native.ShardRows(_arrays.rows(features), problem.loss, problem.parameter, len(problem.classes), y, s)
    return ShardBlock(rows, held, s)


def _weigh(blocks: list[ShardBlock], held_out_too: bool) -> None:
    for block in blocks:
        block.rows.weigh(block.s if held_out_too else np.where(block.held, 0.0, block.s))
