"""What one worker does for topics: it reads its own shards, keeps their counts, and gives sums over documents."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _native
from tallywise.reading import InputError
from tallywise.scale.jobs import Features, Job
from tallywise.scale.trees import Node, Sum, added
from tallywise.scale.worker import Worker
from tallywise.text import CountVectorizer
from tallywise.text_model.views import View
from tallywise.topics import expectation_maximisation
from tallywise.topics.expectation_maximisation import TopicState

Array = NDArray[np.float64]
Sample = tuple[NDArray[np.uint32], Any]


@dataclass(frozen=True)
class TopicFeatures(Features):
    """Words alone, as `CountVectorizer` cuts them by default: punctuation has no topic."""

    def view(self) -> View:
        """How texts are cut, on one thread."""
        vectorizer = CountVectorizer(ngram_range=self.ngram_range, stop_words=self.stop_words, n_jobs=1)
        return View("words", vectorizer)


@dataclass(frozen=True)
class TopicVocabulary:
    """The vocabulary, sorted, as UTF-8 and where each term begins. Travels by reference."""

    terms: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class TopicWorker(Worker):
    """Holder of some consecutive shards of texts without labels."""

    def __init__(self, job: Job, start: int, stop: int) -> None:
        super().__init__(job, start, stop)
        self._documents: dict[int, list[Sample]] = {}

    def _pieces(self, shard: int) -> Iterator[tuple[list[str], list[str], NDArray[np.bool_]]]:
        job = self.job
        for texts, _, _ in job.layout.pieces(job.shards[shard], rows=job.piece_rows):
            held = np.fromiter(map(job.is_held_out, texts), dtype=bool, count=len(texts))
            yield texts, [""] * len(texts), held

    def sample(self, columns: TopicVocabulary, size: int) -> Sample:
        """The learned documents whose texts have the smallest hashes, in the order of those: hashes and counts."""
        found: Sample = (np.empty(0, dtype=np.uint32), sp.csr_matrix((0, len(columns.offsets) - 1)))
        for shard in self.shards:
            found = smallest([found, *self._learned(columns, shard)], size)
        return found

    def topic_sums(self, columns: TopicVocabulary, state: TopicState) -> dict[Node, Sum | None]:
        """Sums over the learned documents of all shards."""

        def leaf(shards: range) -> Sum | None:
            found: Sum | None = None
            for shard in shards:
                for _, X in self._learned(columns, shard):
                    found = added(found, expectation_maximisation.document_sums(X, state))
            return found

        return self._tree(leaf)

    def completion(self, columns: TopicVocabulary, state: TopicState, seed: int) -> list[tuple[Array, Array]]:
        """Log likelihoods and tokens of the held-out documents, a shard at a time."""
        found = []
        for shard in self.shards:
            if shard not in self._held:
                self._read_or_skip(shard)
            texts = [text for text, _ in self._held[shard]]
            if texts:
                X = self._vectorizer_of(columns).transform(texts)
                found.append(expectation_maximisation.completion_sums(X, state, (seed, shard)))
        return found

    def _learned(self, columns: TopicVocabulary, shard: int) -> list[Sample]:
        """Hashes and counts of the learned documents of a shard, made once."""
        if shard not in self._documents:
            vectorizer = self._vectorizer_of(columns)
            blocks: list[Sample] = []
            try:
                for texts, _, held in self._pieces(shard):
                    learned = [text for text, apart in zip(texts, held.tolist(), strict=True) if not apart]
                    if learned:
                        hashes = (zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in learned)
                        X = vectorizer.transform(learned).astype(np.float64)
                        blocks.append((np.fromiter(hashes, dtype=np.uint32, count=len(learned)), X))
            except InputError:
                if not self.job.skip_bad:
                    raise
                blocks = []
            self._documents[shard] = blocks
        return self._documents[shard]

    def _vectorizer_of(self, columns: TopicVocabulary) -> Any:
        return self.job.features.vectorizer(_native.decode_terms(columns.terms, columns.offsets))


def smallest(samples: list[Sample], size: int) -> Sample:
    """The documents of the smallest hashes among samples, those of equal hashes as they come."""
    hashes = np.concatenate([hashes for hashes, _ in samples])
    order = np.argsort(hashes, kind="stable")[:size]
    return hashes[order], sp.vstack([X for _, X in samples], format="csr")[order]
