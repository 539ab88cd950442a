"""`SpamFilter`: scores, learns, forgets and explains mail, one message at a time."""

import base64
import bisect
import hashlib
import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple

from tallywise import _threads
from tallywise._native import SpamCounts, SpamFeatures, SpamLearner, spam_features, spam_identity
from tallywise.spam.journal import Errors, Journal, MemoryJournal, SetAside
from tallywise.spam.store import Store

Label = Literal["spam", "ham"]
MODELS: dict[str, Any] = {"online": SpamLearner, "naive_bayes": SpamCounts}
VIEWS = ("bytes", "header", "body")

_SPAM_FROM = math.log(9)  # probability .9
_HAM_TO = -math.log(3)  # probability .25
_FEW_HAM = 100  # below this many, a budget can raise the threshold but not lower it
_HELD = 64  # ham by which the guard judges
_GUARD_FROM = 32
_SNAPSHOT_EVERY = 1000
_SNAPSHOT_TAIL = 256  # entries that are replayed when a file is opened rather than written out when it is closed
_BATCH = 500


class Reason(NamedTuple):
    """One part of a score: what was found, where, and how much log-odds it adds."""

    view: str
    field: str
    text: str
    adds: float

    def __str__(self) -> str:
        return f"{self.adds:+.3f} {self.field + ': ' if self.field else ''}{self.text}"


@dataclass(frozen=True)
class Verdict:
    """What a message is taken for.

    Attributes
    ----------
    label : "spam", "ham" or "unsure"
    score : float
        Log-odds of spam.
    probability : float
        The same as a probability, 1 / (1 + exp(-score)).
    threshold : float
        The score above which a message is called spam.
    reasons : tuple of Reason
        The largest parts of the score, words of header and body first.
    """

    label: str
    score: float
    probability: float
    threshold: float
    reasons: tuple[Reason, ...] = ()


class Learned(NamedTuple):
    """What became of a message to be learned: "learned", "known", "replaced" or "set aside"."""

    outcome: str
    digest: str
    score: float | None = None


