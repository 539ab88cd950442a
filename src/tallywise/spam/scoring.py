"""How a filter scores, judges and explains a message; `filter` is how it learns."""

import math
import threading
from typing import TYPE_CHECKING

from tallywise._native import SpamFeatures, spam_features
from tallywise.spam.journal import Journal
from tallywise.spam.marking import REASONS
from tallywise.spam.verdict import Reason, Verdict, shown
from tallywise.spam.weights import Weights

if TYPE_CHECKING:  # loaded where they are needed: few filters have a prior, lists or a history
    from tallywise.spam import lists, prior
    from tallywise.spam.history import History

VIEWS = ("bytes", "header", "body")

_SPAM_FROM = math.log(9)  # probability .9
_HAM_TO = -math.log(3)  # probability .25
_FEW_HAM = 100  # below this many, a budget can raise the threshold but not lower it


class Scoring:
    """The part of a filter that answers, from weights, prior, lists and the scores that learned mail had."""

    trusted: list[str]
    max_flagged: float | None
    shared: "Scoring | None"
    history: "History | None" = None
    _lock: threading.RLock
    _journal: Journal
    _weights: Weights
    _prior: "prior.Totals | None"
    _lists: dict[str, bool]
    _scores: tuple[list[float], list[float]] | None = None  # of ham and spam, read when a budget asks for them
    _budget: float | None = None  # the threshold of the budget, computed when it is asked for

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
        """Spam, ham or unsure, with so many of the reasons; an entry of a list decides before the score."""
        score, threshold = self.score(raw), self.threshold()
        label = "unsure"
        if self._knows_both():
            label = "spam" if score > threshold else "ham" if score <= min(_HAM_TO, threshold) else "unsure"
        listed = self._listed(raw)
        if listed is not None:
            label = "ham" if listed.allowed else "spam"
        noted = self.history is not None and self.history.has_room
        why = tuple(self._reasons(raw, max(reasons, noted and REASONS))) if reasons or noted else ()
        decided = "" if listed is None else str(listed)
        verdict = Verdict(label, score, 1 / (1 + math.exp(-score)), threshold, why, decided)
        if self.history is not None:
            self.history.count(label)
            if noted:
                self.history.note(bytes(raw), verdict, spam_features(bytes(raw), self.trusted))
        return verdict._replace(reasons=why[:reasons])

    def _listed(self, raw: bytes) -> "lists.Listed | None":
        layers = [self] if self.shared is None else [self, self.shared]
        if not any(layer._lists for layer in layers):
            return None
        from tallywise.spam import lists

        found = (lists.decided(raw, layer._lists) for layer in layers)
        return next((entry for entry in found if entry is not None), None)

    def explain(self, raw: bytes) -> list[Reason]:
        """All parts of the score, which sum to it: words of header and body first, then bytes; the largest first."""
        return self._reasons(raw, 1 << 32)

    def _reasons(self, raw: bytes, most: int) -> list[Reason]:
        found = self._own_reasons(raw, self.trusted, most)
        if self.shared is not None:
            found += self.shared._own_reasons(raw, self.trusted, most)
        return sorted(found, key=lambda reason: (reason.view == "bytes", -abs(reason.adds)))[:most]

    def _own_reasons(self, raw: bytes, trusted: list[str], most: int) -> list[Reason]:
        with self._lock:
            learned = self._weights.learner.explain(bytes(raw), trusted, most)
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

    def _record(self) -> tuple[list[float], list[float]]:
        """Scores that ham and spam had before they were learned, in ascending order."""
        if self._scores is None:
            self._scores = [], []
            for score, spam in self._journal.scores():
                self._scores[spam].append(score)
            for scores in self._scores:
                scores.sort()
        return self._scores
