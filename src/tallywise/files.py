"""Output files: none is written over an input, and each is replaced whole or not at all.

Everything here that writes a file for a user goes through `replacing`; what reads files, too, calls
`refuse_overwrite` before it starts. Files are compared by device and number, so that links, relative paths and names in
another case on file systems that ignore case are the same file.
"""

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import IO

from tallywise.errors import OverwriteError

Path_ = str | os.PathLike[str]
STANDARD_STREAM = "-"  # among inputs standard input, among outputs standard output


def refuse_overwrite(outputs: Iterable[Path_], inputs: Iterable[Path_]) -> None:
    """Raise `OverwriteError` where an output is a file that is read, or another output, under whatever name.

    Parameters
    ----------
    outputs : iterable of path
        Files that will be written; "-" for standard output.
    inputs : iterable of path
        Files that will be read; "-" for standard input. They are not looked at where no output exists yet.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.files import refuse_overwrite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data, link = pathlib.Path(folder, "data.csv"), pathlib.Path(folder, "model.tally")
    ...     _ = data.write_text("text,label")
    ...     link.symlink_to(data)
    ...     try:
    ...         refuse_overwrite([link], [data])
    ...     except ValueError as error:
    ...         print(str(error).replace(folder + "/", ""))
    model.tally is the file data.csv, which is read: it would be written over. Choose another name.
    """
    there: dict[tuple[int, int], Path_] = {}
    places: set[str] = set()
    for output in outputs:
        found = _identity(output, sys.stdout)
        place = _place(output)
        if (found is not None and found in there) or place in places:
            msg = f"{os.fspath(output)} would be written twice. Choose another name for one of the two."
            raise OverwriteError(msg)
        if output != STANDARD_STREAM:
            places.add(place)
        if found is not None:
            there[found] = output
    if not there:
        return
    for name in inputs:
        found = _identity(name, sys.stdin)
        if found in there:
            msg = (
                f"{_shown(there[found], 'standard output')} is the file {_shown(name, 'on standard input')}, which is "
                "read: it would be written over. Choose another name."
            )
            raise OverwriteError(msg)


def _shown(name: Path_, stream: str) -> str:
    return stream if name == STANDARD_STREAM else os.fspath(name)


def _identity(name: Path_, stream: IO[str] | None) -> tuple[int, int] | None:
    """Device and number of a regular file; None for what is none, or is not there."""
    try:
        if name == STANDARD_STREAM:
            found = os.fstat(stream.fileno()) if stream is not None else None
        else:
            found = os.stat(name)
    except (OSError, ValueError):  # no such file, a name with a zero in it, a stream that is no file
        return None
    return (found.st_dev, found.st_ino) if found is not None and stat.S_ISREG(found.st_mode) else None


def _place(name: Path_) -> str:
    """Where a file is written: links are followed, so that they stay, and what they name is replaced."""
    return os.path.realpath(name)


@contextlib.contextmanager
def replacing(target: Path_, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A stream whose content replaces `target` when, and only when, the block ends without an error.

    The new file is written beside the old one, synced, and renamed. It keeps the old one's permissions and, where that
    is allowed, its owner. Where `target` is a link, the link stays. A `private` file has no permissions for all users.

    Raises
    ------
    OSError
        For a folder, and for what is there and no file: a device would be replaced, too.
    """
    place = _place(target)
    old = _old(target)
    # 50 characters of the name are at most 200 bytes; most file systems allow 255.
    fresh = os.path.join(os.path.dirname(place), f".{os.path.basename(place)[:50]}.{secrets.token_hex(8)}")
    made = False
    try:
        # Nobody else reads a private file while it is written; a new one gets the permissions of every new file.
        mode = 0o666 if old is None and not private else 0o600
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        made = True
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if old is not None:
            _keep_owner(fresh, old)
            os.chmod(fresh, old.st_mode & (0o770 if private else 0o777))
        os.replace(fresh, place)
        _sync_folder(os.path.dirname(place))
    except BaseException as error:
        if made:
            with contextlib.suppress(OSError):
                os.unlink(fresh)
        if isinstance(error, OSError) and error.filename in (None, fresh):  # a full disk, for one
            raise OSError(error.errno, error.strerror, os.fspath(target)) from None
        raise


_BINARY = getattr(os, "O_BINARY", 0)  # Windows has it


def _old(target: Path_) -> os.stat_result | None:
    """The file that is to be replaced, if there is one."""
    name = os.fspath(target)
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", name)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", name)
    return found


def _keep_owner(fresh: str, old: os.stat_result) -> None:
    """Owner and group of the old file; only the administrator may give files away."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(fresh, old.st_uid, old.st_gid)


def _sync_folder(folder: str) -> None:
    """Let a new name survive a power cut, on systems that can sync a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def writing(target: Path_) -> Iterator[IO[bytes]]:
    """As `replacing`; standard output ("-"), devices and pipes are written to as they are."""
    if target == STANDARD_STREAM:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif _is_stream(target):
        with open(target, "wb") as stream:
            yield stream
    else:
        with replacing(target) as stream:
            yield stream


def _is_stream(target: Path_) -> bool:
    """Whether a name is a device, a pipe, or one of this process's own streams (/dev/stdout, /dev/fd/3)."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return False
    own = os.path.abspath(target).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/"))
    return not stat.S_ISDIR(mode) and (own or not stat.S_ISREG(mode))
