"""The protocol of SpamAssassin's spamd, as a function from request to answer; `server` speaks it over sockets.

A request is a line ``CHECK SPAMC/1.5``, header lines, an empty line and a message. Clients below 1.3 get exactly one
header, as Exim parses the answer by a fixed pattern and puts the mail off otherwise.
"""

import re
import zlib
from dataclasses import dataclass, field

from tallywise.spam.filter import SpamFilter
from tallywise.spam.marking import fields, marked, scaled
from tallywise.spam.verdict import Label, Verdict

COMMANDS = ("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS", "TELL", "PING", "SKIP")
MOST_HEADERS = 100
LONGEST_LINE = 8192
_FIRST = re.compile(rb"([A-Z_]{1,20}) SPAMC/(\d)\.(\d{1,2})\r?\n?")


class Refused(ValueError):
    """A request that is no request, or one that is not answered."""

    @property
    def answer(self) -> bytes:
        """What the client is told."""
        raise NotImplementedError


class ProtocolError(Refused):
    """The same over spamd's protocol: the number of the answer (from sysexits.h), and a word on why."""

    def __init__(self, code: int, word: str, why: str) -> None:
        super().__init__(why)
        self.code, self.word = code, word

    @property
    def answer(self) -> bytes:
        """What the client is told."""
        why = str(self).encode("ascii", "replace").replace(b"\r", b" ").replace(b"\n", b" ")
        return b"SPAMD/1.0 %d %s %s\r\n" % (self.code, self.word.encode(), why)


def no_user(why: str) -> ProtocolError:
    """The refusal of a user's name."""
    return ProtocolError(67, "EX_NOUSER", why)


def too_large(most: int) -> ProtocolError:
    """The refusal of a message of more than `most` bytes."""
    return ProtocolError(65, "EX_DATAERR", f"the message is larger than {most} bytes")


@dataclass
class Request:
    """One request of a client."""

    command: str
    version: tuple[int, int]
    headers: dict[str, str] = field(default_factory=dict)
    message: bytes = b""
    lines: int = 0

    def take(self, line: bytes) -> None:
        """Take in one header line."""
        name, colon, value = line.decode("latin-1").partition(":")
        self.lines += 1
        if not colon or self.lines > MOST_HEADERS:
            raise ProtocolError(76, "EX_PROTOCOL", "bad header line")
        name, value = name.strip().lower(), value.strip()
        if self.headers.setdefault(name, value) != value:  # which is meant? a wrong length cuts, a wrong class teaches
            raise ProtocolError(76, "EX_PROTOCOL", f"two different lines {name[:40]}")

    def length(self, most: int) -> int | None:
        """Bytes that follow; None when the client sends until it closes."""
        text = self.headers.get("content-length")
        if self.command in ("PING", "SKIP"):
            return 0
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()) or len(text) > 12:
            raise ProtocolError(76, "EX_PROTOCOL", f"bad Content-length: {text[:40]}")
        if int(text) > most:
            raise too_large(most)
        return int(text)

    def put(self, body: bytes, most: int) -> None:
        """Take in the message; a compressed one grows to `most` bytes at the most."""
        self.message = unpacked(self, body, most)

    @property
    def user(self) -> str | None:
        """Whose filter is asked; None for the shared one."""
        return None if self.command in ("PING", "SKIP") else self.headers.get("user")

    @property
    def label(self) -> Label | None:
        """The label that a TELL asks to learn; None when it asks to forget."""
        return tell_wants(self)

    @property
    def learns(self) -> bool:
        """Whether something is learned; a TELL that says neither this nor what to forget is refused."""
        return self.command == "TELL" and self.label is not None


def our_failure(why: str) -> ProtocolError:
    """A failure of ours, or no room, which must never look like a verdict: mail servers try again."""
    return ProtocolError(75, "EX_TEMPFAIL", why)


def first_line(line: bytes) -> Request:
    """The request that a first line begins."""
    found = _FIRST.fullmatch(line)
    if found is None:
        raise ProtocolError(76, "EX_PROTOCOL", "bad header line: a request begins as in 'CHECK SPAMC/1.5'")
    command = found.group(1).decode()
    if command not in COMMANDS:
        raise ProtocolError(76, "EX_PROTOCOL", f"unknown command {command}")
    return Request(command, (int(found.group(2)), int(found.group(3))))


def unpacked(request: Request, body: bytes, most: int) -> bytes:
    """The message of a request; a compressed one grows to `most` bytes at the most."""
    how = request.headers.get("compress", "").lower()
    if not how:
        return body
    if how != "zlib":
        raise ProtocolError(76, "EX_PROTOCOL", f"Compress: {how[:40]} is not known; zlib is")
    reader = zlib.decompressobj()
    try:
        message = reader.decompress(body, most + 1)
    except zlib.error as error:
        raise ProtocolError(65, "EX_DATAERR", "the compressed message is damaged") from error
    if len(message) > most:
        raise too_large(most)
    if not reader.eof:
        raise ProtocolError(65, "EX_DATAERR", "the compressed message is cut short")
    return message


