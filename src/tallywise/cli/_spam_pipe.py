"""``tally spam filter``: a message in, the same message with a verdict out.

Mail servers start it for each message, so it imports neither click nor NumPy. Whatever fails, the message passes
unchanged and the exit code is 75 (EX_TEMPFAIL of sysexits.h): 0, 1 and 2 are verdicts to those who ask for them.
"""

import os
import signal
from typing import Any, NoReturn

_TEMPFAIL = 75
_HELD = (
    8 << 20
)  # bytes of a message that are judged; its header must lie within them, the rest is passed on as it comes
_PIECE = 1 << 16  # what a pipe of Linux holds
_PATIENCE = 1.0  # seconds without a byte after which a message whose sender hangs is ended, once a signal said so
EXITS = {
    "plain": {"spam": 0, "ham": 0, "unsure": 0},
    "bogofilter": {"spam": 0, "ham": 1, "unsure": 2},
    "spamc": {"spam": 1, "ham": 0, "unsure": 0},
}


class _EndSignal(BaseException):
    """A signal came while the message was judged."""


class _Message:
    """The message on standard input: as much of it as is held, and the rest, which goes by."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._ended = False
        self._reserve: bytearray | None = bytearray(4 * _PIECE)  # memory to go on with where there is no more
        self._judging = self._told = False

    def listen(self) -> None:
        """Let signals end the judging, not the message."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._signalled)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a reader that is gone is a failure: the code must say so

    def _signalled(self, number: int, frame: object) -> None:
        if self._told:  # the second time: whoever reads the message does not take it
            os._exit(_TEMPFAIL)
        self._told = True
        if self._judging:
            raise _EndSignal(signal.Signals(number).name)

    def begin(self) -> bytes:
        """The beginning of the message, which is held; all of most messages."""
        size = 0
        while size < _HELD and (piece := self._read()):
            self._pieces.append(piece)
            size += len(piece)
        self._judging = True
        if self._told:
            msg = "signal"
            raise _EndSignal(msg)
        self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    @property
    def whole(self) -> bool:
        """Whether all of it is held."""
        return self._ended

    def _read(self) -> bytes:
        """The next bytes; none at the end."""
        import select

        while not self._ended:
            if not select.select([0], [], [], _PATIENCE)[0]:
                self._ended = self._told
                continue
            piece = os.read(0, _PIECE)
            self._ended = not piece
            return piece
        return b""

    def finish(self, code: int, begin: bytes | None = None) -> NoReturn:
        """Write the message, with `begin` for what is held of it, and end the process with `code`."""
        self._judging, self._reserve = False, None
        try:
            for piece in self._pieces if begin is None else [begin]:
                _write(piece)
            self._pieces = []
            while piece := self._read():
                _write(piece)
        except BaseException as error:
            _say(error)
            code = _TEMPFAIL
        os._exit(code)  # the message is out: nothing that happens on the way down may change the answer


_message = _Message()


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(1, rest[: 1 << 20]) :]
        except BlockingIOError:
            import select

            select.select([], [1], [])


def _say(error: BaseException) -> None:
    try:
        os.write(2, f"tally spam filter: {str(error) or type(error).__name__}\n".encode("utf-8", "replace"))
    except BaseException:  # nobody listens
        return


def _one_of(names: Any) -> Any:
    def chosen(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return chosen


def options(arguments: list[str]) -> dict[str, Any] | None:
    """What plain arguments ask for; None for all else (help, mistakes), which is for click to answer."""
    from tallywise.cli._spam_filters import MODELS, budget, user_name
    from tallywise.spam import STYLES

    once = {
        "--store": str,
        "--user": user_name,
        "--model": _one_of(MODELS),
        "--max-flagged": budget,
        "--exit-code": _one_of(EXITS),
    }
    often = {"--trust": str, "--headers": _one_of(STYLES)}
    found: dict[str, Any] = {"store": None, "user": None, "model": None, "max_flagged": None, "exit_code": "plain"}
    many: dict[str, list[str]] = {"trust": [], "headers": []}
    rest = list(arguments)
    found["reasons"] = "--reasons" in rest
    rest = [word for word in rest if word != "--reasons"]
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not equals:
            value = rest.pop(0) if rest else "-"
        if value.startswith("-") or name not in (once | often):
            return None
        key = name[2:].replace("-", "_")
        try:
            if name in once:
                found[key] = once[name](value)
            else:
                many[key].append(often[name](value))
        except ValueError:
            return None
    return found | {name: tuple(values) for name, values in many.items()}


def main(arguments: list[str]) -> NoReturn:
    """Run the command with these arguments and end the process."""
    _message.listen()
    try:
        found = options(arguments)
        if found is not None:
            run(**found)
        from tallywise.cli import _commands

        _commands.run(["spam", "filter", *arguments])
    except SystemExit as end:  # of click, which has said what it has to say
        if not end.code:
            raise
    except BaseException as error:
        _say(error)
    _message.finish(_TEMPFAIL)


def run(exit_code: str, headers: tuple[str, ...], reasons: bool = False, **where: Any) -> NoReturn:
    """Mark the message on standard input and end the process with the code of its verdict."""
    try:
        begin, label = _marked(headers, reasons, where)
        code = EXITS[exit_code][label]
    except BaseException as error:
        _say(error)
        _message.finish(_TEMPFAIL)
    _message.finish(code, begin)


def _marked(headers: tuple[str, ...], reasons: bool, where: dict[str, Any]) -> tuple[bytes, str]:
    raw = _message.begin()
    from tallywise.cli._spam_filters import open_filter
    from tallywise.spam import fields, marked
    from tallywise.spam.marking import REASONS, header_span

    if not _message.whole and header_span(raw)[1] == len(raw):
        msg = f"the header is larger than {_HELD} bytes"
        raise ValueError(msg)
    mail = open_filter(**where, read_only=True)
    verdict = mail.classify(raw, REASONS if reasons else 0)
    styles = ("tally", *(style for style in headers if style != "tally"))
    return marked(raw, fields(verdict, mail.model, styles), styles), verdict.label
