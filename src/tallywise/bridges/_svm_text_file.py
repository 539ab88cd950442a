"""The form that model files of LIBLINEAR and LIBSVM share: lines of a name and values, a last name, then numbers."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallywise.errors import ModelFileError

Array = NDArray[np.float64]
T = TypeVar("T")
_MOST_CLASSES = 1 << 16


class Invalid(ValueError):
    """Why a file is no model; the reader that catches it adds which file, and of what."""


def invalid(cause: str) -> NoReturn:
    """Stop reading for that cause."""
    raise Invalid(cause)


def read(path: str | os.PathLike[str], program: str, last: bytes, make: "Callable[[Header, list[bytes]], T]") -> T:
    """What `make` makes of the header of a file and of the lines after it; `ModelFileError` where that is invalid."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
        header = Header()
        for k, line in enumerate(lines):
            words = line.split()
            if words == [last]:
                return make(header, lines[k + 1 :])
            header.add(words)
        invalid(f"it has no line {last.decode()!r}, after which its numbers would stand")
    except IsADirectoryError:
        cause = "it is a folder"
    except Invalid as error:
        cause = str(error)
    msg = f"Cannot read {os.fspath(path)!r} as a model of {program}: {cause}."
    raise ModelFileError(msg) from None


class Header:
    """Names and values, each checked when it is asked for."""

    def __init__(self) -> None:
        self._values: dict[str, list[bytes]] = {}

    def add(self, words: list[bytes]) -> None:
        """Take over a line."""
        if not words:
            return
        name = words[0][:40].decode("ascii", "replace")
        if name in self._values:
            invalid(f"it says {name!r} twice")
        self._values[name] = words[1:]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def word(self, name: str) -> str:
        """The one value of a name."""
        if name not in self._values:
            invalid(f"it does not say {name!r}")
        values = self._values[name]
        if len(values) != 1:
            invalid(f"it has {len(values)} values of {name!r}, 1 is needed")
        return values[0][:80].decode("ascii", "replace")

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number within limits."""
        value = int(_numbers(int, [self.word(name)], name)[0])
        if not least <= value <= most:
            invalid(f"its {name} is {value}: between {least} and {most} is possible")
        return value

    def real(self, name: str) -> float:
        """A finite number."""
        return float(reals([self.word(name)], name)[0])

    def classes(self) -> int:
        """The number of classes."""
        return self.whole("nr_class", 1, _MOST_CLASSES)

    def reals(self, name: str, count: int) -> Array:
        """So many finite numbers."""
        return reals(self._counted(name, count), name)

    def wholes(self, name: str, count: int) -> NDArray[np.int64]:
        """So many whole numbers."""
        values = _numbers(int, self._counted(name, count), name)
        if any(abs(value) >= 1 << 63 for value in values):
            invalid(f"a value of its {name} is too large")
        return np.array(values, dtype=np.int64)

    def _counted(self, name: str, count: int) -> list[bytes]:
        if name not in self._values:
            invalid(f"it does not say {name!r}")
        if len(self._values[name]) != count:
            invalid(f"it has {len(self._values[name])} values of {name!r}, {count} are needed")
        return self._values[name]


def _numbers(kind: Callable[[Any], Any], words: Iterable[Any], name: str) -> list[Any]:
    try:
        return [kind(word) for word in words]
    except ValueError:
        invalid(f"a value of its {name} is not a number")


def reals(words: Iterable[Any], name: str) -> Array:
    """Finite numbers from words."""
    try:
        found = np.fromiter(map(float, words), dtype=np.float64)
    except ValueError:
        invalid(f"a value of its {name} is not a number")
    if not np.isfinite(found).all():
        invalid(f"a value of its {name} is not finite")
    return found


def shown(values: Iterable[Any]) -> str:
    """Numbers as these programs write them, to the last bit."""
    return " ".join(f"{value:.17g}" for value in values)


def whole_labels(classes: NDArray[Any], program: str) -> list[int]:
    """Labels of a model that is to be written; these programs know whole numbers alone."""
    labels = np.asarray(classes).tolist()
    if not all(isinstance(label, int | float) and float(label).is_integer() for label in labels):
        msg = f"{program} has whole numbers for labels. Got {labels[:5]}: fit on numbers of the classes instead."
        raise ValueError(msg)
    return [int(label) for label in labels]


def write(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Write a file of these lines and return its size; the old file stays until the new one is complete."""
    from tallywise.files import replacing

    target = Path(path)
    with replacing(target) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode("ascii"))
    return target.stat().st_size
