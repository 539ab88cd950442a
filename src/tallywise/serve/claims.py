"""Who has which text before them: the queue hands a text to one tab at a time."""

import secrets
import time
from typing import NamedTuple

_SECONDS = 60.0  # without a sign of the page; pages that are looked at give one every two seconds


class Claim(NamedTuple):
    """A text that is being looked at: by which tab, until when, and how it was drawn."""

    tab: str
    until: float
    drawn: str


class Claims:
    """Texts that tabs have before them.

    Examples
    --------
    >>> from tallywise.serve.claims import Claims
    >>> claims = Claims()
    >>> claims.take("one tab", 7)
    >>> claims.of_others("one tab"), claims.of_others("other tab")
    ([], [7])
    """

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}

    def tab(self, name: str) -> str:
        """The name of a tab, or a new one."""
        return name if name.isalnum() and 8 <= len(name) <= 32 else secrets.token_hex(8)

    def take(self, tab: str, text: int, drawn: str = "") -> None:
        """Give a text to a tab, and back what it had."""
        for other in [other for other, claim in self._claims.items() if claim.tab == tab and other != text]:
            del self._claims[other]
        if len(self._claims) < 10_000:
            self._claims[text] = Claim(tab, time.monotonic() + _SECONDS, drawn)

    def renew(self, tab: str) -> None:
        """Keep what a tab has."""
        for text, claim in self._claims.items():
            if claim.tab == tab:
                self._claims[text] = claim._replace(until=time.monotonic() + _SECONDS)

    def held(self, tab: str) -> int | None:
        """The text that a tab has."""
        return next((text for text, claim in self._claims.items() if claim.tab == tab), None)

    def drawn(self, text: int) -> str:
        """How a text was drawn that somebody has."""
        return self._claims[text].drawn if text in self._claims else ""

    def of_others(self, tab: str) -> list[int]:
        """Texts that other tabs have."""
        now = time.monotonic()
        self._claims = {text: claim for text, claim in self._claims.items() if claim.until > now}
        return [text for text, claim in self._claims.items() if claim.tab != tab]
