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
_NAME = re.compile(rb"([!-9;-~]+)[ \t]*:")


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
    head, body = _split(raw, start)
    first = raw.find(b"\n")
    end = b"\r\n" if first > 0 and raw[first - 1 : first] == b"\r" else b"\n"
    gone = {name for style in styles for name in _OURS[style]}
    kept = [field for field in head if _field_name(field) not in gone]
    own = b"".join(line.encode("ascii", "replace") + end for line in lines)
    gap = end if not kept and body and not body.startswith((b"\n", b"\r\n")) else b""
    return raw[:start] + own + b"".join(kept) + gap + body


def header_fields(raw: bytes) -> list[bytes]:
    """Fields of a header, each with its continuation lines."""
    return _split(raw, _start(raw))[0]


def _start(raw: bytes) -> int:
    """Where the header begins: behind the line by which an mbox parts messages."""
    return raw.find(b"\n") + 1 or len(raw) if raw.startswith((b"From ", b">From ")) else 0


def _split(raw: bytes, start: int) -> tuple[list[bytes], bytes]:
    """Fields with their continuation lines, and the rest from the empty line on."""
    found: list[bytes] = []
    place = field = start
    while place < len(raw):
        end = raw.find(b"\n", place) + 1 or len(raw)
        line = raw[place : min(end, place + 200)]
        goes_on = line[:1] in (b" ", b"\t") and place > start
        if not goes_on:
            if place > field:
                found.append(raw[field:place])
                field = place
            if not _NAME.match(line):
                return found, raw[place:]
        place = end
    if place > field:
        found.append(raw[field:place])
    return found, b""


def _field_name(field: bytes) -> bytes:
    found = _NAME.match(field[:200])
    return found.group(1).lower() if found else b""
