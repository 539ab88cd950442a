"""What a job over shards is asked, and what it says while it runs: small values that travel to every worker."""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tallywise.reading import Layout

if TYPE_CHECKING:
    from tallywise.text_model.views import View

Path_ = str | os.PathLike[str]
Report = Callable[["Progress"], None]

# A text is held out when the hash of its characters falls into the share asked for: repeats of a text stay together,
# whichever shards they are in, and no worker has to ask another.
_HASHES = 1 << 32
_LEAF, _LEAVES = (
    8 << 20,
    64,
)  # bytes of shards that are added up one after the other, and into how many a small job is cut


@dataclass(frozen=True)
class Features:
    """How texts become counts, in terms of the vectorizers' parameters."""

    ngram_range: tuple[int, int] = (1, 2)
    analyzer: str = "word"
    min_df: float = 1
    max_features: int | None = None
    n_features: int | None = None
    deobfuscate: bool = False
    stop_words: Any = None
    frequencies: bool = True  # whether document frequencies are asked for where no vocabulary is cut by them

    def view(self) -> View:
        """How a text classifier cuts texts, on one thread: workers are as many as there are threads."""
        from tallywise.text_model.views import make_views

        made = make_views(
            self.analyzer,
            self.ngram_range,
            1,
            self.n_features,
            deobfuscate=self.deobfuscate,
            stop_words=self.stop_words,
            n_jobs=1,
        )
        return made[0]

    def vectorizer(self, vocabulary: list[str] | None = None) -> Any:
        """Counts of texts, in the columns of a vocabulary where one is given."""
        vectorizer: Any = self.view().vectorizer
        if vocabulary is not None and self.n_features is None:
            vectorizer.vocabulary_ = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
            vectorizer.fixed_vocabulary_ = False
        return vectorizer


@dataclass(frozen=True)
class Job:
    """A job as workers know it: how shards are read, what is counted, what is held out."""

    shards: tuple[str, ...]
    layout: Layout
    features: Features
    events: tuple[str, ...] = ()  # naive Bayes classes whose sums are wanted
    held_out: float = 0.0  # share of the texts that judge the model
    skip_bad: bool = False
    piece_rows: int = 1 << 14
    piece_characters: int = 1 << 21  # counts of a piece take some ten times as many bytes for a while
    groups: tuple[range, ...] = ()  # shards that are added up one after the other; none: each by itself

    @property
    def leaves(self) -> tuple[range, ...]:
        """Runs of shards whose sums are added up over a tree, whoever holds them."""
        return self.groups or tuple(range(k, k + 1) for k in range(len(self.shards)))

    def skipped(self, done: list[Done]) -> dict[str, str]:
        """Shards that could not be read, and why."""
        return {self.shards[one.shard]: one.problem for one in done if one.problem}

    def workers(self, engine: str) -> str:
        """Where it was done, and on how many shards."""
        return across(engine, len(self.shards))

    def is_held_out(self, text: str) -> bool:
        """Whether a text is among those that judge."""
        return zlib.crc32(text.encode("utf-8", "surrogatepass")) < self.held_out * _HASHES


def across(engine: str, shards: int) -> str:
    """Where it was done, and on how many shards."""
    return f"{engine}, {shards} shard{'s' * (shards > 1)}"


class Done(NamedTuple):
    """What a worker says of a shard it has finished."""

    shard: int
    rows: int
    characters: int
    seconds: float
    problem: str = ""  # why it was skipped, if it was


@dataclass
class Progress:
    """How far a job is, for whoever shows it."""

    stage: str
    shards: int
    done: list[Done] = field(default_factory=list)
    line: str = ""

    @property
    def rows(self) -> int:
        """Rows of the shards that are done."""
        return sum(done.rows for done in self.done)


def grouped(sizes: list[int]) -> tuple[range, ...]:
    """Consecutive runs of small shards: a sum over a shard is as long as the model, however few texts it has.

    A run ends at a sixty-fourth of all bytes, or at 8 MB. It depends on the shards alone, as the order of adding must.

    Examples
    --------
    >>> grouped([5, 3, 4])
    (range(0, 1), range(1, 2), range(2, 3))
    >>> len(grouped([1] * 1000))
    63
    """
    enough = min(_LEAF, sum(sizes) / _LEAVES)
    found, start, held = [], 0, 0
    for k, size in enumerate(sizes):
        held += size
        if held >= enough or k == len(sizes) - 1:
            found.append(range(start, k + 1))
            start, held = k + 1, 0
    return tuple(found)


def parts(sizes: list[int], workers: int) -> list[range]:
    """Consecutive runs of shards, one a worker, of sizes as even as consecutive runs can be.

    Examples
    --------
    >>> parts([5, 1, 1, 1, 4], 2)
    [range(0, 2), range(2, 5)]
    """
    n = len(sizes)
    workers = max(1, min(workers, n))
    passed = [0, *itertools.accumulate(max(size, 1) for size in sizes)]
    cuts = [0]
    for k in range(1, workers):
        due = passed[-1] * k / workers
        cuts.append(min(range(cuts[-1] + 1, n - workers + k + 1), key=lambda place: abs(passed[place] - due)))
    return [range(a, b) for a, b in zip(cuts, [*cuts[1:], n], strict=True)]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
