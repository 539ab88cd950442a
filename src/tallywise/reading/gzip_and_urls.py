"""Bytes of an input, wherever it lies and however it is packed: paths, URLs, gzip, zstd, standard input."""

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tallywise.reading.encodings_and_limits import InputError

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
PACKED = (".gz", ".zst", ".zstd")
STANDARD_INPUT = "standard input"
_CHUNK = 1 << 18
_GZIP = b"\x1f\x8b"
_kept: list[bytes] = []  # what standard input held, while a command needs to read it more than once


def is_url(name: str) -> bool:
    """Whether a name is a URL, for fsspec to open."""
    return _URL.match(name) is not None


@contextmanager
def whole_input(name: str) -> Iterator[str]:
    """A name that can be opened again and again; for "-", standard input is read to its end and kept meanwhile."""
    if name != "-":
        yield name
        return
    content = sys.stdin.buffer.read()
    if content.startswith(_GZIP):
        content = _Unpacked(gzip.GzipFile(fileobj=io.BytesIO(content)), io.BytesIO(), STANDARD_INPUT).readall()
    if not content:
        msg = f"{STANDARD_INPUT} is empty"
        raise InputError(msg)
    _kept.append(content)
    try:
        yield STANDARD_INPUT
    finally:
        _kept.clear()


def is_kept(name: str) -> bool:
    """Whether a name is standard input that has been read to its end."""
    return name == STANDARD_INPUT and bool(_kept)


def suffix(name: str) -> str:
    """The ending that says what a file holds, in lower case; that of its packing is passed over."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.suffix.lower() in PACKED:
        place = place.with_suffix("")
    return place.suffix.lower()


def open_bytes(name: str, *, unpack: bool = True) -> IO[bytes]:
    """Open a path, a URL or standard input; gzip and zstd are recognised by the name's ending and unpacked as read.

    Raises
    ------
    InputError
        When what would be needed to read it is not installed.
    """
    if name == STANDARD_INPUT:
        return io.BytesIO(_kept[0]) if _kept else sys.stdin.buffer
    packing = PurePosixPath(name).suffix.lower() if unpack else ""
    stream: Any = file_system(name).open(name, "rb") if is_url(name) else Path(name).open("rb")
    if packing in PACKED:
        unpacked = gzip.GzipFile(fileobj=stream) if packing == ".gz" else _unzstd(stream, name)
        stream = io.BufferedReader(_Unpacked(unpacked, stream, name), _CHUNK)
    opened: IO[bytes] = stream
    return opened


def file_system(url: str) -> Any:
    """The fsspec file system of a URL."""
    try:
        import fsspec
    except ImportError:
        msg = f"reading {url} needs fsspec: pip install fsspec, and the package of its protocol"
        raise InputError(msg) from None
    try:
        return fsspec.core.url_to_fs(url)[0]
    except (ImportError, ValueError) as error:
        msg = f"{url} cannot be opened: {error}"
        raise InputError(msg) from None


def _unzstd(stream: Any, name: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        msg = f"unpacking {name} needs pyarrow: pip install pyarrow"
        raise InputError(msg) from None
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(stream, mode="r"), "zstd")


class _Unpacked(io.RawIOBase):
    """A packed stream that is read in order, and says so in one line when it is damaged or ends too early."""

    def __init__(self, unpacked: Any, packed: Any, name: str) -> None:
        self._unpacked, self._packed, self._name = unpacked, packed, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._unpacked.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            msg = f"{self._name} cannot be unpacked: {str(error).splitlines()[0] if str(error) else 'it is damaged'}"
            raise InputError(msg) from None
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._unpacked.close()
        self._packed.close()
        super().close()
