"""Real data for tests and benchmarks, read from the archives where they lie.

That is ``TALLYWISE_DATA``, or ../shared/data, or the user's cache folder, into which ``make data`` fetches them.
Nothing is unpacked to disk and nothing is bundled: a machine without the archives gets ``Missing``, which tests turn
into a skip.
"""

import csv
import functools
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent


class Missing(FileNotFoundError):
    """The archive of a data set is not on this machine."""


def folder() -> Path:
    """Where the archives are, or go to."""
    if given := os.environ.get("TALLYWISE_DATA"):
        return Path(given)
    beside = ROOT.parent / "shared" / "data"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tallywise" / "data"
    return beside if beside.is_dir() else cache


def members(name: str, under: str = "") -> Iterator[tuple[str, bytes]]:
    """(path, content) of the files of a set that lie under a path."""
    path = folder() / f"{name}.tar.gz"
    if not path.exists():
        msg = f"{name}.tar.gz is not in {folder()}: run `make data`, or set TALLYWISE_DATA to the folder that has it"
        raise Missing(msg)
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.startswith(f"{name}/{under}"):
                stream = archive.extractfile(member)
                assert stream is not None
                yield member.name[len(name) + 1 :], stream.read()


def _file(name: str, path: str) -> bytes:
    for found, content in members(name, path):
        if found == path:
            return content
    msg = f"{name}.tar.gz has no {path}"
    raise Missing(msg)


def _table(name: str, path: str, delimiter: str = ",") -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(_file(name, path).decode()), delimiter=delimiter) if row]


@functools.cache
def newsgroups(part: str = "train") -> tuple[list[str], np.ndarray]:
    """Posts and their group: (texts, labels as strings). Parts: train, test."""
    pairs = sorted((path, text.decode("latin-1")) for path, text in members("20newsgroups", f"{part}/"))
    return [text for _, text in pairs], np.array([path.split("/")[1] for path, _ in pairs])


@functools.cache
def sms() -> tuple[list[str], np.ndarray]:
    """Short messages labelled ham or spam."""
    lines = _file("sms_spam", "SMSSpamCollection").decode().splitlines()
    pairs = [line.split("\t", 1) for line in lines if line]
    return [text for _, text in pairs], np.array([label for label, _ in pairs])


@functools.cache
def mails() -> tuple[list[bytes], np.ndarray]:
    """Raw mail with all headers, labelled ham or spam."""
    pairs = [(path, raw) for path, raw in members("spamassassin") if "/" in path]
    pairs.sort()
    return [raw for _, raw in pairs], np.array(["ham" if "ham" in path else "spam" for path, _ in pairs])


@functools.cache
def banking(part: str = "train") -> tuple[list[str], np.ndarray]:
    """Customers' questions and their intent, 77 classes."""
    rows = _table("banking77", f"{part}.csv")[1:]
    return [row[0] for row in rows], np.array([row[1] for row in rows])


@functools.cache
def clothing() -> tuple[list[str], np.ndarray]:
    """Reviews with 1 to 5 stars; rows without text are left out."""
    header, *rows = _table("womens_clothing", "womens_clothing_reviews.csv")
    text, stars = header.index("Review Text"), header.index("Rating")
    rows = [row for row in rows if row[text].strip()]
    return [row[text] for row in rows], np.array([int(row[stars]) for row in rows])


@functools.cache
def wine(colour: str = "red") -> tuple[np.ndarray, np.ndarray]:
    """Eleven measurements and a quality from 3 to 9."""
    rows = np.array(_table("wine_quality", f"winequality-{colour}.csv", ";")[1:], dtype=float)
    return rows[:, :-1], rows[:, -1].astype(int)


@functools.cache
def spambase() -> tuple[np.ndarray, np.ndarray]:
    """57 numbers a mail, 1 for spam."""
    rows = np.array(_table("spambase", "spambase.data"), dtype=float)
    return rows[:, :-1], rows[:, -1].astype(int)


@functools.cache
def categorical(which: str) -> tuple[np.ndarray, np.ndarray]:
    """Strings by column: mushroom, nursery or car."""
    if which == "mushroom":
        rows = np.array(_table("uci_categorical", "mushrooms.csv")[1:], dtype=object)
        return rows[:, 1:], rows[:, 0]
    lines = _table("uci_categorical", f"{which}.data")
    rows = np.array(lines[1:] if which == "car" else lines, dtype=object)  # that of nursery has no header
    return rows[:, :-1], rows[:, -1]


@functools.cache
def svmlight(which: str) -> tuple[Any, np.ndarray]:
    """Sparse features and labels -1, +1: a9a, a9a.t or w8a."""
    from sklearn.datasets import load_svmlight_file

    name = which.split(".")[0]
    columns = {"a9a": 123, "w8a": 300}[name]
    X, y = load_svmlight_file(io.BytesIO(_file(name, which)), n_features=columns)
    return X, y.astype(int)


@functools.cache
def mnist(part: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Images as rows of 784 float32 in [0, 1], and digits. Parts: train, test."""
    stem = {"train": "train", "test": "t10k"}[part]
    images = np.frombuffer(_file("mnist", f"{stem}-images-idx3-ubyte"), dtype=np.uint8, offset=16)
    digits = np.frombuffer(_file("mnist", f"{stem}-labels-idx1-ubyte"), dtype=np.uint8, offset=8)
    return images.reshape(-1, 784).astype(np.float32) / np.float32(255), digits.astype(int)


@functools.cache
def kos() -> tuple[Any, list[str]]:
    """Document-word counts (CSR) and the vocabulary."""
    import scipy.sparse as sp

    lines = _file("lda_kos", "docword.kos.txt").decode().split("\n", 3)
    documents, words = int(lines[0]), int(lines[1])
    entries = np.array(lines[3].split(), dtype=np.int64).reshape(-1, 3)
    X = sp.csr_matrix((entries[:, 2], (entries[:, 0] - 1, entries[:, 1] - 1)), shape=(documents, words))
    return X, _file("lda_kos", "vocab.kos.txt").decode().split()


_ADULT = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex "
    "capital_gain capital_loss hours_per_week native_country income"
)
_TABLES = {
    "adult": ("adult", "adult-train.csv", ",", _ADULT),
    "adult_test": ("adult", "adult-test.csv", ",", _ADULT),
    "abalone": ("abalone", "abalone.csv", ",", "sex length diameter height whole shucked viscera shell rings"),
    "wine_red": ("wine_quality", "winequality-red.csv", ";", None),
    "wine_white": ("wine_quality", "winequality-white.csv", ";", None),
    "mushroom": ("uci_categorical", "mushrooms.csv", ",", None),
    "car": ("uci_categorical", "car.data", ",", None),
    "nursery": (
        "uci_categorical",
        "nursery.data",
        ",",
        "parents has_nurs form children housing finance social health class",
    ),
    "spambase": ("spambase", "spambase.data", ",", " ".join(f"x{k}" for k in range(57)) + " class"),
    "clothing": ("womens_clothing", "womens_clothing_reviews.csv", ",", None),
}


@functools.cache
def table(which: str) -> tuple[list[str], list[list[str]]]:
    """Names of the columns and rows of strings of a table, as its file has them."""
    archive, path, delimiter, names = _TABLES[which]
    rows = [[cell.strip() for cell in row] for row in _table(archive, path, delimiter)]
    if which == "adult_test":  # its labels end in a point
        rows = [[*row[:-1], row[-1].removesuffix(".")] for row in rows]
    if names is not None:
        return names.split(), rows
    return [name or "number" for name in rows[0]], rows[1:]
