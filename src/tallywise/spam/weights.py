"""The weights of a filter: a function of its journal, kept up to date, computed again where an entry was taken out."""

import threading
from typing import Any

from tallywise._native import SpamCounts, SpamFeatures, SpamLearner
from tallywise.errors import TallywiseError
from tallywise.spam.journal import Entry, Errors, Journal
from tallywise.spam.journal_store import JournalStore

MODELS: dict[str, Any] = {"online": SpamLearner, "naive_bayes": SpamCounts}

SNAPSHOT_EVERY = 1000
SNAPSHOT_TAIL = 256  # entries that are replayed when a file is opened rather than written out when it is closed
BATCH = 500


class Weights:
    """A learner, equal at all times to one that learned the entries of the journal in order.

    Parameters
    ----------
    journal : Journal
        What was learned.
    model : str
        A name of `MODELS`.
    lock : RLock
        Held by whoever calls; taken by the thread that computes weights again.
    read_only : bool
        Whether snapshots may not be written.

    Attributes
    ----------
    learner : SpamLearner or SpamCounts
    spam : int
        Spam among the messages learned.
    exact : bool
        Whether the weights are those of a filter that never saw what was taken out.
    """

    def __init__(self, journal: Journal, model: str, lock: threading.RLock, *, read_only: bool) -> None:
        self._journal, self.model, self._lock, self._read_only = journal, model, lock, read_only
        self._store = journal if isinstance(journal, JournalStore) else None
        self._rebuilding: threading.Thread | None = None
        self._failure: TallywiseError | None = None  # of the last rebuild
        self.learner: Any
        self.load()

    @property
    def ham(self) -> int:
        """Ham among the messages learned."""
        return int(self.learner.learned) - self.spam

    def load(self) -> None:
        """Weights from the snapshot and the entries behind it; from all entries where it is of another generation."""
        with self._journal.reading():
            self.spam, self._last, self.exact = 0, 0, True
            self._kept, self._kept_generation = 0, -1
            self._generation = 0 if self._store is None else self._store.generation
            make = MODELS[self.model]
            snapshot = None if self._store is None else self._store.snapshot(make)
            self.learner = make() if snapshot is None else snapshot.learner
            if snapshot is not None:
                self._last = self._kept = snapshot.upto
                self._kept_generation = self._generation
            before = 0 if snapshot is None else snapshot.entries
            behind = self._learn_tail()
            found, messages = (before or 0) + behind, int(self.learner.learned)
            if self._store is not None and before is not None and found != messages:
                self._store.damaged(f"{found} entries were found where {messages} were learned")

    def _learn_tail(self) -> int:
        """Learn the entries behind the last one; returns how many there were."""
        # Most messages changed no weight. Who writes learns these too: their errors may be of weights that were not
        # exact, until the process that appended them has put that right.
        changes = self._store is not None and self._read_only and self._kept_generation == self._generation
        self._last, found = self._learn_entries(self.learner, self._last, changes=changes)
        messages, self.spam = self._journal.counts()
        self.learner.count(messages, self.spam)
        return found

    def _learn_entries(self, learner: Any, last: int, *, changes: bool = False) -> tuple[int, int]:
        """Learn entries behind `last`, with `changes` those that changed weights; the last, and how many were read."""
        found = 0
        while batch := self._journal.entries(last, BATCH, changes=changes):
            for entry, code in batch:
                if not changes or any(entry.errors):
                    learner.learn(SpamFeatures.decode(code), entry.spam)
                last = entry.id
            found += len(batch)
        return last, found

    def catch_up(self) -> bool:
        """Learn what other processes wrote to the same file; returns whether anything had to be loaded anew."""
        if self._store is None or not self._store.changed_by_others():
            return False
        if self._store.generation != self._generation:
            self.load()
            return True
        self._learn_tail()
        return False

    def learned(self, id: int, spam: bool) -> None:
        """Take note that the learner has learned the entry `id`."""
        self._last = id
        self.spam += spam

    def take_out(self, entry: Entry) -> None:
        """Take an entry's update back, as far as that goes at once; the entry leaves the journal."""
        features = SpamFeatures.decode(self._journal.features(entry.id))
        self.learner.take_back(features, entry.spam, list(entry.errors))
        self._journal.remove(entry.digest)
        self.spam -= entry.spam
        if any(entry.errors):
            self._generation += 1
            self.exact = self.exact and self.model == "naive_bayes"  # counts are taken back exactly

    def rebuild(self) -> None:
        """Compute the weights and the errors of all entries again."""
        self.exact = False
        self.settle()

    def settle(self) -> None:
        """Wait until the weights are exact."""
        while not self.exact:
            self.rebuild_later()
            thread = self._rebuilding
            if thread is not None:
                thread.join()
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure

    def rebuild_later(self) -> None:
        """Compute the weights again, in a thread, where they are not exact."""
        with self._lock:
            if self._rebuilding is None and not self.exact:
                self._rebuilding = threading.Thread(target=self._rebuild, name="tallywise-spam-replay", daemon=True)
                self._rebuilding.start()

    def _rebuild(self) -> None:
        """Replay the journal beside the weights in use, then put the result in their place."""
        try:
            while not self.exact:
                generation, learner, last = self._generation, MODELS[self.model](), 0
                changed: list[Entry] = []
                while generation == self._generation:
                    with self._lock:
                        batch = self._journal.entries(last, BATCH)
                        if not batch:
                            if generation == self._generation:
                                with self._journal.writing():
                                    self._journal.set_errors(changed)
                                self.learner, self._last, self.exact = learner, last, True
                                self.keep_snapshot(SNAPSHOT_TAIL)
                            break
                    for entry, code in batch:
                        errors = three(learner.learn(SpamFeatures.decode(code), entry.spam))
                        if errors != entry.errors:
                            changed.append(entry._replace(errors=errors))
                        last = entry.id
        except TallywiseError as error:
            self._failure = error  # said by `settle`; until a later rebuild, verdicts come from the weights there are
        finally:
            self._rebuilding = None

    def keep_snapshot(self, behind: int) -> None:
        """Write the weights out when so many entries were learned since that was last done."""
        if self._store is None or self._read_only or not self.exact:
            return
        # One of another generation is of no use: whoever opens the file would have to learn all entries again.
        useless = self._kept_generation != self._generation and self._last >= behind
        if useless or self._last - self._kept >= behind:
            self._store.put_snapshot(self._last, self._generation, self.learner.state())
            self._kept, self._kept_generation = self._last, self._generation

    def differ(self) -> bool:
        """Whether the weights are others than those of the journal."""
        learner: Any = MODELS[self.model]()
        self._learn_entries(learner, 0)
        return self.exact and learner.state() != self.learner.state()


def three(errors: list[float]) -> Errors:
    """The errors of the three views as the journal has them."""
    first, second, third = errors
    return first, second, third
