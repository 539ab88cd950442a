"""`SpamFilter`: scores, learns, forgets and explains mail, one message at a time."""

import bisect
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tallywise import _threads
from tallywise._native import SpamFeatures, spam_features
from tallywise.spam.identity import digest_of
from tallywise.spam.journal import Journal, MemoryJournal
from tallywise.spam.journal_store import JournalStore
from tallywise.spam.scoring import Scoring
from tallywise.spam.verdict import Forgotten, Label, Learned, is_spam
from tallywise.spam.weights import BATCH, MODELS, SNAPSHOT_EVERY, SNAPSHOT_TAIL, Weights, three

if TYPE_CHECKING:  # loaded where they are needed: few filters have a prior
    from tallywise.spam import export_and_import, prior


class SpamFilter(Scoring):
    r"""A mail filter that learns on line, forgets exactly and explains itself.

    The score is the sum of three logistic regressions (byte 6-grams, words of the header, words of the body), each
    learned by AdaGrad from one message at a time and each within [-5, 5], times t / (t + 10) after t messages.

    Parameters
    ----------
    path : path, optional
        File of the filter (needs ``tallywise[spam]``); None keeps it in memory.
    model : {"online", "naive_bayes"}, default="online"
        Naive Bayes over the same words forgets at once, and is less exact in its verdicts.
    max_flagged : float, optional
        Largest share of ham to be called spam. The threshold then follows from the scores that messages had before
        they were learned; None calls spam what has a probability above .9.
    trusted : sequence of str
        Names of the servers whose Authentication-Results fields count.
    keep_text : bool, default=False
        Whether the file keeps messages beside their hashed features.
    shared : SpamFilter, optional
        A filter whose score is added to this one's: one of all users under that of one user.
    read_only : bool, default=False
        Whether to open the file for scoring alone.
    history : int, default=0
        Messages that `classify` notes in the file, the newest, with sender, subject and reasons.

    Examples
    --------
    >>> from tallywise.spam import SpamFilter
    >>> mail = SpamFilter()
    >>> cheap, lunch = b"Subject: cheap pills\n\nbuy pills now", b"Subject: lunch\n\nsee you at noon"
    >>> mail.classify(cheap).label
    'unsure'
    >>> for _ in range(3):
    ...     outcome = mail.learn(cheap + b"!" * _, "spam"), mail.learn(lunch + b"." * _, "ham")
    >>> mail.score(b"Subject: pills\n\ncheap pills") > 0 > mail.score(b"Subject: noon\n\nlunch at noon?")
    True
    >>> mail.forget(cheap).found
    True
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        model: str = "online",
        max_flagged: float | None = None,
        trusted: Sequence[str] = (),
        keep_text: bool = False,
        shared: "SpamFilter | None" = None,
        read_only: bool = False,
        history: int = 0,
    ) -> None:
        if model not in MODELS:
            msg = f"The 'model' parameter of SpamFilter must be one of {', '.join(MODELS)}. Got {model!r}."
            raise ValueError(msg)
        if max_flagged is not None and not 0 <= max_flagged < 1:
            msg = f"The 'max_flagged' parameter of SpamFilter must be in [0, 1). Got {max_flagged!r}."
            raise ValueError(msg)
        self.max_flagged, self.trusted, self.shared = max_flagged, list(trusted), shared
        self._lock = threading.RLock()
        self._store = None if path is None else JournalStore(path, model, keep_text=keep_text, read_only=read_only)
        self._journal: Journal = MemoryJournal() if self._store is None else self._store
        self.model = model if self._store is None else self._store.model
        self._read_only = read_only
        outdated = self._store is not None and self._store.outdated
        if self._store is not None and outdated:
            self._store.read_again(lambda raw: spam_features(raw, self.trusted).encode())
        self._weights = Weights(self._journal, self.model, self._lock, read_only=read_only)
        if outdated:
            self._weights.rebuild()
        if self._store is not None and history:
            from tallywise.spam.history import History

            self.history = History(self._store, 0 if read_only else history)
        self._read_record()

    # --- learning ---

    def counts(self) -> tuple[int, int]:
        """Spam and ham messages learned."""
        return self._weights.spam, self._weights.ham

    def learn(self, raw: bytes, label: Label, *, source: str = "") -> Learned:
        """Learn one message; when this returns it is in the journal. A message already learned is not learned twice."""
        return self.learn_many([(raw, label)], source=source)[0]

    def learn_many(self, messages: Iterable[tuple[bytes, Label]], *, source: str = "") -> list[Learned]:
        """Learn messages in order, in one transaction: all of them are in the journal when this returns."""
        ready = [
            (digest_of(raw), is_spam(label), spam_features(bytes(raw), self.trusted), raw, source)
            for raw, label in messages
        ]
        return self._learn_all(ready, SNAPSHOT_EVERY)

    def learn_seen(self, id: int, label: Label) -> Learned:
        """Learn a message of the history; its text is not kept, as it is not there."""
        spam = is_spam(label)
        if self.history is None:
            msg = "This filter has no history."
            raise ValueError(msg)
        digest, code, _ = self.history.message(id)
        return self._learn_all([(digest, spam, SpamFeatures.decode(code), b"", "history")], SNAPSHOT_EVERY)[0]

    def _learn_all(self, ready: list[tuple[bytes, bool, SpamFeatures, bytes, str]], snapshot: int) -> list[Learned]:
        with self._lock:
            try:
                with self._journal.writing():
                    self._catch_up()
                    outcomes = [self._learn_one(*message) for message in ready]
            except BaseException:
                self._load()  # what was not committed was not learned
                raise
            self._weights.keep_snapshot(snapshot)
        self._weights.rebuild_later()
        return outcomes

    def _learn_one(self, digest: bytes, spam: bool, features: SpamFeatures, raw: bytes, source: str) -> Learned:
        known = self._journal.find(digest)
        if known is not None and known.spam == spam:
            return Learned("known", digest.hex(), known.score)
        if known is not None:
            self._take_out(digest)
        weights = self._weights
        judged = self._prior is not None or (weights.spam > 0 and weights.ham > 0)
        score = self._own_score(raw, features) if judged else None
        errors = three(weights.learner.learn(features, spam))
        id = self._journal.append(digest, spam, errors, score, source, features.encode(), bytes(raw))
        weights.learned(id, spam)
        self._budget = None
        if score is not None and self._scores is not None:
            bisect.insort(self._scores[spam], score)
        return Learned("learned" if known is None else "replaced", digest.hex(), score)

    # --- forgetting ---

    def forget(self, raw: bytes, *, purge: bool = False) -> Forgotten:
        """Forget a message, whatever its label was.

        Its own update is taken back at once, approximately; the exact state, that of a filter which never saw it, is
        computed in the background from the journal (`settle` waits for it). `purge` waits, and leaves nothing of the
        message in the file.
        """
        return self.forget_digest(digest_of(raw), purge=purge)

    def forget_digest(self, digest: bytes, *, purge: bool = False) -> Forgotten:
        """The same for a message whose digest is known."""
        with self._lock:
            try:
                with self._journal.writing():
                    self._catch_up()
                    found = self._take_out(digest)
                    if purge and self._store is not None:
                        self._store.run("DELETE FROM seen WHERE digest = ?", (digest,))
            except BaseException:
                self._load()
                raise
        self._weights.rebuild_later()
        if purge:
            self.compact()
        return Forgotten(found, self.exact)

    def _take_out(self, digest: bytes) -> bool:
        entry = self._journal.find(digest)
        if entry is None:
            return False
        self._weights.take_out(entry)
        self._budget = None
        if self._scores is not None and entry.score in self._scores[entry.spam]:
            self._scores[entry.spam].remove(entry.score)
        return True

    @property
    def exact(self) -> bool:
        """Whether the weights are those of a filter that never saw what was forgotten."""
        return self._weights.exact

    def settle(self) -> None:
        """Wait until forgetting is exact."""
        self._weights.settle()

    # --- state ---

    def _load(self) -> None:
        self._weights.load()
        self._read_record()

    def _read_record(self) -> None:
        self._scores = None
        self._budget = None
        self._read_settings()

    def _read_settings(self) -> None:
        self._prior, self._lists = self._journal.prior(), self._journal.lists()

    def _catch_up(self) -> None:
        if self._weights.catch_up():
            self._read_record()
        else:
            self._read_settings()

    def put_on_list(self, entry: str, allowed: bool | None) -> str:
        """Allow (True) or block mail of an address, a domain or ``list:LIST-ID``; None takes it off both lists.

        Returns the entry as it is kept.
        """
        from tallywise.spam import lists

        name = lists.entry_of(entry)
        with self._lock, self._journal.writing():
            found = {key: value for key, value in self._journal.lists().items() if key != name}
            if allowed is not None:
                found[name] = allowed
            if len(found) > lists.MOST:
                msg = f"A filter has {lists.MOST:,} entries in its lists at most"
                raise ValueError(msg)
            self._journal.put_lists(found)
        self._lists = found
        return name

    def lists(self) -> dict[str, bool]:
        """Entries of the allow list (True) and of the block list (False)."""
        return dict(self._lists)

    def refresh(self) -> None:
        """Take in what other processes learned or forgot in the same file."""
        with self._lock:
            self._catch_up()
            if self.history is not None:
                self.history.write()

    def replay(self, messages: Iterable[tuple[bytes, Label]], *, threads: int | None = None) -> list[float]:
        """Scores of a stream, each before its message is learned, by a new filter of this model (the TREC protocol)."""
        pairs = list(messages)
        learner: Any = MODELS[self.model]()
        raws, labels = [bytes(raw) for raw, _ in pairs], [is_spam(label) for _, label in pairs]
        return list(learner.replay(raws, labels, _threads.count(threads)))

    def report(self, days: int) -> dict[str, Any]:
        """How many messages were judged in the last days, and how the scores before learning would have judged."""
        with self._lock:
            record = [(score, spam) for score, spam in self._journal.scores(time.time() - 86400 * days)]
            judged = {} if self.history is None else self.history.judged(days)
        return {"judged": judged, **_judged(record, self.threshold())}

    def stats(self) -> dict[str, Any]:
        """Messages learned, threshold, and how the scores before learning would have judged."""
        with self._lock:
            messages, spam = self._journal.counts()
            record = list(self._journal.scores())
            alone = self._journal.alone()
        threshold = self.threshold()
        return {
            "model": self.model,
            "messages": messages,
            "spam": spam,
            "ham": messages - spam,
            "last": "spam" if alone[0] else "ham",
            "alone": alone[1],
            "exact": self.exact,
            "prior": None if self._prior is None else self._prior._asdict(),
            "threshold": threshold,
            "max_flagged": self.max_flagged,
            **_judged(record, threshold),
        }

    def verify(self) -> list[str]:
        """What is wrong with the file or with the weights in use; an empty list when nothing is."""
        with self._lock:
            wrong = [] if self._store is None else self._store.verify()
            if self._weights.differ():
                wrong.append("the weights are not those of the journal")
        return wrong

    def export(self) -> Iterator[dict[str, Any]]:
        """All that the filter was made from, entry by entry: digest, label, time, source and coded features.

        Nothing is given where an entry is damaged or missing: an export must not take the place of a better one.
        """
        from tallywise.spam import export_and_import

        with self._lock:
            self._journal.check_entries()
        last = 0
        while True:
            with self._lock:
                batch = self._journal.entries(last, BATCH)
            if not batch:
                return
            for entry, code in batch:
                last = entry.id
                yield export_and_import.exported(entry, code)

    def take_in(self, entries: Iterable[dict[str, Any]]) -> int:
        """Learn what another filter exported, in its order; returns how many were new here."""
        from tallywise.spam import export_and_import

        return self.take_in_codes(list(export_and_import.imported(entries)))

    def take_in_codes(self, entries: "Iterable[export_and_import.Taken]") -> int:
        """Learn digests, labels, coded features, texts and sources, in order; returns how many were new here."""
        ready = [
            (digest, spam, SpamFeatures.decode(code), text, source) for digest, spam, code, text, source in entries
        ]
        outcomes = self._learn_all(ready, SNAPSHOT_TAIL)
        return sum(outcome.outcome != "known" for outcome in outcomes)

    def take_prior(self, lines: Iterable[str]) -> "prior.Totals":
        """Take the counts of another filter as a prior, in the place of an older one.

        Parameters
        ----------
        lines : iterable of str
            What ``bogoutil -d`` or ``sa-learn --backup`` wrote.

        Returns
        -------
        totals : Totals
            Where the counts came from, and of how many spam and ham messages.
        """
        from tallywise.spam import prior

        dump = prior.Dump(lines)
        with self._lock:
            with self._journal.writing():
                self._journal.put_prior(dump)
            self._prior = self._journal.prior()
        return dump.totals

    def compact(self) -> None:
        """Write the weights out and give back unused space of the file."""
        self.settle()
        with self._lock:
            self._weights.keep_snapshot(1)
            if self._store is not None:
                self._store.compact()

    def close(self) -> None:
        """Finish what is under way and let go of the file."""
        if not self._read_only:
            self.settle()
        with self._lock:
            if self.history is not None:
                self.history.write()
            self._weights.keep_snapshot(SNAPSHOT_TAIL)
            self._journal.close()

    def __enter__(self) -> "SpamFilter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _judged(record: list[tuple[float, bool]], threshold: float) -> dict[str, int]:
    """How many messages of a record are ham and spam, and how many of each are above the threshold."""
    ham, spam = ([score for score, label in record if label == wanted] for wanted in (False, True))
    return {
        "judged_ham": len(ham),
        "judged_spam": len(spam),
        "ham_flagged": sum(score > threshold for score in ham),
        "spam_caught": sum(score > threshold for score in spam),
    }
