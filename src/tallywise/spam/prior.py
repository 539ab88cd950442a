r"""Counts of words from bogofilter or SpamAssassin: a prior for a filter that has learned little itself.

The score is that of bogofilter (Robinson, 2003). With s of S spam and h of H ham messages of the other filter that have
a token, n = s + h and p = (s / S) / (s / S + h / H),

    f = (r x + n p) / (r + n),  r = .0178, x = .52;       only tokens with |f - 1/2| >= .375 count, m of a message
    A = chi2(-2 sum log f; 2m),  B = chi2(-2 sum log(1 - f); 2m)        chi-square's tails
    score = log((1 + A - B) / (1 - A + B)),  within [-10, 10].

After t messages of its own a filter weighs this by c / (t + c) and what it learned itself by t / (t + c), in the place
of t / (t + 10). On the second halves of two archives, under counts of bogofilter from the first, 1-ROCA of 200 messages
are .035 and .080 % (bogofilter's own .075 and .046), of 600 .15 and .10 (.08 and .02), of 2,000 .06 and .04; c = 100 is
worse: .035 and .15, .29 and .20, .09 and .05.

bogofilter writes its words out (``bogoutil -d``). SpamAssassin keeps the last five bytes of their SHA-1
(``sa-learn --backup``): those cannot be read, but words of a new message can be looked up. Both read mail in ways of
their own, which the functions here follow for what carries most: words of the body, words of the header by field.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tallywise._native import spam_header
from tallywise.spam.marking import header_fields

COLD = 1000  # c
_OWN_COLD = 10  # of the learner's own t / (t + 10)
_ENDS = 50 * COLD  # messages after which a prior could add .2 at the most, and is not looked up any more
_BOUND = 10.0
_ROBINSON_R, _ROBINSON_X, _LEAST_DEVIATION = 0.0178, 0.52, 0.375  # defaults of bogofilter
_MOST_READ = 1 << 16
_LONGEST_TOKEN = 200


class Totals(NamedTuple):
    """Where counts came from, and of how many messages of each class."""

    source: str
    spam: int
    ham: int


class Count(NamedTuple):
    """How many spam and ham messages have a token."""

    token: bytes
    spam: int
    ham: int


class Dump:
    """Counts in a dump of another filter; `totals` is there when all of them were read.

    Examples
    --------
    >>> from tallywise.spam.prior import Dump
    >>> dump = Dump([".MSG_COUNT 2 3 20240101", "pills 2 0 20240101"])
    >>> list(dump), dump.totals
    ([Count(token=b'pills', spam=2, ham=0)], Totals(source='bogofilter', spam=2, ham=3))
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._spam = self._ham = 0
        self.source = ""

    @property
    def totals(self) -> Totals:
        """Messages of each class; counts of one class alone are refused, as they say nothing."""
        if not self._spam or not self._ham:
            msg = (
                f"A dump must count at least one spam and one ham message. Got {self._spam} spam and {self._ham} ham: "
                "it is empty, cut short, or of a filter that was taught one class only."
            )
            raise ValueError(msg)
        return Totals(self.source, self._spam, self._ham)

    def __iter__(self) -> Iterator[Count]:
        for number, line in enumerate(self._lines, 1):
            line = line.rstrip("\r\n")
            if number == 1:
                self.source = "spamassassin" if line.startswith("v\t") else "bogofilter"
            if not line:
                continue
            try:
                count = self._spamassassin(line) if self.source == "spamassassin" else self._bogofilter(line)
            except (ValueError, IndexError) as error:
                wanted = "'sa-learn --backup'" if self.source == "spamassassin" else "'bogoutil -d'"
                msg = f"Line {number} is not of {wanted}: {line[:80]!r}"
                raise ValueError(msg) from error
            if count is not None and (count.spam or count.ham) and len(count.token) <= _LONGEST_TOKEN:
                yield count

    def _bogofilter(self, line: str) -> Count | None:
        """Token, spam, ham and date; names of totals and settings begin with a dot."""
        token, spam, ham, *_ = line.rsplit(" ", 3)
        if token == ".MSG_COUNT":
            self._spam, self._ham = _number(spam), _number(ham)
        count = Count(token.encode("utf-8", "surrogateescape"), _number(spam), _number(ham))
        return None if token.startswith(".") else count

    def _spamassassin(self, line: str) -> Count | None:
        """Lines "v VALUE NAME" for totals, "t SPAM HAM TIME HEX" for tokens, "s CLASS ID" for messages."""
        kind, *rest = line.split("\t")
        if kind == "v":
            name = rest[1].split()[0]
            if name == "db_version" and rest[0] != "3":
                msg = "another version"
                raise ValueError(msg)
            if name == "num_spam":
                self._spam = _number(rest[0])
            elif name == "num_nonspam":
                self._ham = _number(rest[0])
            return None
        if kind == "t":
            return Count(bytes.fromhex(rest[3]), _number(rest[0]), _number(rest[1]))
        if kind != "s":
            raise ValueError(kind)
        return None


