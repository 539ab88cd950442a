"""Templates of the pages, and how they write shares, times and long texts."""

from datetime import datetime
from importlib.resources import files

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

FOLDER = files("tallywise.serve")


def templates() -> Environment:
    """All templates; what is put into them is escaped."""
    environment = Environment(
        loader=FileSystemLoader(str(FOLDER / "templates")), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {"percent": percent, "when": when, "excerpt": excerpt, "number": "{:,}".format}
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
