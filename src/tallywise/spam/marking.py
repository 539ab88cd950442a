"""A verdict written into a message's header, everything else byte for byte as it came."""

import re
from collections.abc import Sequence

from tallywise.spam.verdict import Verdict

FIELD = "X-Tally-Spam"
STYLES = ("tally", "spamassassin", "bogofilter")

_OURS = {
    "tally": (b"x-tally-spam",),
    "spamassassin": (b"x-spam-flag", b"x-spam-status", b"x-spam-level"),
    "bogofilter": (b"x-bogosity",),
}
# A field is a name, a colon, and lines of which all but the first begin with a blank. Nothing is tried twice (`*+`), so
# that a header of any size is read in linear time and without a stack.
_REST = rb"[^\n]*+(?:\n[ \t][^\n]*+)*+\n?+"
_FIELD = rb"[!-9;-~]{1,199}+[ \t]{0,199}+:" + _REST
_HEADER = re.compile(rb"(?:%s)*+" % _FIELD)


def fields(verdict: Verdict, model: str, styles: Sequence[str] = ("tally",)) -> list[str]:
    """Header lines that state a verdict, in the manner of each style."""
    lines = []
    if "tally" in styles:
        lines.append(f"{FIELD}: {verdict.label}, probability={verdict.probability:.6f}, model={model}")
    if "spamassassin" in styles:
        yes = verdict.label == "spam"
        if yes:  # SpamAssassin writes it on spam alone, and spamass-milter refuses all mail that has it
            lines.append("X-Spam-Flag: YES")
        lines.append(f"X-Spam-Level: {'*' * max(0, min(50, int(scaled(verdict))))}")
        lines.append(
            f"X-Spam-Status: {'Yes' if yes else 'No'}, score={scaled(verdict):.1f} required=5.0 tests=TALLYWISE"
        )
    if "bogofilter" in styles:
        word = {"spam": "Spam", "ham": "Ham", "unsure": "Unsure"}[verdict.label]
        lines.append(f"X-Bogosity: {word}, tests=bogofilter, spamicity={verdict.probability:.6f}, version=tallywise")
    return lines


def scaled(verdict: Verdict) -> float:
    """The score as SpamAssassin's users read one: 5 or more is spam, less is not."""
    shown = 5.0 + (verdict.score - verdict.threshold)
    return max(shown, 5.0) if verdict.label == "spam" else min(shown, 4.9)


def marked(raw: bytes, lines: Sequence[str], styles: Sequence[str] = ("tally",)) -> bytes:
    """The message with `lines` at the head of its header; older fields of those names are taken out.

    A forged field of ours must not reach the reader's rules, so those that came with the message go.
    """
    start = _start(raw)
    end = _end(raw, start)
    first = raw.find(b"\n")
    line_end = b"\r\n" if first > 0 and raw[first - 1 : first] == b"\r" else b"\n"
    names = b"|".join(name for style in styles for name in _OURS[style])
    kept = re.sub(rb"(?im)^(?:%s)[ \t]*:%s" % (names, _REST), b"", raw[start:end])
    own = b"".join(line.encode("ascii", "replace") + line_end for line in lines)
    gap = line_end if not kept and end < len(raw) and not raw.startswith((b"\n", b"\r\n"), end) else b""
    return b"".join((raw[:start], own, kept, gap, raw[end:]))


def header_fields(raw: bytes) -> list[bytes]:
    """Fields of a header, each with its continuation lines."""
    start = _start(raw)
    return re.findall(_FIELD, raw[start : _end(raw, start)])


def _start(raw: bytes) -> int:
    """Where the header begins: behind the line by which an mbox parts messages."""
    return raw.find(b"\n") + 1 or len(raw) if raw.startswith((b"From ", b">From ")) else 0


def _end(raw: bytes, start: int) -> int:
    """Where the header ends: before the first line that is neither a field nor the continuation of one."""
    found = _HEADER.match(raw, start)
    return found.end() if found else start
