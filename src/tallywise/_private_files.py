"""Files that hold private texts: readable and writable by their owner alone.

Only rights of all other users are taken away from what is there: rights of a group are an administrator's decision
(``chmod 660``), and stay.
"""

import contextlib
import os
import stat

_FOR_OTHERS = stat.S_IRWXO


def private_file(path: str | os.PathLike[str]) -> None:
    """Make an empty file of mode 600, or correct the mode of one that all users may read, and say so.

    Call it before a database opens the file: what SQLite makes beside it (``-wal``, ``-shm``) gets its mode.

    Parameters
    ----------
    path : path
        The file.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
        return
    correct_mode(path, 0o600)


def private_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder of mode 700, or correct the mode of one that all users may read, and say so.

    Parameters
    ----------
    path : path
        A folder that belongs to this program: never one that a user merely named.
    """
    os.makedirs(path, mode=0o700, exist_ok=True)
    correct_mode(path, 0o700)


def correct_mode(path: str | os.PathLike[str], mode: int) -> None:
    """Give a file or folder of ours `mode` where all users have rights on it, and say so; devices and links stay.

    Parameters
    ----------
    path : path
        A file or folder; nothing happens where it is absent or belongs to someone else.
    mode : int
        The rights to leave.
    """
    try:
        found = os.lstat(path)
        if not found.st_mode & _FOR_OTHERS or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return
        os.chmod(path, mode)
    except OSError:  # absent, or of another owner, whose decision it is
        return
    import logging  # a filter in a pipe starts without it

    logging.getLogger("tallywise").warning(
        "%s could be read by all users of this machine (mode %o): corrected to %o. It holds private texts.",
        os.fspath(path),
        stat.S_IMODE(found.st_mode),
        mode,
    )


def write_private(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that is private, whole or not at all.

    Parameters
    ----------
    path : path
        The file; an older one is replaced.
    data : bytes
        Its contents.
    """
    from tallywise.files import replacing  # a filter in a pipe starts without it

    with replacing(path, private=True) as stream:
        stream.write(data)