class Forgotten(NamedTuple):
    """Whether a message to be forgotten was there, and whether the filter is as if it had never been."""

    found: bool
    exact: bool


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
    guard : bool, default=True
        Whether a message is set aside, rather than learned as spam, when learning it would turn recent ham into spam.
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

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        model: str = "online",
        max_flagged: float | None = None,
        trusted: Sequence[str] = (),
        guard: bool = True,
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
        self.max_flagged, self.trusted, self.guard, self.shared = max_flagged, list(trusted), guard, shared
        self._lock = threading.RLock()
        self._store = None if path is None else Store(path, model, keep_text=keep_text, read_only=read_only)
        self._journal: Journal = MemoryJournal() if self._store is None else self._store
        self.model = model if self._store is None else self._store.model
        self._rebuilding: threading.Thread | None = None
        self._read_only = read_only
        self._learner: Any
        self._spam: int
        self._generation: int
        self._exact: bool
        self._ham_scores: list[float]
        self._load()

    # --- scores ---

    def score(self, raw: bytes) -> float:
        """Log-odds of spam."""
        features = spam_features(bytes(raw), self.trusted)
        with self._lock:
            own = float(self._learner.score(features))
        return own if self.shared is None else own + self.shared._learner.score(features)

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
        with self._lock:
            parts = list(self._learner.explain(bytes(raw), self.trusted))
        if self.shared is not None:
            parts += self.shared._learner.explain(bytes(raw), self.trusted)
        found = [Reason(VIEWS[p.view], _shown(p.field), _shown(p.text), p.adds) for p in parts]
        return sorted(found, key=lambda reason: (reason.view == "bytes", -abs(reason.adds)))

    def threshold(self) -> float:
        """The score above which a message is called spam."""
        if self.max_flagged is None:
            return _SPAM_FROM
        ham = self._ham_scores
        if not ham:
            return _SPAM_FROM
        found = ham[-1 - int(self.max_flagged * len(ham))]
        return found if len(ham) >= _FEW_HAM else max(found, _SPAM_FROM)

    def _knows_both(self) -> bool:
        spam, ham = self._spam, self._learner.learned - self._spam
        if self.shared is not None:
            spam += self.shared._spam
            ham += self.shared._learner.learned - self.shared._spam
        return spam > 0 and ham > 0

    # --- learning ---

    def learn(self, raw: bytes, label: Label, *, source: str = "", guard: bool | None = None) -> Learned:
        """Learn one message; when this returns it is in the journal. A message already learned is not learned twice."""
        return self.learn_many([(raw, label)], source=source, guard=guard)[0]

    def learn_many(
        self, messages: Iterable[tuple[bytes, Label]], *, source: str = "", guard: bool | None = None
    ) -> list[Learned]:
        """Learn messages in order, in one transaction: all of them are in the journal when this returns."""
        ready = [
            (digest_of(raw), _is_spam(label), spam_features(bytes(raw), self.trusted), raw) for raw, label in messages
        ]
        guard = self.guard if guard is None else guard
        with self._lock:
            try:
                with self._journal.writing():
                    self._catch_up()
                    outcomes = [self._learn_one(*message, source, guard) for message in ready]
            except BaseException:
                self._load()  # what was not committed was not learned
                raise
            self._keep_snapshot(_SNAPSHOT_EVERY)
        if not self._exact:
            self._rebuild_later()
        return outcomes

    def _learn_one(
        self, digest: bytes, spam: bool, features: SpamFeatures, raw: bytes, source: str, guard: bool
    ) -> Learned:
        known = self._journal.find(digest)
        if known is not None and known.spam == spam:
            return Learned("known", digest.hex(), known.score)
        if known is not None:
            self._take_out(digest)
        both = 0 < self._spam < self._learner.learned
        score = float(self._learner.score(features)) if both else None
        errors = _three(self._learner.learn(features, spam))
        hurt = self._hurt(errors) if guard and spam and known is None else 0
        if hurt:
            self._learner.undo()
            self._journal.set_aside(SetAside(digest, spam, score or 0.0, hurt, source, time.time()))
            return Learned("set aside", digest.hex(), score)
        self._last = self._journal.append(digest, spam, errors, score, source, features.encode(), bytes(raw))
        self._count(spam, score, features)
        return Learned("learned" if known is None else "replaced", digest.hex(), score)

    def _hurt(self, errors: Errors) -> int:
        """How many of the recent ham are called spam since the last message was learned, and were not before."""
        if len(self._held) < _GUARD_FROM or self.model != "online" or not any(errors):
            return 0
        threshold = self.threshold()
        flagged = [ham for ham in self._held if self._learner.score(ham) > threshold]
        if not flagged:
            return 0
        self._learner.undo()
        before = sum(bool(self._learner.score(ham) > threshold) for ham in flagged)
        self._learner.undo()
        return len(flagged) - before

    def _count(self, spam: bool, score: float | None, features: SpamFeatures) -> None:
        self._spam += spam
        if not spam:
            self._held.append(features)
            if score is not None:
                bisect.insort(self._ham_scores, score)

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
                    found = self._journal.find(digest) is not None
                    if found:
                        self._take_out(digest)
            except BaseException:
                self._load()
                raise
        if not self._exact:
            self._rebuild_later()
        if purge:
            self.settle()
            with self._lock:
                self._keep_snapshot(1)
                if self._store is not None:
                    self._store.compact()
        return Forgotten(found, self._exact)

    def _take_out(self, digest: bytes) -> None:
        entry = self._journal.find(digest)
        if entry is None:
            return
        features = SpamFeatures.decode(self._journal.features(entry.id))
        self._learner.take_back(features, entry.spam, list(entry.errors))
        self._journal.remove(digest)
        self._spam -= entry.spam
        if not entry.spam:
            self._held = self._recent_ham()
            if entry.score is not None and entry.score in self._ham_scores:
                self._ham_scores.remove(entry.score)
        if any(entry.errors):
            self._generation += 1
            self._exact = self._exact and self.model == "naive_bayes"  # counts are taken back exactly

    @property
    def exact(self) -> bool:
        """Whether the weights are those of a filter that never saw what was forgotten."""
        return self._exact

    def settle(self) -> None:
        """Wait until forgetting is exact."""
        while not self._exact:
            self._rebuild_later()
            thread = self._rebuilding
            if thread is not None:
                thread.join()

    def _rebuild_later(self) -> None:
        with self._lock:
            if self._rebuilding is None and not self._exact:
                self._rebuilding = threading.Thread(target=self._rebuild, name="tallywise-spam-replay", daemon=True)
                self._rebuilding.start()

    def _rebuild(self) -> None:
        """Replay the journal beside the filter in use, then put the result in its place."""
        try:
            while not self._exact:
                generation, learner, last = self._generation, MODELS[self.model](), 0
                changed: list[tuple[int, Errors]] = []
                while generation == self._generation:
                    with self._lock:
                        batch = self._journal.entries(last, _BATCH)
                        if not batch:
                            if generation == self._generation:
                                with self._journal.writing():
                                    self._journal.set_errors(changed)
                                self._learner, self._last, self._exact = learner, last, True
                                self._keep_snapshot(_SNAPSHOT_TAIL)
                            break
                    for entry, code in batch:
                        errors = _three(learner.learn(SpamFeatures.decode(code), entry.spam))
                        if errors != entry.errors:
                            changed.append((entry.id, errors))
                        last = entry.id
        finally:
            self._rebuilding = None

    # --- state ---

    def _load(self) -> None:
        """Weights from the snapshot and the entries behind it; from all entries where it is of another generation."""
        self._learner = MODELS[self.model]()
        self._spam, self._last = 0, 0
        self._generation = 0 if self._store is None else self._store.generation
        self._kept, self._exact = 0, True
        snapshot = None if self._store is None else self._store.snapshot()
        if snapshot is not None:
            self._learner.restore(snapshot.state)
            self._last = self._kept = snapshot.upto
        self._replay_tail()
        self._ham_scores = sorted(score for score, spam in self._journal.scores() if not spam)
        self._held = self._recent_ham()

    def _replay_tail(self) -> None:
        count = 0
        while batch := self._journal.entries(self._last, _BATCH):
            for entry, code in batch:
                self._learner.learn(SpamFeatures.decode(code), entry.spam)
                self._last = entry.id
            count += len(batch)
        messages, self._spam = self._journal.counts()
        self._learner.count(messages, self._spam)
        self._tail = count

    def _recent_ham(self) -> "deque[SpamFeatures]":
        codes = self._journal.latest_ham(_HELD) if self.guard and not self._read_only else []
        return deque((SpamFeatures.decode(code) for code in codes), maxlen=_HELD)

    def _catch_up(self) -> None:
        """Learn what other processes wrote to the same file."""
        if self._store is None or not self._store.changed_by_others():
            return
        if self._store.generation != self._generation:
            self._load()
        else:
            self._replay_tail()

    def refresh(self) -> None:
        """Take in what other processes learned or forgot in the same file."""
        with self._lock:
            self._catch_up()

    def _keep_snapshot(self, behind: int) -> None:
        if self._store is None or self._read_only or not self._exact or self._last - self._kept < behind:
            return
        self._store.put_snapshot(self._last, self._generation, self._learner.state())
        self._kept = self._last

    def replay(self, messages: Iterable[tuple[bytes, Label]], *, threads: int | None = None) -> list[float]:
        """Scores of a stream, each before its message is learned, by a new filter of this model (the TREC protocol)."""
        pairs = list(messages)
        learner: Any = MODELS[self.model]()
        raws, labels = [bytes(raw) for raw, _ in pairs], [_is_spam(label) for _, label in pairs]
        return list(learner.replay(raws, labels, _threads.count(threads)))

    def stats(self) -> dict[str, Any]:
        """Messages learned, threshold, and how the scores before learning would have judged."""
        with self._lock:
            messages, spam = self._journal.counts()
            record = list(self._journal.scores())
            aside = len(self._journal.aside())
        threshold = self.threshold()
        ham_scores = [score for score, is_spam in record if not is_spam]
        spam_scores = [score for score, is_spam in record if is_spam]
        return {
            "model": self.model,
            "messages": messages,
            "spam": spam,
            "ham": messages - spam,
            "set_aside": aside,
            "exact": self._exact,
            "threshold": threshold,
            "max_flagged": self.max_flagged,
            "judged_ham": len(ham_scores),
            "judged_spam": len(spam_scores),
            "ham_flagged": sum(score > threshold for score in ham_scores),
            "spam_caught": sum(score > threshold for score in spam_scores),
        }

    def set_aside(self) -> list[SetAside]:
        """Messages that the guard kept from being learned; `learn` with ``guard=False`` takes them in."""
        with self._lock:
            return self._journal.aside()

    def verify(self) -> list[str]:
        """What is wrong with the file or with the weights in use; an empty list when nothing is."""
        with self._lock:
            wrong = [] if self._store is None else self._store.verify()
            learner: Any = MODELS[self.model]()
            last = 0
            while batch := self._journal.entries(last, _BATCH):
                for entry, code in batch:
                    learner.learn(SpamFeatures.decode(code), entry.spam)
                    last = entry.id
            if self._exact and learner.state() != self._learner.state():
                wrong.append("the weights are not those of the journal")
        return wrong

    def export(self) -> Iterator[dict[str, Any]]:
        """All that the filter was made from, entry by entry: digest, label, time, source and coded features."""
        last = 0
        while True:
            with self._lock:
                batch = self._journal.entries(last, _BATCH)
            if not batch:
                return
            for entry, code in batch:
                last = entry.id
                yield {
                    "digest": entry.digest.hex(),
                    "label": "spam" if entry.spam else "ham",
                    "time": entry.time,
                    "source": entry.source,
                    "features": base64.b64encode(code).decode(),
                }

    def take_in(self, entries: Iterable[dict[str, Any]]) -> int:
        """Learn what another filter exported, in its order; returns how many were new here."""
        ready = []
        for number, entry in enumerate(entries, 1):
            try:
                digest, code = bytes.fromhex(entry["digest"]), base64.b64decode(entry["features"], validate=True)
                ready.append((digest, _is_spam(entry["label"]), SpamFeatures.decode(code), b"", str(entry["source"])))
            except (KeyError, TypeError, ValueError) as error:
                msg = f"Entry {number} is not of an export: {error!r}"
                raise ValueError(msg) from error
        with self._lock:
            try:
                with self._journal.writing():
                    self._catch_up()
                    outcomes = [self._learn_one(*entry, False) for entry in ready]
            except BaseException:
                self._load()
                raise
            self._keep_snapshot(_SNAPSHOT_TAIL)
        if not self._exact:
            self._rebuild_later()
        return sum(outcome.outcome != "known" for outcome in outcomes)

    def compact(self) -> None:
        """Write the weights out and give back unused space of the file."""
        self.settle()
        with self._lock:
            self._keep_snapshot(1)
            if self._store is not None:
                self._store.compact()

    def close(self) -> None:
        """Finish what is under way and let go of the file."""
        if not self._read_only:
            self.settle()
        with self._lock:
            self._keep_snapshot(_SNAPSHOT_TAIL)
            self._journal.close()

    def __enter__(self) -> "SpamFilter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def digest_of(raw: bytes) -> bytes:
    """What makes two copies one message, whatever servers wrote around it: 16 bytes."""
    return hashlib.blake2b(spam_identity(bytes(raw)), digest_size=16).digest()


def _is_spam(label: str) -> bool:
    if label not in ("spam", "ham"):
        msg = f"A label must be 'spam' or 'ham'. Got {label!r}."
        raise ValueError(msg)
    return label == "spam"


def _three(errors: Sequence[float]) -> Errors:
    first, second, third = errors
    return first, second, third


def _shown(text: bytes) -> str:
    return "".join(c if c.isprintable() else "·" for c in text.decode("utf-8", errors="replace"))
