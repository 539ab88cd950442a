"""Raw messages of files, Maildirs, mboxes and folders, one in memory at a time."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tallywise._private_files import private_folder

__all__ = ["private_folder", "raw_messages"]

LARGEST_MESSAGE = 64 << 20


def raw_messages(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, str]]:
    """Messages with where they were found.

    Parameters
    ----------
    path : path
        A message, an mbox, a Maildir (``cur`` and ``new``; messages on their way in ``tmp`` are left alone), any folder
        of these, or "-" for one message from standard input.

    Examples
    --------
    >>> from tallywise.spam import raw_messages
    >>> next(raw_messages("no/such/folder"))
    Traceback (most recent call last):
    ...
    tallywise.reading.encodings_and_limits.InputError: no/such/folder does not exist
    """
    if os.fspath(path) == "-":
        yield sys.stdin.buffer.read(LARGEST_MESSAGE), "standard input"
        return
    place = Path(path)
    if not place.exists():
        from tallywise.reading import InputError

        msg = f"{place} does not exist"
        raise InputError(msg)
    if not place.is_dir():
        yield from _file(place)
        return
    for folder, inner, files in os.walk(place):
        inner[:] = sorted(name for name in inner if name != "tmp" or not (Path(folder) / "cur").is_dir())
        for name in sorted(files):
            if _is_mail(name):
                yield from _file(Path(folder) / name)


def _is_mail(name: str) -> bool:
    """Whether a file of a folder may hold mail: not what Dovecot and others keep beside it."""
    return not name.startswith((".", "dovecot", "maildirfolder", "subscriptions", "courierimap"))


def _file(place: Path) -> Iterator[tuple[bytes, str]]:
    from tallywise.reading.mail import split_mbox  # a filter in a pipe starts without it

    if not place.is_file():  # a pipe or a device in a folder would wait for ever
        return
    with place.open("rb") as stream:
        start = stream.read(5)
        stream.seek(0)
        if not start:  # an mbox whose messages were all moved away, or a file that is being written
            return
        if start == b"From " and place.suffix != ".eml" and _several(place):
            for number, raw in enumerate(split_mbox(stream), 1):
                yield raw, f"{place}:{number}"
        else:
            yield stream.read(LARGEST_MESSAGE), str(place)


def _several(place: Path) -> bool:
    """Whether a file that begins as an mbox is one: single messages of some archives begin so too, and hold one."""
    with place.open("rb") as stream:
        stream.readline(1 << 16)
        line = stream.readline(1 << 16)
    return b":" in line
