"""The ``tally`` command: thin, over the public API.

Exit codes: 0 done, 1 failure, 2 usage, 130 interrupted.
"""

import signal
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run ``tally`` and exit with its code."""
    if arguments is None and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `tally ... | head` ends as every other command does
    given = sys.argv[1:] if arguments is None else arguments
    if given[:2] == ["spam", "filter"]:
        from tallywise.cli import _pipe

        if (options := _pipe.options(given[2:])) is not None:
            _pipe.run(**options)
    from tallywise.cli import _group

    _group.run(given)
