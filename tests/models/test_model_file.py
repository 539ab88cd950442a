"""The container: what was written comes back, and whatever was tampered with is refused."""

import hashlib
import json
import os
import struct
import zlib

import numpy as np
import pytest

from tallywise import ModelFileError
from tallywise.models import model_file

ARRAYS = {
    "w": np.arange(12.0).reshape(3, 4),
    "empty": np.empty(0),
    "codes": np.array([1, -1], dtype=np.int32),
    "text": np.frombuffer(b"spam", dtype=np.uint8),
    "small": np.tile(np.array([[-7], [300]], dtype=np.int16), (500, 3)),
    "bytes": np.tile(np.array([-7, 30], dtype=np.int8), 500),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.tally"
    model_file.write(path, {"classes": ["ham", "sp\ud800am"], "n": 3}, ARRAYS)
    return path


def sealed(body):
    return body + hashlib.blake2b(body, digest_size=32).digest()


def forged(header, version=1, body=bytes(256), length=None):
    raw = json.dumps(header).encode() if not isinstance(header, bytes) else header
    start = model_file.MAGIC + struct.pack("<IQ", version, len(raw) if length is None else length) + raw
    return sealed(start + bytes(-len(start) % 64) + body)


def test_what_was_written_comes_back(path):
    meta, arrays = model_file.read(path)
    assert meta == {"classes": ["ham", "sp\ud800am"], "n": 3}
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert not arrays[name].flags.writeable


@pytest.mark.parametrize("pack", [True, False])
def test_packing_makes_files_smaller_and_changes_nothing(tmp_path, pack):
    size = model_file.write(tmp_path / "m.tally", {}, ARRAYS, pack=pack)
    assert (size < 2000) == pack
    if pack:
        assert size == model_file.size({}, ARRAYS)
    for name, array in model_file.read(tmp_path / "m.tally").arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert np.array_equal(array, ARRAYS[name])


def test_a_packed_array_is_exactly_as_long_as_it_says_and_no_bomb():
    bomb = zlib.compress(bytes(200 << 20))
    assert len(bomb) < 300_000
    good = zlib.compress(bytes(64))
    cases = [
        (bomb, 200 << 20),  # more than the file may unpack to
        (good, 63),
        (good, 65),
        (good[:-1], 64),
        (b"no zlib stream", 64),
    ]
    for packed, length in cases:
        entry = {"name": "w", "dtype": "uint8", "shape": [length], "offset": 0, "packed": len(packed)}
        with pytest.raises(ModelFileError, match="header"):
            model_file.parse(forged({"meta": {}, "arrays": [entry]}, 2, packed))
    for wrong in (-1, 2.0, "3", 10**9):
        entry = {"name": "w", "dtype": "uint8", "shape": [64], "offset": 0, "packed": wrong}
        with pytest.raises(ModelFileError, match="header"):
            model_file.parse(forged({"meta": {}, "arrays": [entry]}, 2, good))


def test_every_single_mutation_is_refused(path):
    data = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(2000):
        mutated = bytearray(data)
        kind = random.integers(3)
        if kind == 0:
            mutated[random.integers(len(data))] ^= 1 << random.integers(8)
        elif kind == 1:
            del mutated[random.integers(len(data)) :]
        else:
            at = random.integers(len(data))
            mutated[at:at] = random.bytes(random.integers(1, 9))
        with pytest.raises(ModelFileError):
            model_file.parse(bytes(mutated))


ENTRY = {"name": "w", "dtype": "float64", "shape": [4], "offset": 0}


@pytest.mark.parametrize(
    "header",
    [
        {},
        [],
        {"meta": 3, "arrays": []},
        {"meta": {}, "arrays": [{}]},
        {"meta": {}, "arrays": [{**ENTRY, "dtype": "object"}]},
        {"meta": {}, "arrays": [{**ENTRY, "shape": [10**18]}]},
        {"meta": {}, "arrays": [{**ENTRY, "shape": [2**40, 2**40]}]},
        {"meta": {}, "arrays": [{**ENTRY, "shape": [-1]}]},
        {"meta": {}, "arrays": [{**ENTRY, "shape": [True]}]},
        {"meta": {}, "arrays": [{**ENTRY, "shape": [1] * 64}]},
        {"meta": {}, "arrays": [{**ENTRY, "offset": 3}]},
        {"meta": {}, "arrays": [{**ENTRY, "offset": 64 * 10**15}]},
        {"meta": {}, "arrays": [{**ENTRY, "offset": "0"}]},
        {"meta": {}, "arrays": 7},
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_forged_header_with_a_right_checksum_is_refused(header):
    with pytest.raises(ModelFileError, match="header"):
        model_file.parse(forged(header))


def test_other_versions_and_other_files_are_named(tmp_path):
    with pytest.raises(ModelFileError, match="version 3, this release reads versions up to 2"):
        model_file.parse(forged({"meta": {}, "arrays": []}, version=3))
    with pytest.raises(ModelFileError, match="header is longer than the file"):
        model_file.parse(forged({}, length=2**60))
    with pytest.raises(ModelFileError, match="not a tallywise model"):
        model_file.parse(b"PK\x03\x04" * 30)
    with pytest.raises(ModelFileError, match="it is a folder"):
        model_file.read(tmp_path)
    with pytest.raises(FileNotFoundError):
        model_file.read(tmp_path / "none.tally")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="Got object for 'bad'"):
        model_file.write(path, {}, {"bad": np.array([object()])})
    with pytest.raises(ValueError, match="Out of range float values"):
        model_file.write(path, {"x": float("nan")}, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
