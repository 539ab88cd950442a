r"""The model file: data only, versioned, checksummed, replaced atomically.

Layout, all integers little-endian::

    8 bytes   magic, b"tally\r\n\x1a" (damage by a text-mode copy is detected)
    4 bytes   format version
    8 bytes   length of the header
    header    JSON: {"meta": ..., "arrays": [{"name", "dtype", "shape", "offset", "packed"}, ...]}
    arrays    each at a multiple of 64 bytes from the start of the file
    32 bytes  BLAKE2b of everything before

An array with "packed", the number of its bytes in the file, is a zlib stream: the first bytes of all entries, then the
second ones, and so on. Others are raw. Version 1 knew raw arrays alone.

Nothing in it is code and nothing is unpickled. Reading maps raw arrays onto the bytes of the file without copies,
checks every size before it is used, unpacks no more than 32 times the size of the file (and 64 MB), and raises
`ModelFileError` for whatever is invalid. This module needs NumPy alone.
"""

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.errors import ModelFileError
from tallywise.files import replacing

MAGIC = b"tally\r\n\x1a"
VERSION = 2
_VERSIONS = (1, 2)
_ALIGN = 64
_DIGEST = 32
_DTYPES = {
    "float64": "<f8",
    "float32": "<f4",
    "int64": "<i8",
    "int32": "<i4",
    "uint32": "<u4",
    "int16": "<i2",
    "uint16": "<u2",
    "int8": "|i1",
    "uint8": "|u1",
}
_PACKING = 6  # level of zlib
_WORTH_PACKING = 256  # bytes of an array
_MOST_TIMES, _MOST_MORE = 32, 64 << 20  # unpacked bytes: so many times the file's, and so many more


class Contents(NamedTuple):
    """What a model file holds: a JSON document and named arrays."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write(
    path: str | os.PathLike[str], meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, pack: bool = True
) -> int:
    """Write a model file and return its size; the old file stays until the new one is complete on disk.

    With `pack`, arrays are packed where that makes them smaller.

    Examples
    --------
    >>> import tempfile, os
    >>> from tallywise.models import model_file
    >>> import numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "m.tally")
    >>> size = model_file.write(path, {"kind": "example"}, {"w": np.ones(3)})
    >>> model_file.read(path).arrays["w"]
    array([1., 1., 1.])
    """
    target = Path(path)
    digest = hashlib.blake2b(digest_size=_DIGEST)
    pieces = _pieces(meta, arrays, pack)
    with replacing(target) as stream:
        for piece in pieces:
            digest.update(piece)
            stream.write(piece)
        stream.write(digest.digest())
    return target.stat().st_size


def to_bytes(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The file that `write` would make."""
    data = b"".join(_pieces(meta, arrays, True))
    return data + hashlib.blake2b(data, digest_size=_DIGEST).digest()


def size(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> int:
    """Bytes of the file that `write` would make."""
    return sum(map(len, _pieces(meta, arrays, True))) + _DIGEST


def _pieces(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], pack: bool) -> list[bytes | memoryview]:
    """What a file consists of, but for its digest."""
    entries: list[dict[str, Any]] = []
    pieces: list[bytes | memoryview] = []
    place = 0
    for name, array in arrays.items():
        kind = array.dtype.name
        if kind not in _DTYPES:
            msg = f"A model file holds arrays of {', '.join(_DTYPES)}. Got {kind} for {name!r}."
            raise TypeError(msg)
        block = np.ascontiguousarray(array, dtype=_DTYPES[kind])
        entry = {"name": name, "dtype": kind, "shape": list(array.shape), "offset": place}
        raw: bytes | memoryview = block.reshape(-1).view(np.uint8).data
        if pack and len(raw) >= _WORTH_PACKING and len(packed := packed_bytes(block)) < len(raw):
            entry["packed"], raw = len(packed), packed
        entries.append(entry)
        pieces += [raw, bytes(-len(raw) % _ALIGN)]
        place += len(raw) + len(pieces[-1])
    header = json.dumps({"meta": dict(meta), "arrays": entries}, ensure_ascii=True, allow_nan=False).encode()
    start = MAGIC + struct.pack("<IQ", VERSION, len(header)) + header
    return [start, bytes(-len(start) % _ALIGN), *pieces]