def _number(text: str) -> int:
    number = int(text)
    if not 0 <= number < 1 << 62:
        raise ValueError(text)
    return number


def own_share(learned: int) -> float:
    """By what the learner's score is multiplied under a prior."""
    return (learned + _OWN_COLD) / (learned + COLD)


class Part(NamedTuple):
    """What one token of a message adds to its score."""

    text: bytes
    adds: float


def parts(raw: bytes, totals: Totals, find: Callable[[list[bytes]], Iterable[Count]], learned: int) -> list[Part]:
    """What the counts add to the score of a message after `learned` messages of the filter's own."""
    if learned >= _ENDS:
        return []
    names = _TOKENS[totals.source](raw[:_MOST_READ])
    found = [(names[count.token], _share_of_spam(count, totals)) for count in find(list(names))]
    known = [(text, f) for text, f in found if f is not None]
    if not known:
        return []
    score = _BOUND * math.tanh(_fisher([f for _, f in known]) / _BOUND) * COLD / (learned + COLD)
    logits = [math.log(f / (1 - f)) for _, f in known]
    scale = abs(score) / sum(map(abs, logits))
    each = [Part(text, w * scale) for (text, _), w in zip(known, logits, strict=True)]
    return [*each, Part(b"(all words together)", score - sum(part.adds for part in each))]


def _share_of_spam(count: Count, totals: Totals) -> float | None:
    """The f of a token; None where it says little."""
    # A dump in which a token has more messages than there are is a damaged one: its counts are cut to them.
    spam, ham = min(count.spam, totals.spam), min(count.ham, totals.ham)
    n, rate, other = spam + ham, spam / totals.spam, ham / totals.ham
    f = (_ROBINSON_R * _ROBINSON_X + n * rate / (rate + other)) / (_ROBINSON_R + n)
    return min(f, 1 - 1e-15) if abs(f - 0.5) >= _LEAST_DEVIATION else None


def _fisher(shares: list[float]) -> float:
    """Log-odds of Robinson's indicator."""
    # As words of one class are never of chance, 1 - A and 1 - B would be lost in rounding: expm1 keeps them.
    a, b = (_log_tail(-sum(map(math.log, sides)), len(shares)) for sides in (shares, [1 - f for f in shares]))
    up, down = math.exp(a) - math.expm1(b), math.exp(b) - math.expm1(a)
    return math.log(max(up, sys.float_info.min) / max(down, sys.float_info.min))


def _log_tail(half: float, m: int) -> float:
    """Logarithm of exp(-half) sum half^i / i!, the tail above 2 half of chi-square with 2m degrees of freedom."""
    terms = [0.0]
    for i in range(1, m):
        terms.append(terms[-1] + math.log(half / i))
    largest = max(terms)
    return min(0.0, largest - half + math.log(sum(math.exp(term - largest) for term in terms)))


# --- words of a message as the other filters have them: {key of the dump: text to show} ---

