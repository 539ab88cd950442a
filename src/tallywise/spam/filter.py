"""`SpamFilter`: scores, learns, forgets and explains mail, one message at a time."""

import bisect
import math
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tallywise import _threads
from tallywise._native import SpamFeatures, spam_features, spam_identity
from tallywise.spam.journal import Journal, MemoryJournal
from tallywise.spam.journal_store import JournalStore
from tallywise.spam.verdict import Forgotten, Label, Learned, Reason, Verdict, is_spam, shown
from tallywise.spam.weights import BATCH, MODELS, SNAPSHOT_EVERY, SNAPSHOT_TAIL, Weights, three

if TYPE_CHECKING:  # loaded where they are needed: few filters have a prior
    from tallywise.spam import export_and_import, prior

VIEWS = ("bytes", "header", "body")

_SPAM_FROM = math.log(9)  # probability .9
_HAM_TO = -math.log(3)  # probability .25
_FEW_HAM = 100  # below this many, a budget can raise the threshold but not lower it


class SpamFilter:
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

    _budget: float | None = None  # the threshold of the budget, computed when it is asked for

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
        self._read_record()

    # --- scores ---

    def score(self, raw: bytes) -> float:
        """Log-odds of spam."""
        if self.shared is None and self._prior is None:  # most filters: one native call
            with self._lock:
                return float(self._weights.learner.judge(bytes(raw), self.trusted))
        features = spam_features(bytes(raw), self.trusted)
        own = self._own_score(raw, features)
        return own if self.shared is None else own + self.shared._own_score(raw, features)

    def _own_score(self, raw: bytes, features: SpamFeatures) -> float:
        with self._lock:
            learned = self._own_share() * float(self._weights.learner.score(features))
            return learned + sum(part.adds for part in self._prior_parts(raw))

    def _own_share(self) -> float:
        if self._prior is None:
            return 1.0
        from tallywise.spam import prior

        return prior.own_share(self._weights.learner.learned)

    def _prior_parts(self, raw: bytes) -> "list[prior.Part]":
        if self._prior is None:
            return []
        from tallywise.spam import prior

        return prior.parts(raw, self._prior, self._journal.prior_counts, self._weights.learner.learned)

    def classify(self, raw: bytes, reasons: int = 0) -> Verdict:
        """Spam, ham or unsure, with so many of the reasons."""
        score, threshold = self.score(raw), self.threshold()
        label = "unsure"
        if self._knows_both():
            label = "spam" if score > threshold else "ham" if score <= min(_HAM_TO, threshold) else "unsure"
        why = tuple(self.explain(raw)[:reasons]) if reasons else ()
        return Verdict(label, score, 1 / (1 + math.exp(-score)), threshold, why)

    def explain(self, raw: bytes) -> list[Reason]:
        """All parts of the score, which sum to it: words of header and body first, then bytes; the largest first."""
        found = self._own_reasons(raw) + ([] if self.shared is None else self.shared._own_reasons(raw, self.trusted))
        return sorted(found, key=lambda reason: (reason.view == "bytes", -abs(reason.adds)))

    def _own_reasons(self, raw: bytes, trusted: list[str] | None = None) -> list[Reason]:
        with self._lock:
            learned = self._weights.learner.explain(bytes(raw), self.trusted if trusted is None else trusted)
            share, other = self._own_share(), self._prior_parts(raw)
        found = [Reason(VIEWS[part.view], shown(part.field), shown(part.text), share * part.adds) for part in learned]
        return found + [Reason("prior", "prior", shown(part.text), part.adds) for part in other]

    def threshold(self) -> float:
        """The score above which a message is called spam."""
        if self.max_flagged is None:
            return _SPAM_FROM
        with self._lock:
            if self._budget is None:
                from tallywise.spam.threshold import budget_threshold

                ham, spam = self._record()
                found = budget_threshold(ham, spam, self.max_flagged) if ham else _SPAM_FROM
                self._budget = found if len(ham) >= _FEW_HAM else max(found, _SPAM_FROM)
            return self._budget

    def _knows_both(self) -> bool:
        if self.shared is None:
            return self._prior is not None or (self._weights.spam > 0 and self._weights.ham > 0)
        layers = [self, self.shared]
        if any(layer._prior is not None for layer in layers):
            return True
        return sum(layer._weights.spam for layer in layers) > 0 and sum(layer._weights.ham for layer in layers) > 0

    def counts(self) -> tuple[int, int]:
        """Spam and ham messages learned."""
        return self._weights.spam, self._weights.ham

    # --- learning ---

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
        digest = digest_of(raw)
        with self._lock:
            try:
                with self._journal.writing():
                    self._catch_up()
                    found = self._take_out(digest)
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
        self._scores: tuple[list[float], list[float]] | None = None  # of ham and spam, read when a budget asks for them
        self._budget = None
        self._prior = self._journal.prior()

    def _record(self) -> tuple[list[float], list[float]]:
        """Scores that ham and spam had before they were learned, in ascending order."""
        if self._scores is None:
            self._scores = [], []
            for score, spam in self._journal.scores():
                self._scores[spam].append(score)
            for scores in self._scores:
                scores.sort()
        return self._scores

    def _catch_up(self) -> None:
        if self._weights.catch_up():
            self._read_record()
        else:
            self._prior = self._journal.prior()

    def refresh(self) -> None:
        """Take in what other processes learned or forgot in the same file."""
        with self._lock:
            self._catch_up()

    def replay(self, messages: Iterable[tuple[bytes, Label]], *, threads: int | None = None) -> list[float]:
        """Scores of a stream, each before its message is learned, by a new filter of this model (the TREC protocol)."""
        pairs = list(messages)
        learner: Any = MODELS[self.model]()
        raws, labels = [bytes(raw) for raw, _ in pairs], [is_spam(label) for _, label in pairs]
        return list(learner.replay(raws, labels, _threads.count(threads)))

    def stats(self) -> dict[str, Any]:
        """Messages learned, threshold, and how the scores before learning would have judged."""
        with self._lock:
            messages, spam = self._journal.counts()
            record = list(self._journal.scores())
            alone = self._journal.alone()
        threshold = self.threshold()
        ham_scores = [score for score, is_spam in record if not is_spam]
        spam_scores = [score for score, is_spam in record if is_spam]
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
            "judged_ham": len(ham_scores),
            "judged_spam": len(spam_scores),
            "ham_flagged": sum(score > threshold for score in ham_scores),
            "spam_caught": sum(score > threshold for score in spam_scores),
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
            self._weights.keep_snapshot(SNAPSHOT_TAIL)
            self._journal.close()

    def __enter__(self) -> "SpamFilter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def digest_of(raw: bytes) -> bytes:
    """What makes two copies one message, whatever servers wrote around it: 16 bytes."""
    import hashlib  # loads OpenSSL: scoring goes without

    return hashlib.blake2b(spam_identity(bytes(raw)), digest_size=16).digest()
