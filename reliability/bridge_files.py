"""Mutated model files of other programs: refused, or answered like any other file.

These files have no checksum, so that every mutation is read: bytes and cuts of fastText's binary files, its numbers one
by one, and words of the text files of LIBLINEAR and LIBSVM. Each batch has a process of its own.
"""

import json
import random
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tallywise
from reliability.model_files import LONGEST, ROOT, damaged, peak, reset_peak
from reliability.results import MEMORY, Limit, Measured, ended, limit_processor_time
from tallywise import SVC, SVR, LinearSVC, LogisticRegression, ModelFileError
from tallywise.bridges import read_liblinear, read_libsvm, write_liblinear, write_libsvm

BATCH = 2000
STORED = ROOT / "tests" / "stored"
WORDS = (
    b"", b"0", b"-1", b"1", b"2", b"65536", b"65537", b"2147483648", b"9223372036854775808", b"1" * 400, b"nan", b"inf",
    b"1e308", b"-1e308", b"1e-320", b"0x10", b"1_0", b"\xd9\xa1", b"c_svc", b"epsilon_svr", b"rbf", b"polynomial",
    b"precomputed", b"nr_class", b"SV", b"w", b"1:1", b"-1:1", b"2147483648:1", b"1:nan", b"1:1e308", b":", b"1:",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 63, 64, 65, 255, 256, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**40, 2**62, 2**63, 2**64 - 1)


def save_all(folder: Path) -> None:
    """One file of each kind."""
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(30, 4)), np.arange(30) % 3
    write_liblinear(LinearSVC().fit(X, y), folder / "many.liblinear")
    write_liblinear(LogisticRegression().fit(X, y % 2), folder / "two.liblinear")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sigmoid is no positive kernel here
        for kernel in ("linear", "rbf", "poly", "sigmoid"):
            write_libsvm(SVC(kernel=kernel, gamma=0.5).fit(X, y), folder / f"{kernel}.libsvm")
    write_libsvm(SVR(gamma=0.5).fit(X, X[:, 0]), folder / "numbers.libsvm")
    for path in (*STORED.glob("fasttext_*.bin"), *STORED.glob("fasttext_*.ftz")):
        (folder / f"{path.stem}.fasttext").write_bytes(path.read_bytes())


def mutated(data: bytes, other: bytes, draw: random.Random, text: bool) -> bytes:
    """A file with something else in it."""
    if draw.random() < 0.3:
        return damaged(data, other, draw)
    found = bytearray(data)
    if not text:
        dictionary = data.rfind(b"__label__") + 100  # what says how large parts are stands before and just behind it
        for _ in range(draw.choice((1, 1, 2))):
            form = draw.choice(("<i", "<q", "<b"))
            at = draw.randrange(max(dictionary - 8, 1)) if draw.random() < 0.9 else draw.randrange(len(data) - 8)
            mask = (1 << 8 * struct.calcsize(form)) - 1
            struct.pack_into(form.upper(), found, at, draw.choice(NUMBERS) & mask)
        return bytes(found)
    lines = data.split(b"\n")
    for _ in range(draw.choice((1, 1, 2, 4))):
        k = draw.randrange(min(len(lines), 14)) if draw.random() < 0.7 else draw.randrange(len(lines))
        words = lines[k].split(b" ")
        action = draw.randrange(5)
        if action == 0:
            words[draw.randrange(len(words))] = draw.choice(WORDS)
        elif action == 1:
            words.insert(draw.randrange(len(words) + 1), draw.choice(WORDS))
        elif action == 2:
            del words[draw.randrange(len(words))]
        elif action == 3:
            lines[k : k + 1] = lines[k : k + 1] * draw.choice((0, 2))
            continue
        else:
            j = draw.randrange(len(lines))
            lines[k], lines[j] = lines[j], lines[k]
            continue
        lines[k] = b" ".join(words)
    return b"\n".join(lines)