_BOGOFILTER_FIELDS = {
    b"subject": b"subj:",
    b"from": b"from:",
    b"to": b"to:",
    b"return-path": b"rtrn:",
    b"received": b"rcvd:",
}
# A word begins with none of the marks +.'!-_ that it may have inside; digits alone are no word.
_BOGOFILTER_WORD = re.compile(
    rb"""[^\s\0-\x1f"#%&()*,/:;<=>?@\[\\\]^_`{|}~+.'!-][^\s\0-\x1f"#%&()*,/:;<=>?@\[\\\]^`{|}~]*"""
)


def bogofilter_tokens(raw: bytes) -> dict[bytes, bytes]:
    """Words of 3 to 30 bytes, with a mark of their field where they are of the header."""
    found: set[bytes] = set()
    for name, value in _fields(raw):
        mark = _BOGOFILTER_FIELDS.get(name.lower(), b"head:")
        found.add(b"head:" + name)
        found.update(mark + word for word in _bogofilter_words(value))
    found.update(_bogofilter_words(_body(raw)))
    return {token: token for token in found}


def _bogofilter_words(text: bytes) -> Iterator[bytes]:
    for word in _BOGOFILTER_WORD.findall(text):
        word = word.rstrip(b".'-_+")
        if 3 <= len(word) <= 30 and not word.isdigit():
            yield word


_SPAMASSASSIN_FIELDS = {
    b"message-id": b"*m",
    b"received": b"*r",
    b"user-agent": b"*u",
    b"references": b"*f",
    b"in-reply-to": b"*i",
    b"from": b"*F",
    b"reply-to": b"*R",
    b"return-path": b"*p",
    b"x-mailer": b"*x",
    b"organization": b"*o",
    b"content-type": b"*c",
    b"to": b"To",
    b"cc": b"Cc",
}
_SPAMASSASSIN_WORD = re.compile(rb"[-A-Za-z0-9,@*!_'\"$.\xa1-\xff]+")
_NOT_WORD = re.compile(rb"[^\w:*]")
_LONGEST_SPAMASSASSIN = 15


def spamassassin_tokens(raw: bytes) -> dict[bytes, bytes]:
    """The last five bytes of the SHA-1 of words: of the body, with their plain forms, and of the header by field."""
    found: set[bytes] = set()
    for name, value in _fields(raw):
        mark = _SPAMASSASSIN_FIELDS.get(name.lower())
        if mark is not None:
            words = _spamassassin_words(value)
            if b"@" in value:
                words = [piece for word in words for piece in _address(word)]
            found.update(b"H" + mark + b":" + word for word in words)
    for word in _spamassassin_words(_body(raw)):
        if b"." in word[1:]:
            found.update(b"UD:" + word.split(b".", k)[-1] for k in range(min(word.count(b"."), 5) + 1))
        short = b"sk:" + word[:7] if len(word) > _LONGEST_SPAMASSASSIN and b"*" not in word else word
        for form in (short, short.lower()):
            found.update((form, _NOT_WORD.sub(b"", form)))
    import hashlib  # loads OpenSSL: filters without such a prior go without

    return {hashlib.sha1(token, usedforsecurity=False).digest()[-5:]: token for token in found if token}


def _spamassassin_words(text: bytes) -> list[bytes]:
    words = (word.strip(b"-'\".,") for word in _SPAMASSASSIN_WORD.findall(text))
    return [word for word in words if len(word) >= 3]


def _address(word: bytes) -> Iterator[bytes]:
    user, at, domain = word.partition(b"@")
    if not at:
        yield word
        return
    yield b"U*" + user
    for k in range(min(domain.count(b"."), 5) + 1):
        yield b"D*" + domain.split(b".", k)[-1]


def _fields(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and values; without what other filters or the reader's own server wrote."""
    for field in header_fields(spam_header(raw, [])):
        name, _, value = field.partition(b":")
        yield name.strip(), value


def _body(raw: bytes) -> bytes:
    from tallywise.reading.mail import mail_text  # a filter in a pipe, most of which have no prior, starts without it

    return mail_text(raw).partition("\n\n")[2].encode("utf-8", "surrogatepass")


_TOKENS: dict[str, Callable[[bytes], dict[bytes, bytes]]] = {
    "bogofilter": bogofilter_tokens,
    "spamassassin": spamassassin_tokens,
}
