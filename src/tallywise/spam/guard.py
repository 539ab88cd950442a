"""The guard on learning: a message is not learned as spam when that would turn recent ham into spam."""

from collections import deque
from typing import Any

from tallywise._native import SpamFeatures
from tallywise.spam.journal import Errors, Journal

HELD = 64
_FROM = 32  # with fewer ham than these nothing is set aside


class Guard:
    """The newest ham, by which a message that was just learned is judged."""

    def __init__(self, journal: Journal, *, idle: bool) -> None:
        self._journal, self._idle = journal, idle
        self.load()

    def load(self) -> None:
        """Hold the newest ham of the journal."""
        codes = [] if self._idle else self._journal.latest_ham(HELD)
        self.held = deque((SpamFeatures.decode(code) for code in codes), maxlen=HELD)

    def hold(self, ham: SpamFeatures) -> None:
        """Hold a ham message, in the place of the oldest."""
        self.held.append(ham)

    def hurt(self, learner: Any, errors: Errors, threshold: float) -> int:
        """How many of the ham held are called spam since the last message was learned, and were not before."""
        if len(self.held) < _FROM or not any(errors):
            return 0
        flagged = [ham for ham in self.held if learner.score(ham) > threshold]
        if not flagged:
            return 0
        learner.undo()
        before = sum(bool(learner.score(ham) > threshold) for ham in flagged)
        learner.undo()
        return len(flagged) - before
