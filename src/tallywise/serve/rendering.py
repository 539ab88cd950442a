"""Templates of the pages, and how they write shares, times and long texts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib.resources import files

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tallywise.plain_text import typeset
from tallywise.serve.queries import Class

FOLDER = files("tallywise.serve")


def templates() -> Environment:
    """All templates; what is put into them is escaped."""
    environment = Environment(
        loader=FileSystemLoader(str(FOLDER / "templates")), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "percent": percent,
        "when": when,
        "excerpt": excerpt,
        "number": "{:,}".format,
        "figure": typeset,
        "signed": partial(typeset, signed=True),
        "by_likely": by_likely,
    }
    environment.globals |= {"svg": Markup}
    return environment


def percent(share: float | None, digits: int = 1) -> str:
    """A share as people say it."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def when(at: float | None) -> str:
    """A time as people say it."""
    return "" if at is None else datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


def excerpt(text: str, width: int = 160) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text[: 4 * width].split())
    return line if len(line) <= width and len(text) <= 4 * width else line[: width - 1] + "…"


def by_likely(classes: Sequence[Class], likely: Mapping[str, float], many: bool) -> list[Class]:
    """Classes by their keys; where there are more than keys, the likely ones first."""
    return sorted(classes, key=lambda one: (-likely.get(one.name, 0.0) if many else 0.0, one.place))
