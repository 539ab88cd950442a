"""The ``tally`` command in processes that start within milliseconds: forked from one that has imported everything.

Importing takes a second of the processor, ten times what a kill or a restart itself costs. Files are kept in memory
where the system has a folder for that: a kill, unlike a power cut, loses nothing that was written.
"""

import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from reliability.results import MEMORY
from tests.serving import SERVE, answering, messages

_CONTEXT: Any = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "reliability.children",
        *("tallywise.cli._commands", "tallywise.cli.serve", "tallywise.cli.spam", "tallywise.cli.spam_serve"),
        *("tallywise.serve", "tallywise.serve.training", "tallywise.text_model"),
    ]
)


class Tally:
    """``tally`` with these arguments in a process of its own, with as much of `subprocess.Popen` as is needed."""

    def __init__(self, *arguments: object) -> None:
        here, there = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_run, args=([str(argument) for argument in arguments], there))
        self._process.start()
        there.close()
        self.stdout: TextIO = os.fdopen(os.dup(here.fileno()), encoding="utf-8")  # what it prints, and its errors
        here.close()
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """The exit code of a process that has ended, or nothing."""
        code: int | None = self._process.exitcode
        return code

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(["tally"], timeout or 0.0)
        return int(self._process.exitcode)

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


_services = itertools.count()


def service(store: Path) -> Any:
    """A service over HTTP with that store.

    Nine of ten serve a model that knows more than they will be told, so that no fit follows what they learn: the
    learner's process is begun anew and imports more than all else costs. The tenth fits.
    """
    model = [] if next(_services) % 10 == 9 else [Path(_model().name, "m.tally")]
    return answering(Tally(*SERVE, *model, "--store", store, "--model", "multinomial_nb", "--time-limit", "1"))


@cache
def _model() -> "tempfile.TemporaryDirectory[str]":
    from tallywise import TextClassifier

    folder = tempfile.TemporaryDirectory(dir=MEMORY)
    texts, labels = zip(*messages(10_000), strict=True)
    TextClassifier("multinomial_nb", cv=2).fit(list(texts), list(labels)).save(Path(folder.name, "m.tally"))
    return folder


def _run(arguments: list[str], out: Any) -> None:
    from tallywise.cli import main

    for descriptor in (1, 2):
        os.dup2(out.fileno(), descriptor)
    out.close()
    sys.stdout, sys.stderr = (open(descriptor, "w", closefd=False) for descriptor in (1, 2))  # of what is there now
    main(arguments)
