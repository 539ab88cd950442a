"""A verdict written into a message's header, everything else byte for byte as it came."""

import re
from collections.abc import Sequence

from tallywise.spam.verdict import Reason, Verdict

FIELD, REASON_FIELD = "X-Tally-Spam", "X-Tally-Reason"
REASONS = 5  # in a header
_LONGEST_REASON = 40
STYLES = ("tally", "spamassassin", "bogofilter")

_OURS = {
    "tally": (b"x-tally-spam", b"x-tally-reason"),
    "spamassassin": (b"x-spam-flag", b"x-spam-status", b"x-spam-level"),
    "bogofilter": (b"x-bogosity",),
}
# Lines by which an mbox parts messages; there may be several, and "From : a@x.example" is a field.
_MBOX = re.compile(rb"(?:(?:From (?![ \t]*:)|>From )[^\n]*+(?:\n|\Z))*+")
_EMPTY_LINE = re.compile(rb"\n\r?\n")
_FOLDED = re.compile(rb"(?:[ \t][^\n]*+\n)*+")
# A field is a name, a colon, and lines of which all but the first begin with a blank. Nothing is tried twice (`*+`), so
# that a header of any size is read in linear time and without a stack.
_REST = rb"[^\n]*+(?:\n[ \t][^\n]*+)*+\n?+"
_FIELD = re.compile(rb"(?<![^\n])[!-9;-~]{1,199}+[ \t]{0,199}+:" + _REST)
# One of ours, with blanks or control characters before the colon, as lenient mail readers allow. Some of them end lines
# at a lone CR, too: a field there gets another name, so that all lines stay what they are.
_BEFORE_COLON = rb"[\0-\t\v-\x20\x7f]*+:"
_FORGED = rb"(?i)(?<![^\n])(?:%s)" + _BEFORE_COLON + _REST
_FORGED_BEHIND_CR = rb"(?i)(?<=\r)(?:%s)(?=" + _BEFORE_COLON + rb")"
_OTHER_NAME = b"X-Removed"


def fields(verdict: Verdict, model: str, styles: Sequence[str] = ("tally",)) -> list[str]:
    """Header lines that state a verdict, in the manner of each style."""
    lines = []
    if "tally" in styles:
        listed = f', listed="{verdict.listed}"' if verdict.listed else ""
        lines.append(f"{FIELD}: {verdict.label}, probability={verdict.probability:.6f}, model={model}{listed}")
        if verdict.reasons:
            words = {reason.text: reason for reason in reversed(verdict.reasons)}  # the same of several fields once
            lines.append(f"{REASON_FIELD}: {', '.join(_clean(words[text]) for text in reversed(words))}")
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


def _clean(reason: Reason) -> str:
    """A reason as plain ASCII that no rule for headers and no reader of them can stumble over."""
    text = re.sub(r"[^A-Za-z0-9 .@$%&*+/-]+", "?", reason.text)[:_LONGEST_REASON].strip()
    return f"{text} ({reason.adds:+.2f})"


def scaled(verdict: Verdict) -> float:
    """The score as SpamAssassin's users read one: 5 or more is spam, less is not."""
    shown = 5.0 + (verdict.score - verdict.threshold)
    return max(shown, 5.0) if verdict.label == "spam" else min(shown, 4.9)


def marked(raw: bytes, lines: Sequence[str], styles: Sequence[str] = ("tally",)) -> bytes:
    """The message with `lines` at the head of its header; older fields of those names are taken out.

    A forged field of ours must not reach the reader's rules. It is taken out wherever a mail reader could find it: some
    end the header at a line that is no field, others read on to the first empty line.
    """
    start, end = header_span(raw)
    names = b"|".join(name for style in styles for name in _OURS[style])
    kept = re.sub(_FORGED_BEHIND_CR % names, _OTHER_NAME, re.sub(_FORGED % names, b"", raw[start:end]))
    folded = _FOLDED.match(kept)
    first = folded.end() if folded else 0  # a line that begins with a blank would continue the field put before it
    line_end = _line_end(raw)
    own = b"".join(line.encode("ascii", "replace") + line_end for line in lines)
    # Text without any field is a body: it gets the empty line that it lacks.
    gap = b"" if _FIELD.search(kept) or not kept[first:] else line_end
    return b"".join((raw[:start], kept[:first], own, gap, kept[first:], raw[end:]))


def header_span(raw: bytes) -> tuple[int, int]:
    """Where the header begins, behind all lines by which an mbox parts messages, and ends: at the first empty line."""
    mbox = _MBOX.match(raw)
    start = mbox.end() if mbox else 0
    if raw.startswith((b"\n", b"\r\n"), start):
        return start, start
    empty = _EMPTY_LINE.search(raw, start)
    return start, empty.start() + 1 if empty else len(raw)


def header_fields(raw: bytes) -> list[bytes]:
    """Fields of a header, each with its continuation lines."""
    start, end = header_span(raw)
    return _FIELD.findall(raw[start:end])


def _line_end(raw: bytes) -> bytes:
    first = raw.find(b"\n")
    return b"\r\n" if first > 0 and raw[first - 1 : first] == b"\r" else b"\n"
