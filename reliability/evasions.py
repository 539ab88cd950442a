"""What twenty rewritings of spam do to a filter that does not know them, beside bogofilter.

Both learn one half of SpamAssassin's archive. Of the spam of the other half, 200 messages with a readable text are
rewritten as those who send it do. `python -m reliability.evasions` prints, for each rewriting, the share that is caught
where 0.1 % of the ham of that half is flagged.
"""

import base64
import quopri
import random
import re
import shutil
from collections.abc import Callable

from reliability.attacks import FILTERS, Bogofilter, Ours, threshold
from tallywise.reading.mail import mail_text
from tests.mail import spamassassin

_OF_THE_BODY = re.compile(
    rb"^(?:mime-version|content-type|content-transfer-encoding)[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*", re.I | re.M
)
_LOOK_ALIKES = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
_LEET = str.maketrans("aeiost", "43105+")
_CHOSEN = 200  # messages rewritten

Rewriting = Callable[[str, str, random.Random], tuple[str, bytes]]  # text, text of a ham -> head lines, body


def _plain(text: str, encoding: str = "8bit", charset: str = "utf-8", kind: str = "plain") -> tuple[str, bytes]:
    data = text.encode(charset, "replace")
    if encoding == "base64":
        data = base64.encodebytes(data)
    elif encoding == "quoted-printable":
        data = quopri.encodestring(data)
    return f"Content-Type: text/{kind}; charset={charset}\nContent-Transfer-Encoding: {encoding}\n", data


def _html(body: str, encoding: str = "8bit") -> tuple[str, bytes]:
    return _plain(f"<html><body>{body}</body></html>", encoding, kind="html")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _words(text: str, change: Callable[[str], str]) -> str:
    return re.sub(r"[A-Za-z]{4,}", lambda found: change(found[0]), text)


def _hidden(style: str) -> Rewriting:
    return lambda text, ham, draw: _html(f'<div style="{style}">{_escaped(ham)}</div><p>{_escaped(text)}</p>')


REWRITINGS: dict[str, Rewriting] = {
    "as it is": lambda text, ham, draw: _plain(text),
    "base64": lambda text, ham, draw: _plain(text, "base64"),
    "quoted-printable": lambda text, ham, draw: _plain(text, "quoted-printable"),
    "HTML": lambda text, ham, draw: _html(_escaped(text)),
    "HTML, every letter an entity": lambda text, ham, draw: _html("".join(f"&#{ord(c)};" for c in text)),
    "HTML, empty tags in words": lambda text, ham, draw: _html(
        _words(_escaped(text), lambda w: w[:2] + "<b></b>" + w[2:])
    ),
    "HTML, comments in words": lambda text, ham, draw: _html(
        _words(_escaped(text), lambda w: w[:2] + "<!-- x -->" + w[2:])
    ),
    "ham text, display:none": _hidden("display:none"),
    "ham text, font-size:0": _hidden("font-size:0"),
    "ham text, visibility:hidden": _hidden("visibility:hidden"),
    "ham text in a comment": lambda text, ham, draw: _html(f"<!-- {ham.replace('--', '')} --><p>{_escaped(text)}</p>"),
    "ham text in a style sheet": lambda text, ham, draw: _html(f"<style>{ham}</style><p>{_escaped(text)}</p>"),
    "ham text in front": lambda text, ham, draw: _plain(f"{ham}\n\n{text}"),
    "ham text behind": lambda text, ham, draw: _plain(f"{text}\n\n{ham}"),
    "Cyrillic look-alikes": lambda text, ham, draw: _plain(text.translate(_LOOK_ALIKES)),
    "digits for letters": lambda text, ham, draw: _plain(text.translate(_LEET)),
    "s p a c e d letters": lambda text, ham, draw: _plain(_words(text, " ".join)),
    "dots in words": lambda text, ham, draw: _plain(_words(text, ".".join)),
    "zero-width spaces in words": lambda text, ham, draw: _plain(_words(text, lambda w: w[:2] + "\u200b" + w[2:])),
    "soft hyphens in words": lambda text, ham, draw: _plain(_words(text, lambda w: w[:2] + "\u00ad" + w[2:])),
    "misspelt words": lambda text, ham, draw: _plain(_words(text, lambda w: w[0] + w[2] + w[1] + w[3:])),
    "UTF-16": lambda text, ham, draw: _plain(text, "base64", "utf-16"),
    "an image alone": lambda text, ham, draw: (
        "Content-Type: image/png\nContent-Transfer-Encoding: base64\n",
        base64.encodebytes(draw.randbytes(6000)),
    ),
}


def rewritten(raw: bytes, ham: bytes, how: Rewriting, draw: random.Random) -> bytes:
    """A message with its text rewritten; the header stays but for the kind of the text."""
    text, other = (mail_text(one).partition("\n\n")[2][:8000] for one in (raw, ham))
    kind, body = how(text, other, draw)
    header = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n"
    return _OF_THE_BODY.sub(b"", header) + b"MIME-Version: 1.0\n" + kind.encode() + b"\n" + body


def with_header_of(raw: bytes, ham: bytes) -> bytes:
    """A message with the whole header of a ham message."""
    return (
        ham.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n\n" + raw.replace(b"\r\n", b"\n").partition(b"\n\n")[2]
    )


def caught() -> dict[str, dict[str, float]]:
    """Shares caught, by rewriting and filter."""
    stream, draw = spamassassin(), random.Random(0)
    half = len(stream) // 2
    ham, spam = ([raw for raw, label in stream[half:] if label == wanted] for wanted in ("ham", "spam"))
    spam = [raw for raw in spam if len(mail_text(raw).partition("\n\n")[2]) > 200][:_CHOSEN]
    others = [draw.choice(ham) for _ in spam]
    sent = {
        name: [rewritten(raw, other, how, draw) for raw, other in zip(spam, others, strict=True)]
        for name, how in REWRITINGS.items()
    }
    sent["the whole header of a ham"] = [with_header_of(raw, other) for raw, other in zip(spam, others, strict=True)]
    found: dict[str, dict[str, float]] = {name: {} for name in sent}
    for kind in (Ours, Bogofilter):
        name = next(name for name, other in FILTERS.items() if other is kind)
        if kind is Bogofilter and not shutil.which("bogofilter"):
            continue
        mail = kind()
        mail.learn(stream[:half])
        limit = threshold(mail.scores(ham))
        for how, raws in sent.items():
            found[how][name] = sum(score > limit for score in mail.scores(raws)) / len(raws)
    return found


def main() -> None:
    """Print the table of docs/spam.md."""
    table = caught()
    names = list(next(iter(table.values())))
    print(f"| rewriting | {' | '.join(names)} |")
    print("|---" * (len(names) + 1) + "|")
    for how, shares in table.items():
        print(f"| {how} | {' | '.join(f'{100 * share:.0f}' for share in shares.values())} |")


if __name__ == "__main__":
    main()
