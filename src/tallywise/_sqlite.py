"""SQLite files of our programs, by apsw: readable by their owner alone, of one application, in whole transactions."""

import contextlib
import os
from collections.abc import Callable, Iterator

import apsw

from tallywise._private_files import correct_mode, private_file

_WAIT = 5000  # milliseconds for which another process may hold the file
_KINDS: dict[str, tuple[type[apsw.Error], ...]] = {
    "full": (apsw.FullError,),
    "locked": (apsw.BusyError, apsw.LockedError),
    "damaged": (apsw.NotADBError, apsw.CorruptError),
    "unusable": (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError),
}

Fail = Callable[[str, apsw.Error], None]


def connect(path: str | os.PathLike[str], *, make: bool) -> apsw.Connection:
    """Open a file; `make` makes one that is not there, for its owner alone. One that may only be read is opened so.

    Raises
    ------
    OSError
        When the file cannot be made.
    apsw.Error
        When it cannot be opened.
    """
    place = os.path.realpath(path)
    if make:
        private_file(place)
    for suffix in ("", "-wal", "-shm"):
        correct_mode(place + suffix, 0o600)
    name = os.fspath(path)
    try:
        db = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if make else 0))
    except apsw.CantOpenError:
        if make:
            raise
        db = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY)
    db.set_busy_timeout(_WAIT)
    return db


@contextlib.contextmanager
def failures(fail: Fail) -> Iterator[None]:
    """Tell `fail` of an error, to raise its own: "full", "locked", "damaged", "unusable" or "other"."""
    try:
        yield
    except apsw.Error as error:
        fail(next((name for name, kinds in _KINDS.items() if isinstance(error, kinds)), "other"), error)
        raise


@contextlib.contextmanager
def transaction(db: apsw.Connection, *, write: bool) -> Iterator[None]:
    """All of what is written inside is kept, or none; what is read is one state. Inside another it is part of that."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(apsw.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
        raise


def is_new(db: apsw.Connection) -> bool:
    """Whether nothing has been written yet."""
    return not db.pragma("schema_version")


def sign(db: apsw.Connection, application: int, version: int) -> None:
    """Say whose file it is, and of which version."""
    db.pragma("application_id", application)
    db.pragma("user_version", version)
