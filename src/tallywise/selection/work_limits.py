"""What a selection may cost: work, time and memory, known before it begins."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np

# Entries read by the fits of cross-validation, of which one fold is fitted in any case: about ten seconds of one core.
# The same on any machine, so that the same rows give the same model.
WORK = 8e8
GRACE = 1.0  # seconds after the time limit at which a fit without any model ends: with calls under way, within two
ROOM = 0.5  # of the memory that is free may be planned for: the rest is for texts, features and what is not counted


class TimeUpError(TimeoutError):
    """A fit was stopped because the user's time is up; what was fitted before it may still be used."""


class Deadline:
    """The end of the user's time, if there is one."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.late = False  # did it cut anything short?
        self._end = np.inf if seconds is None else time.perf_counter() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; infinity without a limit."""
        return float(self._end - time.perf_counter())

    def over(self, reserve: float = 0.0) -> bool:
        """Whether the time is up but for `reserve` seconds."""
        self.late |= self.left <= reserve
        return self.late

    @contextmanager
    def enforced(self, reserve: float = 0.0) -> Iterator[None]:
        """TimeUpError in the block once `reserve` seconds are left, in Python and in native code.

        By the alarm clock of the process (`cpp/core/base/interrupt.hpp`), which only its main thread can set:
        elsewhere, where the clock is in use, and on Windows, the block goes on to its end.
        """
        with self._alarm(self.left - reserve, TimeUpError("The time limit has passed.")):
            yield

    @contextmanager
    def bounded(self, task: str) -> Iterator[None]:
        """TimeoutError in the block `GRACE` seconds after the end, whatever it is doing: nothing is left to be used."""
        msg = f"The time limit of {self.seconds or 0:g} s has passed before there was a model of {task}."
        with self._alarm(self.left + GRACE, TimeoutError(f"{msg} Allow more time, or join rare classes.")):
            yield

    @contextmanager
    def _alarm(self, seconds: float, error: TimeoutError) -> Iterator[None]:
        if self._end == np.inf or not _alarm_is_free():
            yield
            return
        began, (outer, _), handler = time.perf_counter(), signal.getitimer(signal.ITIMER_REAL), _Alarm(error)
        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            if outer:
                signal.setitimer(signal.ITIMER_REAL, max(outer - (time.perf_counter() - began), 1e-6))


class _Alarm:
    """A handler that raises an error; its type says that the alarm clock is ours."""

    def __init__(self, error: TimeoutError) -> None:
        self._error = error

    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise self._error


def _alarm_is_free() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGALRM)
    free = handler == signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    return free or isinstance(handler, _Alarm)


def free_memory() -> float:
    """Bytes that the process can still take: of the machine, of its control group, and of its limit of addresses."""
    found = [_machine(), _group(), _addresses()]
    return min(found)


def _machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        if not hasattr(os, "sysconf"):
            return np.inf
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _group() -> float:
    """What is left of the control group's memory (version 2), as in a container."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        return np.inf if limit == "max" else float(limit) - float((folder / "memory.current").read_text("ascii"))
    except (OSError, ValueError):
        return np.inf


def _addresses() -> float:
    try:
        import resource
    except ImportError:
        return np.inf
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft == resource.RLIM_INFINITY:
        return np.inf
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        used = 0
    return float(max(soft - used, 0))