@dataclass(frozen=True)
class Manner:
    """How a server answers.

    Attributes
    ----------
    shadow : bool
        Whether mail servers are told that all mail is ham, and no message is marked: verdicts go to the history alone.
    reasons : int
        How many of the strongest words are written into the header.
    reject : bool
        Whether spam is refused over the milter protocol, and not only marked.
    """

    shadow: bool = False
    reasons: int = 0
    reject: bool = False


def answer(request: Request, mail: SpamFilter, manner: Manner) -> bytes:
    """The answer to a request other than TELL, which needs a commit first."""
    if request.command == "PING":
        return b"SPAMD/1.5 0 PONG\r\n"
    if request.command == "SKIP":
        return b""
    many = 20 if request.command in ("REPORT", "REPORT_IFSPAM", "SYMBOLS") else manner.reasons
    verdict = mail.classify(request.message, many)
    if manner.shadow:
        verdict = verdict.silent
    is_spam = verdict.label == "spam"
    spam_line = f"Spam: {is_spam} ; {scaled(verdict):.1f} / 5.0"
    body = b""
    if request.command == "SYMBOLS":
        body = ",".join(symbols(verdict)).encode()
    elif request.command == "REPORT" or (request.command == "REPORT_IFSPAM" and is_spam):
        body = report(verdict)
    elif request.command in ("PROCESS", "HEADERS"):
        styles = ("tally", "spamassassin")
        lines = fields(verdict, mail.model, styles)
        body = request.message if manner.shadow else marked(request.message, lines, styles)
        if request.command == "HEADERS":
            body = _head(body)
    return _answer(request, [spam_line], body)


def tell_wants(request: Request) -> Label | None:
    """The label that a TELL asks to learn; None when it asks to forget."""
    there = {part.strip() for part in request.headers.get("set", "").lower().split(",")}
    gone = {part.strip() for part in request.headers.get("remove", "").lower().split(",")}
    label = request.headers.get("message-class", "").lower()
    if "local" in there and label == "spam":
        return "spam"
    if "local" in there and label == "ham":
        return "ham"
    if "local" in gone:
        return None
    if "local" in there:
        raise ProtocolError(76, "EX_PROTOCOL", "TELL with Set: local needs Message-class: spam or ham")
    raise ProtocolError(76, "EX_PROTOCOL", "TELL needs Set: local or Remove: local")


def tell_answer(request: Request, did: str) -> bytes:
    """The answer to a TELL that set, removed or left things as they were ("DidSet", "DidRemove" or "")."""
    return _answer(request, [f"{did}: local"] if did else [], b"")


def symbols(verdict: Verdict) -> list[str]:
    """Names of the verdict and of its reasons, as SpamAssassin names tests."""
    names = [f"TALLY_{verdict.label.upper()}"]
    for reason in verdict.reasons:
        plain = re.sub(r"[^A-Z0-9]+", "_", f"{reason.view}_{reason.field}_{reason.text}".upper()).strip("_")
        if plain and plain[:60] not in names:
            names.append(plain[:60])
    return names


def report(verdict: Verdict) -> bytes:
    """A page for people: the verdict, a ruler, a line a reason."""
    lines = [
        f"Spam filter tallywise: {verdict.label}, probability {verdict.probability:.4f}",
        "",
        f"Content analysis details:   ({scaled(verdict):.1f} points, 5.0 required)",
        "",
        " pts rule name              description",
        "---- ---------------------- --------------------------------------------------",
    ]
    for reason in verdict.reasons:
        where = f"TALLY_{reason.view.upper()}"
        text = f"{reason.field}: {reason.text}" if reason.field else reason.text
        lines.append(f"{reason.adds:4.1f} {where:<22} {text[:50]}")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _head(message: bytes) -> bytes:
    ends = [message.find(gap) + len(gap) for gap in (b"\r\n\r\n", b"\n\n") if gap in message]
    return message[: min(ends)] if ends else message


def _answer(request: Request, lines: list[str], body: bytes) -> bytes:
    wide = request.version >= (1, 3)
    heads = list(lines)
    if wide or (body and request.command in ("PROCESS", "HEADERS")):
        heads.append(f"Content-length: {len(body)}")
    if not wide:
        # One header: PROCESS of such old clients has the length, all else the verdict.
        heads = heads[-1:] if request.command == "PROCESS" else heads[:1]
    version = "1.5" if wide else "1.1"
    return f"SPAMD/{version} 0 EX_OK\r\n".encode() + "".join(f"{line}\r\n" for line in heads).encode() + b"\r\n" + body