def packed_bytes(array: NDArray[Any]) -> bytes:
    """An array as the bytes of its packed form."""
    planes = array.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T
    return zlib.compress(np.ascontiguousarray(planes).data, _PACKING)


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a model file, or raise `ModelFileError` with the cause."""
    try:
        with open(os.fspath(path), "rb") as stream:
            data = stream.read(len(MAGIC))
            if data == MAGIC:  # what is no model is not read to its end: a device or a pipe may have none
                data = stream.read() if stream.seekable() and not stream.seek(0) else data + stream.read()
    except IsADirectoryError:
        raise _bad(path, "it is a folder") from None
    return parse(data, path)


def parse(data: bytes, path: str | os.PathLike[str] = "<bytes>") -> Contents:
    """Contents of the bytes of a model file; the arrays are read-only views of `data`."""
    if len(data) < 20 + _DIGEST or not data.startswith(MAGIC):
        raise _bad(path, "it is not a tallywise model")
    version, length = struct.unpack_from("<IQ", data, 8)
    if version not in _VERSIONS:
        raise _bad(path, f"its format is version {version}, this release reads versions up to {VERSION}")
    end = len(data) - _DIGEST
    if hashlib.blake2b(memoryview(data)[:end], digest_size=_DIGEST).digest() != data[end:]:
        raise _bad(path, "its checksum does not match: the file is damaged or incomplete")
    if length > end - 20:
        raise _bad(path, "its header is longer than the file")
    try:
        header = json.loads(data[20 : 20 + length].decode("utf-8"))  # of bytes, json looks for encodings of its own
        meta, entries = header["meta"], header["arrays"]
        if not isinstance(meta, dict):
            raise TypeError
        start = -(-(20 + length) // _ALIGN) * _ALIGN
        room = _MOST_TIMES * len(data) + _MOST_MORE
        arrays: dict[str, NDArray[Any]] = {}
        for entry in entries:
            array = _array(data, start, end, entry, room)
            room -= array.nbytes if "packed" in entry else 0
            arrays[entry["name"]] = array
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error):
        raise _bad(path, "its header is malformed") from None
    return Contents(meta, arrays)


def _array(data: bytes, start: int, end: int, entry: dict[str, Any], room: int) -> NDArray[Any]:
    """One array of a file; a packed one of at most `room` bytes."""
    dtype, shape, offset = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["offset"]
    most = room if "packed" in entry else end
    if not all(type(size) is int and 0 <= size <= most for size in shape) or len(shape) > 3:
        raise ValueError
    count = 1
    for size in shape:
        count *= size
    stored = entry.get("packed", count * dtype.itemsize)
    if not all(type(size) is int and 0 <= size <= end for size in (offset, stored)):
        raise ValueError
    if offset % _ALIGN or start + offset + stored > end or count * dtype.itemsize > most:
        raise ValueError
    if "packed" not in entry:
        return np.frombuffer(data, dtype, count, start + offset).reshape(shape)
    unpack = zlib.decompressobj()
    raw = unpack.decompress(memoryview(data)[start + offset : start + offset + stored], count * dtype.itemsize + 1)
    if len(raw) != count * dtype.itemsize or not unpack.eof or unpack.unused_data:
        raise ValueError
    planes = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, count)
    array = (planes[0] if dtype.itemsize == 1 else np.ascontiguousarray(planes.T)).view(dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _bad(path: str | os.PathLike[str], cause: str) -> ModelFileError:
    return ModelFileError(f"Cannot read {os.fspath(path)!r} as a model: {cause}.")
