"""``tally doctor``: the versions and settings of this installation."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import sys

import click

_NEEDED = ("numpy", "scipy", "scikit-learn", "click", "rich")
_OPTIONAL = {"pyarrow": "Parquet files and Arrow columns", "polars": "polars columns", "pandas": "pandas columns"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def command(as_json: bool) -> None:
    r"""Check this installation.

    \b
    Example:
      tally doctor
    """
    from tallywise import _native, _threads

    facts = {
        "tallywise": importlib.metadata.version("tallywise"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "native build": _native.level,
        "threads": _threads.count(),
        **{name: importlib.metadata.version(name) for name in _NEEDED},
        **{name: _version(name) for name in _OPTIONAL},
    }
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    for name, value in facts.items():
        note = f"not installed (for {_OPTIONAL[name]})" if value is None else value
        click.echo(f"{name:14} {note}")
    given = os.environ.get("TALLYWISE_NUM_THREADS")
    click.echo(f"\nthreads follow TALLYWISE_NUM_THREADS{f' = {given}' if given else ', which is not set'}")
    click.echo("all is well" if sys.version_info >= (3, 11) else "tallywise needs Python 3.11 or newer")


def _version(name: str) -> str | None:
    return importlib.metadata.version(name) if importlib.util.find_spec(name) else None
