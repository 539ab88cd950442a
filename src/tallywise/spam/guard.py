"""The guard on learning: spam that would turn recent ham into spam, or is a list of words and no text, is set aside."""

import math
from collections import Counter, deque
from typing import Any

from tallywise._native import SpamFeatures
from tallywise.spam.journal import Errors, Journal

HELD = 64
_FROM = 32  # with fewer ham than these nothing is set aside
_BODY, _SLOTS = 2, 1 << 20  # the view of words and pairs of words; slots of the table
_COMMON, _RARE = 4, 2  # a feature is common in a quarter of the ham held, rare in at most two of them
_OF_A_WORD = 2  # features that it has alone: itself, and as it looks
_BEYOND_CHANCE = 4.0  # standard deviations
_LEAST_RATIO = 10.0


class Guard:
    """The newest ham, by which a message that was just learned is judged."""

    def __init__(self, journal: Journal, *, idle: bool) -> None:
        self._journal, self._idle = journal, idle
        self.load()

    def load(self) -> None:
        """Hold the newest ham of the journal."""
        self.held: deque[SpamFeatures] = deque(maxlen=HELD)
        self._ham_with: Counter[int] = Counter()  # how many of them have a slot
        self._slots_in = [0] * (HELD + 2)  # how many slots so many of them have
        for code in [] if self._idle else self._journal.latest_ham(HELD):
            self.hold(SpamFeatures.decode(code))

    def hold(self, ham: SpamFeatures) -> None:
        """Hold a ham message, in the place of the oldest."""
        if self._idle:
            return
        if len(self.held) == HELD:
            self._count(self.held[0], -1)
        self.held.append(ham)
        self._count(ham, 1)

    def _count(self, ham: SpamFeatures, sign: int) -> None:
        for slot in ham.view(_BODY).tolist():
            before = self._ham_with[slot]
            self._ham_with[slot] = before + sign
            self._slots_in[before] -= 1
            self._slots_in[before + sign] += 1
            if before + sign == 0:
                del self._ham_with[slot]

    def lists(self, message: SpamFeatures) -> bool:
        """Whether a message names words as a dictionary does: common and rare ones alike.

        A text has most of the words that most texts have, and few of those that one text in thirty has: its share of
        the common ones is 15 times its share of the rare ones and more, in all but one of a hundred messages, spam or
        ham. In a list drawn from a vocabulary the two shares are equal but for chance. Coded attachments share slots
        by chance alone, and are no lists; nor are a few words: a list that could do harm has a rare word of each ham
        held, on the average.
        """
        if len(self.held) < _FROM:
            return False
        least = -(-len(self.held) // _COMMON)
        slots = message.view(_BODY).tolist()
        seen = Counter(self._ham_with[slot] for slot in slots if slot in self._ham_with)
        rare = sum(seen[k] for k in range(1, _RARE + 1))
        common = sum(n for k, n in seen.items() if k >= least)
        all_rare, all_common = sum(self._slots_in[1 : _RARE + 1]), sum(self._slots_in[least:])
        chance = len(slots) * all_rare / _SLOTS
        if rare <= chance + _BEYOND_CHANCE * math.sqrt(chance) or rare < _OF_A_WORD * len(self.held):
            return False
        return (common + 0.5) / (all_common + 1) < _LEAST_RATIO * (rare + 0.5) / (all_rare + 1)

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
