"""All commands of ``tally``, by click."""

import difflib
import errno
import importlib
import os
import sys
from typing import Any

import click

# Commands are modules of this package, imported when asked for, so that `tally --help` stays quick.
COMMANDS = {
    "demo": "Train, explain and find topics on the bundled corpus.",
    "train": "Learn from labelled texts; write a model and a report.",
    "classify": "Classify texts.",
    "explain": "Show what each word of a text contributes.",
    "evaluate": "Evaluate a saved model on labelled texts.",
    "compare": "Compare models by nested cross-validation.",
    "topics": "Find topics in texts without labels.",
    "serve": "Serve a model over HTTP, with a page to label and correct in.",
    "spam": "Filter mail: learn, forget, explain, answer mail servers.",
    "inspect": "Show what a saved model holds.",
    "doctor": "Check this installation.",
    "completion": "Install completion for bash, zsh or fish.",
}

_EXAMPLES = """\b
Examples:
  tally demo
  tally train inbox.csv
  tally classify model.tally new.eml --explain
  cat messages.txt | tally classify model.tally -
  tally compare reviews.jsonl --text body --label stars
"""

# Packages that an installation which only serves a model can do without.
_TO_LEARN = {"sklearn": "scikit-learn", "scipy": "SciPy"}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"tallywise.cli.{cmd_name}").command
        # Docstrings with a backslash are raw; click wants the character \\b itself before lines not to be wrapped.
        command.help = (command.help or "").replace("\\b\n", "\b\n")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, 1)
            meant = f' Did you mean "tally {close[0]}"?' if close else ' "tally --help" lists the commands.'
            ctx.fail(f'There is no command "{args[0]}".{meant}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    from tallywise.installation import build_facts

    click.echo(build_facts())
    context.exit()


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=f"Classical machine learning for text and tables: train, classify and explain.\n\n{_EXAMPLES}",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def group() -> None:
    """Run a command."""


def run(arguments: list[str]) -> None:
    """Run ``tally`` and exit with its code; a failure is one line on standard error, not a traceback."""
    try:
        code: Any = group.main(arguments, prog_name="tally", standalone_mode=False)
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = 130
    except Exception as error:
        if os.environ.get("TALLYWISE_DEBUG"):
            raise
        click.echo(f"error: {_one_line(error)}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return "standard input or output is closed"
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.split(".")[0] in _TO_LEARN:
        missing = _TO_LEARN[error.name.split(".")[0]]
        return f"this command learns or evaluates, which needs {missing}: pip install scikit-learn"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = " ".join(str(error).split())
    expected = type(error).__module__.startswith("tallywise") or isinstance(error, ValueError | TypeError)
    return text if expected and text else f"{type(error).__name__}: {text} (set TALLYWISE_DEBUG=1 for the traceback)"