def answer(path: Path, kind: str) -> None:
    """Load a file and ask for whatever it offers."""
    if kind == "fasttext":
        model = tallywise.load(path)
        asked = ["what is a prize", "", "\ud800 Ärger"]
        P = model.predict_proba(asked)
        assert P.shape == (3, len(model.classes))
        model.predict(asked)
        model.explain(asked[0])
        return
    reader: Callable[[Path], Any] = read_liblinear if kind == "liblinear" else read_libsvm
    found = reader(path)
    width = found.n_features_in_
    for X in (sp.csr_matrix((2, width)), np.ones((2, width)) if width < 1 << 16 else sp.csr_matrix((2, width))):
        found.predict(X)
        if hasattr(found, "decision_function"):
            found.decision_function(X)


def batch(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """The mutations of one batch, in this process."""
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.*"))}
    target = folder / f"mutated {seed}"
    for name, data in files.items():
        target.write_bytes(data)
        answer(target, name.rpartition(".")[2])
    warnings.simplefilter("ignore")
    found = {"mutations": 0, "refused": 0, "answered": 0, "largest": 0, "wrong": [], "names": len(files)}
    names = [*files]
    for k in range(count):
        draw = random.Random(f"{seed} {k}")
        name, other = draw.choice(names), draw.choice(names)
        kind = name.rpartition(".")[2]
        data = mutated(files[name], files[other], draw, kind != "fasttext")
        target.write_bytes(data)
        limit_processor_time(LONGEST)
        start = reset_peak()
        where = f"mutation {k} of seed {seed}, {name}"
        try:
            with np.errstate(all="ignore"):
                answer(target, kind)
        except ModelFileError:
            found["refused"] += 1
        except ValueError as error:  # what is asked of a model that is sound: numbers beyond floating point
            if "floating point" not in str(error) and "overflow" not in str(error) and "finite" not in str(error):
                found["wrong"].append(f"{where}: {type(error).__name__}: {error}"[:300])
            found["answered"] += 1
        except Exception as error:
            found["wrong"].append(f"{where}: {type(error).__name__}: {error}"[:300])
        else:
            found["answered"] += 1
        limit_processor_time(0)
        more = peak() - start - 8 * len(data) if start else 0
        found["largest"] = max(found["largest"], more)
        if more > 64 << 20:
            found["wrong"].append(f"{where}: {more >> 20} MiB beyond eight times the file")
        found["mutations"] += 1
    target.unlink()
    return found


def in_child(folder: Path, seed: int, count: int) -> dict[str, Any]:
    """The mutations of one batch, in a process of their own."""
    command = [sys.executable, "-m", "reliability.bridge_files", str(folder), str(seed), str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        return {"wrong": [f"batch {seed} ended with {done.returncode}: {done.stderr[-500:]}"], "mutations": 0}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """A hundred thousand mutations with `full`, else two thousand."""
    total: dict[str, Any] = {"mutations": 0, "refused": 0, "answered": 0, "largest": 0, "wrong": [], "names": 0}
    count = 100_000 if full else BATCH
    limit = Limit(seconds)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        save_all(Path(folder))
        for seed in range(-(-count // BATCH)):
            if limit.over():
                break
            for key, value in in_child(Path(folder), seed, BATCH).items():
                total[key] = max(total[key], value) if key in ("largest", "names") else total[key] + value
    yield Measured(
        "bridge_files",
        "mutated model files of fastText, LIBLINEAR and LIBSVM" + ended(total["mutations"], count),
        "ModelFileError, or answers as from any file; 64 MiB beyond eight times the file",
        {
            "mutations": total["mutations"],
            "refused": total["refused"],
            "answered": total["answered"],
            "files": total["names"],
            "MiB at most beyond eight times the file": round(total["largest"] / (1 << 20), 1),
        },
        total["wrong"],
    )


if __name__ == "__main__":
    place, first, size = sys.argv[1:]
    print(json.dumps(batch(Path(place), int(first), int(size))))
