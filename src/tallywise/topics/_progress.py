"""A bar for long fits: on a terminal, and only once two seconds have passed."""

import sys
import time
from typing import Any


class Bar:
    """Shows sweeps done and perplexity; does nothing on a pipe or for a short fit."""

    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._began = time.perf_counter()
        self._progress: Any = None
        self._task: Any = None

    def show(self, done: int, perplexity: float) -> None:
        """Update the bar."""
        if self._progress is None:
            if time.perf_counter() - self._began < 2.0 or not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task(self._title, total=self._total)
        text = f"{self._title}: perplexity {perplexity:.1f}"
        self._progress.update(self._task, completed=done, description=text)

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
