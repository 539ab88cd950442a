"""``tally spam filter``: a message in, the same message with a verdict out.

Mail servers start it for each message, so it imports neither click nor NumPy.
"""

import os
import sys
from typing import Any

from tallywise.cli._filters import MODELS, budget, open_filter, user_name
from tallywise.spam import STYLES

_TEMPFAIL = 75  # EX_TEMPFAIL of sysexits.h: mail servers try again
EXITS = {
    "plain": {"spam": 0, "ham": 0, "unsure": 0},
    "bogofilter": {"spam": 0, "ham": 1, "unsure": 2},
    "spamc": {"spam": 1, "ham": 0, "unsure": 0},
}


def _one_of(names: Any) -> Any:
    def chosen(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return chosen


_ONCE = {
    "--store": str,
    "--user": user_name,
    "--model": _one_of(MODELS),
    "--max-flagged": budget,
    "--exit-code": _one_of(EXITS),
}
_MANY = {"--trust": str, "--headers": _one_of(STYLES)}


def options(arguments: list[str]) -> dict[str, Any] | None:
    """What plain arguments ask for; None for all else (help, mistakes), which is for click to answer."""
    found: dict[str, Any] = {"store": None, "user": None, "model": None, "max_flagged": None, "exit_code": "plain"}
    many: dict[str, list[str]] = {"trust": [], "headers": []}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not equals:
            value = rest.pop(0) if rest else "-"
        if value.startswith("-") or name not in (_ONCE | _MANY):
            return None
        key = name[2:].replace("-", "_")
        try:
            if name in _ONCE:
                found[key] = _ONCE[name](value)
            else:
                many[key].append(_MANY[name](value))
        except ValueError:
            return None
    return found | {name: tuple(values) for name, values in many.items()}


def run(exit_code: str, headers: tuple[str, ...], **where: Any) -> None:
    """Mark the message on standard input and end the process with the code of its verdict.

    On a failure of the filter the message passes unchanged and the code is 75 (EX_TEMPFAIL); so it is when the message
    cannot be read or written: the code of any other failure, 1, may mean ham.
    """
    try:
        _mark(exit_code, headers, where)
    except OSError as error:
        print(f"tally spam filter: {error}", file=sys.stderr, flush=True)
        os._exit(_TEMPFAIL)


def _mark(exit_code: str, headers: tuple[str, ...], where: dict[str, Any]) -> None:
    raw = sys.stdin.buffer.read()
    styles = ("tally", *(style for style in headers if style != "tally"))
    try:  # what may fail to load, too, is imported here
        from tallywise.spam import fields, marked

        mail = open_filter(**where, read_only=True)
        verdict = mail.classify(raw)
        out, code = marked(raw, fields(verdict, mail.model, styles), styles), EXITS[exit_code][verdict.label]
    except Exception as error:
        print(f"tally spam filter: {error}", file=sys.stderr, flush=True)
        out, code = raw, _TEMPFAIL
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()
    os._exit(code)  # the message is out: nothing that happens on the way down may change the answer
