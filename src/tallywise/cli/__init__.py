"""The ``tally`` command: thin, over the public API.

Exit codes: 0 done, 1 failure, 2 usage, 130 interrupted; ``tally spam filter`` has its own.
"""

import io
import os
import signal
import sys
from typing import Any


def main(arguments: list[str] | None = None) -> None:
    """Run ``tally`` and exit with its code."""
    _fill_closed_streams()
    given = sys.argv[1:] if arguments is None else arguments
    if given[:2] == ["spam", "filter"]:
        from tallywise.cli import _spam_pipe

        _spam_pipe.main(given[2:])
    if arguments is None and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `tally ... | head` ends as every other command does
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show is no failure
    from tallywise.cli import _commands

    _commands.run(given)


def _fill_closed_streams() -> None:
    """Put something in the place of standard streams that are closed, on which reading or writing fails.

    The next file that is opened would get their number, and what is printed would go into it.
    """
    for number, flags, name in ((0, os.O_WRONLY, "stdin"), (1, os.O_RDONLY, "stdout"), (2, os.O_WRONLY, "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free number
            raw: Any = io.FileIO(number, "w" if number else "r", closefd=False)
            setattr(sys, name, io.TextIOWrapper(raw if number else io.BufferedReader(raw), write_through=True))
