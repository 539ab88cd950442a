"""Work that is no longer wanted ends: whoever gave it says so, and long loops ask."""

import contextlib
import threading
from collections.abc import Iterator

from tallywise.errors import TallywiseError

_local = threading.local()


class StoppedError(TallywiseError):
    """The work was given up by who asked for it."""


@contextlib.contextmanager
def stopped_by(event: threading.Event) -> Iterator[None]:
    """Let `check` on this thread end the work inside once the event is set.

    Examples
    --------
    >>> import threading
    >>> from tallywise import _stopping
    >>> gone = threading.Event()
    >>> with _stopping.stopped_by(gone):
    ...     _stopping.check()
    """
    before = getattr(_local, "event", None)
    _local.event = event
    try:
        yield
    finally:
        _local.event = before


def check() -> None:
    """End the work on this thread if nobody waits for it any more; for loops whose steps are short."""
    event = getattr(_local, "event", None)
    if event is not None and event.is_set():
        msg = "The work was given up."
        raise StoppedError(msg)
