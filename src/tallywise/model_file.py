r"""The model file: data only, versioned, checksummed, replaced atomically.

Layout, all integers little-endian::

    8 bytes   magic, b"tally\r\n\x1a" (damage by a text-mode copy is detected)
    4 bytes   format version
    8 bytes   length of the header
    header    JSON: {"meta": ..., "arrays": [{"name", "dtype", "shape", "offset"}, ...]}
    arrays    raw, each at a multiple of 64 bytes from the start of the file
    32 bytes  BLAKE2b of everything before

Nothing in it is code and nothing is unpickled. Reading maps arrays onto the bytes of the file without a copy, checks
every size before it is used, and raises `ModelFileError` for whatever is invalid. This module needs NumPy alone.
"""

import contextlib
import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.errors import ModelFileError

MAGIC = b"tally\r\n\x1a"
VERSION = 1
_ALIGN = 64
_DIGEST = 32
_DTYPES = {"float64": "<f8", "float32": "<f4", "int64": "<i8", "int32": "<i4", "uint32": "<u4", "uint8": "|u1"}


class Contents(NamedTuple):
    """What a model file holds: a JSON document and named arrays."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> int:
    """Write a model file and return its size; the old file stays until the new one is complete on disk.

    Examples
    --------
    >>> import tempfile, os
    >>> from tallywise import model_file
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "m.tally")
    >>> size = model_file.write(path, {"kind": "example"}, {"w": np.ones(3)})
    >>> model_file.read(path).arrays["w"]
    array([1., 1., 1.])
    """
    entries, blocks, place = [], [], 0
    for name, array in arrays.items():
        kind = array.dtype.name
        if kind not in _DTYPES:
            msg = f"A model file holds arrays of {', '.join(_DTYPES)}. Got {kind} for {name!r}."
            raise TypeError(msg)
        block = np.ascontiguousarray(array, dtype=_DTYPES[kind])
        entries.append({"name": name, "dtype": kind, "shape": list(array.shape), "offset": place})
        blocks.append(block)
        place += -(-block.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"meta": dict(meta), "arrays": entries}, ensure_ascii=True, allow_nan=False).encode()
    start = -(-(20 + len(header)) // _ALIGN) * _ALIGN
    target = Path(path)
    digest = hashlib.blake2b(digest_size=_DIGEST)
    with replacing(target) as stream:

        def put(piece: bytes | memoryview) -> None:
            digest.update(piece)
            stream.write(piece)

        put(MAGIC + struct.pack("<IQ", VERSION, len(header)) + header)
        put(bytes(start - 20 - len(header)))
        for block in blocks:
            put(block.reshape(-1).view(np.uint8).data)
            put(bytes(-block.nbytes % _ALIGN))
        stream.write(digest.digest())
    return target.stat().st_size


@contextlib.contextmanager
def replacing(target: Path) -> Any:
    """A stream whose content replaces `target` when, and only when, the block ends without an error."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(name, target.stat().st_mode & 0o777)
        if not target.exists():
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a model file, or raise `ModelFileError` with the cause."""
    try:
        data = Path(path).read_bytes()
    except IsADirectoryError:
        raise _bad(path, "it is a folder") from None
    return parse(data, path)


def parse(data: bytes, path: str | os.PathLike[str] = "<bytes>") -> Contents:
    """Contents of the bytes of a model file; the arrays are read-only views of `data`."""
    if len(data) < 20 + _DIGEST or not data.startswith(MAGIC):
        raise _bad(path, "it is not a tallywise model")
    version, length = struct.unpack_from("<IQ", data, 8)
    if version != VERSION:
        raise _bad(path, f"its format is version {version}, this release reads version {VERSION}")
    end = len(data) - _DIGEST
    if hashlib.blake2b(memoryview(data)[:end], digest_size=_DIGEST).digest() != data[end:]:
        raise _bad(path, "its checksum does not match: the file is damaged or incomplete")
    if length > end - 20:
        raise _bad(path, "its header is longer than the file")
    try:
        header = json.loads(data[20 : 20 + length])
        meta, entries = header["meta"], header["arrays"]
        if not isinstance(meta, dict):
            raise TypeError
        start = -(-(20 + length) // _ALIGN) * _ALIGN
        arrays = {entry["name"]: _array(data, start, end, entry) for entry in entries}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _bad(path, "its header is malformed") from None
    return Contents(meta, arrays)


def _array(data: bytes, start: int, end: int, entry: dict[str, Any]) -> NDArray[Any]:
    dtype, shape, offset = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["offset"]
    if not all(type(size) is int and 0 <= size <= end for size in [*shape, offset]) or len(shape) > 3:
        raise ValueError
    count = 1
    for size in shape:
        count *= size
    if offset % _ALIGN or start + offset + count * dtype.itemsize > end:
        raise ValueError
    return np.frombuffer(data, dtype, count, start + offset).reshape(shape)


def _bad(path: str | os.PathLike[str], cause: str) -> ModelFileError:
    return ModelFileError(f"Cannot read {os.fspath(path)!r} as a model: {cause}.")
