"""What a filter answers: verdicts, their reasons, and what became of a message to be learned or forgotten."""

from typing import Literal, NamedTuple

Label = Literal["spam", "ham"]


class Reason(NamedTuple):
    """One part of a score: what was found, where, and how much log-odds it adds."""

    view: str
    field: str
    text: str
    adds: float

    def __str__(self) -> str:
        return f"{self.adds:+.3f} {self.field + ': ' if self.field else ''}{self.text}"


class Verdict(NamedTuple):
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
    listed : str
        The entry of an allow or block list that decided, "allowed: ann@x.example"; empty when none did.
    """

    label: str
    score: float
    probability: float
    threshold: float
    reasons: tuple[Reason, ...] = ()
    listed: str = ""

    @property
    def silent(self) -> "Verdict":
        """The same for a mail server that is to do nothing about it."""
        return self._replace(label="ham", score=self.threshold - 5, listed="")


class Learned(NamedTuple):
    """What became of a message to be learned: "learned", "known" or "replaced"."""

    outcome: str
    digest: str
    score: float | None = None


class Forgotten(NamedTuple):
    """Whether a message to be forgotten was there, and whether the filter is as if it had never been."""

    found: bool
    exact: bool


def is_spam(label: str) -> bool:
    """Whether a label is "spam"; one that is neither "spam" nor "ham" is refused."""
    if label not in ("spam", "ham"):
        msg = f"A label must be 'spam' or 'ham'. Got {label!r}."
        raise ValueError(msg)
    return label == "spam"


def shown(text: bytes) -> str:
    """Bytes of a message as a line for people."""
    return "".join(c if c.isprintable() else "·" for c in text.decode("utf-8", errors="replace"))
