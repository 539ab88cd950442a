"""Values of options: seconds, and those that name classes or words (``ham=0.001``, ``ham:spam=10``, ``english``)."""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from tallywise.plain_text import shorten


class Seconds(click.FloatRange):
    """A number of seconds: not NaN, which every comparison lets pass, and not infinite."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number, or a usage error."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return found


def class_numbers(option: str, values: Iterable[str], labels: Sequence[str] | None) -> dict[str, float]:
    """``CLASS=NUMBER`` values as a dict; a usage error where one is malformed or names no class."""
    found = {}
    for value in values:
        name, number = _split(option, value, "CLASS=NUMBER")
        found[_known(option, name, labels)] = number
    return found


def class_weights(values: Sequence[str], labels: Sequence[str] | None) -> Any:
    """``--class-weight``: None, ``balanced``, or a weight for each class named (1 for the others)."""
    if not values or tuple(values) == ("none",):
        return None
    if tuple(values) == ("balanced",):
        return "balanced"
    weights = class_numbers("--class-weight", values, labels)
    for name, weight in weights.items():
        if not 0 < weight < float("inf"):
            msg = f"--class-weight: weights must be positive numbers. Got {weight:g} for {name}."
            raise click.UsageError(msg)
    return weights


def class_costs(values: Sequence[str], labels: Sequence[str] | None) -> dict[tuple[str, str], float]:
    """``--costs``: ``TRUE:CALLED=COST`` values as a dict."""
    found = {}
    for value in values:
        pair, cost = _split("--costs", value, "TRUE:CALLED=COST")
        cuts = [k for k, letter in enumerate(pair) if letter == ":"]  # a class may have colons in its name
        if not cuts:
            msg = f"--costs takes TRUE:CALLED=COST, such as ham:spam=10. Got {value!r}."
            raise click.UsageError(msg)
        if not 0 <= cost < float("inf"):
            msg = f"--costs: a cost must be a number >= 0. Got {value!r}."
            raise click.UsageError(msg)
        known = set(labels or ())
        cut = next((k for k in cuts if pair[:k] in known and pair[k + 1 :] in known), cuts[0])
        true, called = (_known("--costs", name, labels) for name in (pair[:cut], pair[cut + 1 :]))
        found[true, called] = cost
    return found


def stop_word_list(value: str) -> Any:
    """``--stop-words``: None, ``'english'``, or the words of a file, separated by white space."""
    if value in ("none", "english"):
        return None if value == "none" else value
    if not Path(value).is_file():
        msg = f"--stop-words takes english, none, or a file of words. There is no file {value!r}."
        raise click.UsageError(msg)
    try:
        words = Path(value).read_text(encoding="utf-8-sig").lower().split()
    except UnicodeDecodeError:
        msg = f"--stop-words: {value} is not a text file in UTF-8."
        raise click.UsageError(msg) from None
    return sorted(set(words))


def file_size(value: str) -> int:
    """``--size``: bytes, or so many kB, MB or GB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)b?\s*", value, re.IGNORECASE)
    size = int(float(found[1]) * 1000 ** " kmg".index(found[2].lower() or " ")) if found else 0
    if size < 1:
        msg = f"--size takes a number of bytes, such as 10MB or 500kB. Got {value!r}."
        raise click.UsageError(msg)
    return size


def _split(option: str, value: str, form: str) -> tuple[str, float]:
    name, equals, number = value.rpartition("=")
    try:
        if equals and name:
            return name, float(number)
    except ValueError:
        pass
    msg = f"{option} takes {form}. Got {value!r}."
    raise click.UsageError(msg)


def _known(option: str, name: str, labels: Sequence[str] | None) -> str:
    if labels is None:  # not known before all shards are read: refused then
        return name
    classes = sorted(set(labels))
    if name not in classes:
        msg = f"{option}: there is no class {name!r}. Classes: {shorten(', '.join(classes), 200)}."
        raise click.UsageError(msg)
    return name
