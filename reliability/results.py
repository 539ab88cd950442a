"""What a measurement found: kept as JSON in reliability/results, shown by `reliability.table`."""

import datetime
import faulthandler
import json
import math
import platform
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallywise.plain_text import number as written

HERE = Path(__file__).parent
FOLDER = HERE / "results"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # for files that need not outlive the machine


@dataclass
class Measured:
    """One row of docs/reliability.md.

    Parameters
    ----------
    name : str
        Name of the file, and of the row for `reliability.run`.
    title : str
        What was done.
    claim : str
        What must hold each time.
    figures : mapping
        Numbers by what they count: ``{"mutations": 1000000, "with repaired checksums": 333333}``.
    wrong : list of str
        A line for each breach; empty when the claim held.
    command : str
        What measures it again.

    Examples
    --------
    >>> from reliability.results import Measured
    >>> Measured("draws", "coins drawn", "heads or tails", {"draws": 2000}).as_row()
    '| coins drawn | heads or tails | 2,000 draws | 0 |'
    """

    name: str
    title: str
    claim: str
    figures: Mapping[str, Any]
    wrong: list[str] = field(default_factory=list)
    command: str = ""

    def as_row(self) -> str:
        """A row of the table, without where it comes from."""
        return f"| {self.title} | {self.claim} | {shown(self.figures)} | {len(self.wrong):,} |"

    def keep(self, folder: Path = FOLDER) -> Path:
        """Write the file, with the commit and the day."""
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.name}.json"
        entry = {
            "name": self.name,
            "title": self.title,
            "claim": self.claim,
            "figures": dict(self.figures),
            "wrong": self.wrong,
            "command": self.command or f"python -m reliability.run {self.name} --full",
            "commit": BEGUN[0],
            "date": BEGUN[1],
            "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        }
        path.write_text(json.dumps(entry, indent=2, ensure_ascii=False) + "\n")
        return path


def shown(figures: Mapping[str, Any]) -> str:
    """Figures for people: "1,000,000 mutations, 33.3 % with repaired checksums"."""
    words = []
    for label, value in figures.items():
        number = f"{value:,}" if isinstance(value, int) else str(value)
        number = written(value, 3) if isinstance(value, float) else number
        words.append(f"{number} {label}")
    return ", ".join(words)


def commit() -> str:
    """The commit that is checked out, or "unknown" outside of a repository."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


BEGUN = commit(), datetime.date.today().isoformat()  # a long measurement is of the commit that it began with


def ended(reached: float, wanted: float) -> str:
    """What a title says of a measurement that stopped before it had all that was asked for.

    Examples
    --------
    >>> from reliability.results import ended
    >>> ended(100, 2000)
    ' (ended by a limit of time, at 5 % of what was asked for)'
    >>> ended(2000, 2000)
    ''
    """
    if reached >= wanted:
        return ""
    return f" (ended by a limit of time, at {written(100 * reached / wanted)} % of what was asked for)"


class Limit:
    """Whether a measurement has to end: after so many seconds, or when SIGTERM came to `reliability.run`.

    Examples
    --------
    >>> from reliability.results import Limit
    >>> Limit(None).over(), Limit(0).over()
    (False, True)
    """

    told = False  # to end, by a signal

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    def over(self) -> bool:
        """Whether it is time to end with what there is."""
        return Limit.told or time.monotonic() >= self._end


def end_when_told() -> None:
    """Let SIGTERM end measurements with what they have."""
    signal.signal(signal.SIGTERM, lambda number, frame: setattr(Limit, "told", True))


def kept(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Every kept result, by name."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def limit_processor_time(seconds: float) -> None:
    """End this process, with its traceback, when it has used so much more processor time; 0 for no limit.

    Of the processor and not of the clock: a machine that is busy with other things is no hang.
    """
    if not faulthandler.is_enabled():
        faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    signal.setitimer(signal.ITIMER_PROF, seconds)
