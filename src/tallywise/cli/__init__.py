"""The ``tally`` command: thin, over the public API."""

import importlib
from typing import Any

import click

# Commands are modules of this package, imported when asked for, so that `tally --help` stays quick.
_COMMANDS = {"demo": "Try tallywise on the corpus that comes with it."}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"tallywise.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tallywise", message="tallywise %(version)s")
def main(**_: Any) -> None:
    """Classical machine learning for text."""
