"""Mutated model files: refused, or answered like any other file, and nothing of them is executed.

Two thirds of the mutations are damage, which the checksum must find. One third comes from an attacker who repairs the
checksum: bytes of the file, values of its header, entries, types and shapes of its arrays. A child process takes each
batch, so that a crash or a hang is seen from outside; an audit hook sees whatever is imported, compiled or executed.
"""

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tallywise
from reliability.models import rows, save_all
from reliability.results import MEMORY, Limit, Measured, ended, limit_processor_time
from tallywise import ModelFileError
from tallywise.models import model_file

BATCH = 5000
ROOT = Path(__file__).parent.parent
LONGEST = 60  # seconds of processor time for one mutation
_ALIGN, _DIGEST = 64, 32
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**63, 10**40, -0.5, 1e308, 1e-320, "", "x",
    "os.system", "../../etc/passwd", "word", "char", "x" * 10_000, "\ud800", [], {}, [[[]]], [0] * 100, {"a": {}},
)  # fmt: skip
NUMBERS = (0, 1, -1, 127, -128, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63), 1e300, 1e-300, np.nan, np.inf, -np.inf)
DTYPES = ("float64", "float32", "int64", "int32", "uint32", "int16", "uint16", "int8", "uint8", "object", "complex128")
FORBIDDEN = ("exec", "compile", "import", "pickle.find_class", "marshal.loads", "marshal.load", "subprocess.Popen")


def damaged(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """A file with a few accidents: bits, bytes, cuts, insertions, parts of another file."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(found) + 1) if draw.random() < 0.7 else draw.randrange(min(2000, len(found) + 1))
        kind = draw.randrange(7)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and at < len(found):
            found[at] = draw.randrange(256)
        elif kind == 2:
            del found[at:]
        elif kind == 3:
            found[at:at] = draw.randbytes(draw.randrange(1, 100))
        elif kind == 4:
            del found[at : at + draw.randrange(1, 200)]
        elif kind == 5:
            start = draw.randrange(len(other))
            piece = other[start : start + draw.randrange(1, 500)]
            found[at : at + len(piece)] = piece
        else:
            found[at : at + 8] = (draw.choice((0, 1, 2**31, 2**63, 2**64 - 1)) & (2**64 - 1)).to_bytes(8, "little")
    return bytes(found)


def sealed(body: bytes) -> bytes:
    """A file whose checksum is right."""
    return body + hashlib.blake2b(body, digest_size=_DIGEST).digest()


def with_header(data: bytes, header: Any) -> bytes:
    """The file with another header before its arrays."""
    length = int.from_bytes(data[12:20], "little")
    start = -(-(20 + length) // _ALIGN) * _ALIGN
    raw = json.dumps(header).encode()
    head = data[:12] + len(raw).to_bytes(8, "little") + raw
    return sealed(head + bytes(-len(head) % _ALIGN) + data[start:-_DIGEST])


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values stand in a JSON document; of long lists, the first few."""
    if path:
        yield path
    entries = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document[:4])
        if isinstance(document, list)
        else ()
    )
    for key, value in entries:
        yield from places(value, (*path, key))


