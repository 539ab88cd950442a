"""The weights of a filter: a function of its journal, kept up to date, computed again where an entry was taken out."""

import threading
from typing import Any

from tallywise._native import SpamCounts, SpamFeatures, SpamLearner, SpamRehearsal
from tallywise.errors import TallywiseError
from tallywise.spam.journal import Entry, Errors, Journal
from tallywise.spam.journal_store import JournalStore

MODELS: dict[str, Any] = {"online": SpamLearner, "naive_bayes": SpamCounts}

SNAPSHOT_EVERY = 1000
SNAPSHOT_TAIL = 256  # entries that are replayed when a file is opened rather than written out when it is closed
BATCH = 500


class Learning:
    """A learner, and how far along the journal it is.

    Parameters
    ----------
    journal : Journal
        What is learned.
    learner : SpamLearner or SpamCounts
        The weights after entry `last`.
    last : int
        Number of that entry.
    rehearsed : tuple of int
        Messages of one class in a row up to there (ham below 0), and the entries of ham and of spam last learned again.
    """

    def __init__(
        self, journal: Journal, learner: Any, last: int = 0, rehearsed: tuple[int, int, int] = (0, 0, 0)
    ) -> None:
        self._journal, self.learner, self.last = journal, learner, last
        self._rule = SpamRehearsal()
        self._rule.run, *self._again = rehearsed

    @property
    def rehearsed(self) -> tuple[int, int, int]:
        """What a snapshot keeps beside the weights."""
        return self._rule.run, self._again[False], self._again[True]

    def passed(self, id: int, spam: bool) -> None:
        """Take note that entry `id` was learned, and learn an entry of the other class again where that is due."""
        self.last = id
        if not self.learner.rehearses or not self._rule.due(spam):
            return
        other = self._journal.next_of(not spam, self._again[not spam], id)
        if other is not None:
            self._again[not spam] = other
            self.learner.rehearse(SpamFeatures.decode(self._journal.features(other)), not spam)

    def behind(self, *, changes: bool = False) -> int:
        """Learn all entries behind the last, with `changes` those that changed weights; returns how many there were."""
        found = 0
        while batch := self._journal.entries(self.last, BATCH, changes=changes):
            for entry, code in batch:
                if not changes or any(entry.errors):
                    self.learner.learn(SpamFeatures.decode(code), entry.spam)
                self.passed(entry.id, entry.spam)
            found += len(batch)
        return found


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
        self.load()

    @property
    def learner(self) -> Any:
        """The weights in use."""
        return self._learning.learner

    @property
    def ham(self) -> int:
        """Ham among the messages learned."""
        return int(self.learner.learned) - self.spam

    def load(self) -> None:
        """Weights from the snapshot and the entries behind it; from all entries where it is of another generation."""
        with self._journal.reading():
            self.spam, self.exact = 0, True
            self._kept, self._kept_generation = 0, -1
            self._generation = 0 if self._store is None else self._store.generation
            make = MODELS[self.model]
            snapshot = None if self._store is None else self._store.snapshot(make)
            if snapshot is None:
                self._learning = Learning(self._journal, make())
            else:
                self._learning = Learning(self._journal, snapshot.learner, snapshot.upto, snapshot.rehearsed)
                self._kept, self._kept_generation = snapshot.upto, self._generation
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
        found = self._learning.behind(changes=changes)
        messages, self.spam = self._journal.counts()
        self.learner.count(messages, self.spam)
        return found

    def catch_up(self) -> bool:
        """Learn what other processes wrote to the same file; returns whether they wrote anything."""
        if self._store is None or not self._store.changed_by_others():
            return False
        if self._store.generation != self._generation:
            self.load()
        else:
            self._learn_tail()
        return True

    def learned(self, id: int, spam: bool) -> None:
        """Take note that the learner has learned the entry `id`."""
        self._learning.passed(id, spam)
        self.spam += spam

    def take_out(self, entry: Entry) -> None:
        """Take an entry's update back, as far as that goes at once; the entry leaves the journal."""
        features = SpamFeatures.decode(self._journal.features(entry.id))
        self.learner.take_back(features, entry.spam, list(entry.errors))
        self._journal.remove(entry.digest)
        self.spam -= entry.spam
        # One that changed no weight itself decided what was learned again.
        self._generation += 1
        self.exact = self.exact and not self.learner.rehearses  # counts are taken back exactly

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
                generation, learning = self._generation, Learning(self._journal, MODELS[self.model]())
                changed: list[Entry] = []
                while generation == self._generation:
                    with self._lock:
                        batch = self._journal.entries(learning.last, BATCH)
                        if not batch:
                            if generation == self._generation:
                                with self._journal.writing():
                                    self._journal.set_errors(changed)
                                self._learning, self.exact = learning, True
                                self.keep_snapshot(SNAPSHOT_TAIL)
                            break
                    for entry, code in batch:
                        errors = three(learning.learner.learn(SpamFeatures.decode(code), entry.spam))
                        if errors != entry.errors:
                            changed.append(entry._replace(errors=errors))
                        with self._lock:
                            if generation != self._generation:
                                break
                            learning.passed(entry.id, entry.spam)
        except TallywiseError as error:
            self._failure = error  # said by `settle`; until a later rebuild, verdicts come from the weights there are
        finally:
            self._rebuilding = None

    def keep_snapshot(self, behind: int) -> None:
        """Write the weights out when so many entries were learned since that was last done."""
        if self._store is None or self._read_only or not self.exact:
            return
        # One of another generation is of no use: whoever opens the file would have to learn all entries again.
        last = self._learning.last
        useless = self._kept_generation != self._generation and last >= behind
        if useless or last - self._kept >= behind:
            self._store.put_snapshot(last, self._generation, self._learning.rehearsed, self.learner.state())
            self._kept, self._kept_generation = last, self._generation

    def differ(self) -> bool:
        """Whether the weights are others than those of the journal."""
        learning = Learning(self._journal, MODELS[self.model]())
        learning.behind()
        return self.exact and learning.learner.state() != self.learner.state()


def three(errors: list[float]) -> Errors:
    """The errors of the three views as the journal has them."""
    first, second, third = errors
    return first, second, third