def forged(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """A file with a repaired checksum and something wrong, or only other, in it."""
    kind = draw.randrange(5)
    if kind == 0:
        return sealed(damaged(data[:-_DIGEST], other, draw))
    if kind == 1:
        length = int.from_bytes(data[12:20], "little")
        header = json.loads(data[20 : 20 + length])
        for _ in range(draw.choice((1, 1, 2, 4))):
            *path, last = draw.choice(list(places(header)))
            parent = header
            for key in path:
                parent = parent[key]
            if draw.random() < 0.15:
                del parent[last]
            elif isinstance(parent[last], (int, float)) and draw.random() < 0.4:
                parent[last] += draw.choice((-1, 1, 0.5, 1e10))
            else:
                parent[last] = draw.choice(HOSTILE)
        return with_header(data, header)
    meta, arrays = model_file.parse(data)
    found = dict(arrays)
    name = draw.choice([*found])
    if kind == 2:
        array = found[name] = found[name].copy()
        with np.errstate(all="ignore"):
            for _ in range(draw.choice((1, 1, 3, 10)) if array.size else 0):
                value = draw.choice(NUMBERS)
                if array.dtype.kind != "f" and not np.isfinite(value):
                    value = 2**62
                array.reshape(-1)[draw.randrange(array.size)] = np.array(value).astype(array.dtype)
    elif kind == 4:
        found[name] = nearly(found[name], found[draw.choice([*found])], draw)
    elif draw.random() < 0.3:
        del found[name]
    elif draw.random() < 0.5:
        with np.errstate(all="ignore"):
            found[name] = found[name].astype(draw.choice(DTYPES[:-2]))
    else:
        array = found[name].reshape(-1)
        found[name] = array[: draw.randrange(len(array) + 1)] if draw.random() < 0.7 else np.repeat(array, 2)
        if draw.random() < 0.3:
            found[name] = found[name].reshape(1, -1)
    return sealed(b"".join(map(bytes, model_file._pieces(meta, found, draw.random() < 0.5))))


def nearly(array: Any, other: Any, draw: random.Random) -> Any:
    """Offsets and indices that almost fit: off by one from some place on, out of order, or another array's."""
    flat = array.reshape(-1).copy()
    if not flat.size:
        return other
    at, kind = draw.randrange(flat.size), draw.randrange(6)
    with np.errstate(all="ignore"):
        if kind == 0:
            flat[at:] += flat.dtype.type(1)
        elif kind == 1:
            flat[at:] -= flat.dtype.type(1)
        elif kind == 2:
            flat[at:] = flat[at:][::-1]
        elif kind == 3:
            flat[:] = flat[at]
        elif kind == 4:
            flat[at] = flat.max()
        else:
            return other.astype(array.dtype)
    return flat.reshape(array.shape)


def answers(path: Path) -> tuple[Any, ...]:
    """Loads a file and asks for whatever it offers."""
    model = tallywise.load(path)
    with np.errstate(all="ignore"):
        if isinstance(model, tallywise.models.text_serving.TextModel):
            asked = ["win a prize now", "", "lunch at noon \ud800 Ärger!"]
            P = model.predict_proba(asked)
            if P.shape != (3, len(model.classes)):
                msg = f"{P.shape} probabilities of {len(model.classes)} classes"
                raise AssertionError(msg)
            return P.tobytes(), [str(label) for label in model.predict(asked)], repr(model.explain(asked[0]).words)
        asked_rows = rows(3, seed=1)
        return (
            model.scores(asked_rows).tobytes(),
            [str(value) for value in model.predict(asked_rows)],
            repr(model.explain(asked_rows[0])),
        )


def peak() -> int:
    """Largest memory of this process since `reset_peak`, in bytes; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def reset_peak() -> int:
    """Begin a new largest memory; what is in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return 0
    return peak()


def batch(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """The mutations of one batch, in this process."""
    files = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.tally"))}
    target = folder / f"mutated {seed}"
    before = {}
    for name, data in files.items():
        target.write_bytes(data)
        before[name] = answers(target)
    seen: list[str] = []
    watching = False

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in FORBIDDEN:
            seen.append(f"{event} {arguments[:1]!r:.100}")

    sys.addaudithook(watch)
    warnings.simplefilter("ignore")
    found = {"mutations": 0, "repaired": 0, "refused": 0, "answered": 0, "largest": 0, "wrong": [], "names": len(files)}
    names = [*files]
    for k in range(count):
        draw = random.Random(f"{seed} {k}")
        name, other = draw.choice(names), draw.choice(names)
        repaired = draw.random() < 1 / 3
        try:
            data = (forged if repaired else damaged)(files[name], files[other], draw)
        except (TypeError, ValueError, KeyError, UnicodeEncodeError):
            data = sealed(damaged(files[name][:-_DIGEST], files[other], draw))
        target.write_bytes(data)
        limit_processor_time(LONGEST)
        start = reset_peak() if k % 10 == 0 else 0
        watching = k > 200  # modules that errors and explanations need are loaded by then
        where = f"mutation {k} of seed {seed}, {name}{', repaired' if repaired else ''}"
        try:
            got = answers(target)
        except ModelFileError:
            found["refused"] += 1
        except Exception as error:
            found["wrong"].append(f"{where}: {type(error).__name__}: {error}"[:300])
        else:
            found["answered"] += 1
            if not repaired and (data != files[name] or got != before[name]):
                found["wrong"].append(f"{where}: damage was not found")
        watching = False
        limit_processor_time(0)
        if start:
            more = peak() - start - 2 * len(data)
            found["largest"] = max(found["largest"], more)
            if more > 16 << 20:
                found["wrong"].append(f"{where}: {more >> 20} MiB beyond twice the file")
        if seen:
            found["wrong"].append(f"{where}: {seen[0]}")
            seen.clear()
        found["mutations"] += 1
        found["repaired"] += repaired
    target.unlink()
    return found


def in_child(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """The mutations of one batch, in a process of their own."""
    command = [sys.executable, "-m", "reliability.model_files", str(folder), str(seed), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        return {"wrong": [f"batch {seed} ended with {done.returncode}: {done.stderr[-500:]}"], "mutations": 0}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """A million mutations with `full`, else five thousand."""
    total: dict[str, Any] = {}
    count = 1_000_000 if full else 5000
    limit = Limit(seconds)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        save_all(Path(folder))
        seed = 0
        while seed * BATCH < count and not limit.over():
            size = min(BATCH, count - seed * BATCH)
            found = in_child(Path(folder), seed, size)
            for key, value in found.items():
                together = max if key in ("largest", "names") else lambda a, b: a + b
                total[key] = together(total[key], value) if key in total else value
            seed += 1
    yield Measured(
        "model_files",
        "mutated model files, every family of texts and tables" + ended(total["mutations"], count),
        "ModelFileError, or answers as from any file; nothing imported or executed; 16 MiB beyond twice the file",
        {
            "mutations": total["mutations"],
            "of them with a repaired checksum": total.get("repaired", 0),
            "refused": total.get("refused", 0),
            "answered": total.get("answered", 0),
            "models": total.get("names", 0),
            "MiB at most beyond twice the file (one in ten looked at)": round(total.get("largest", 0) / (1 << 20), 1),
        },
        total["wrong"],
    )


if __name__ == "__main__":
    place, first, size = sys.argv[1:]
    print(json.dumps(batch(Path(place), int(first), int(size))))
