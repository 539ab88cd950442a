"""``tally completion``: completion of commands and options by the shell."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallywise.files import replacing

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

_VARIABLE = "_TALLY_COMPLETE"


def _places() -> dict[str, tuple[Path, str]]:
    """Where each shell looks for scripts of the user, and what else it needs, if anything."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "bash": (data / "bash-completion" / "completions" / "tally", "the package bash-completion"),
        "zsh": (home / ".zfunc" / "_tally", "'fpath+=~/.zfunc; autoload -Uz compinit; compinit' in ~/.zshrc"),
        "fish": (config / "fish" / "completions" / "tally.fish", ""),
    }


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
@click.option("--print", "only_print", is_flag=True, help="Print the script instead of installing it.")
@click.pass_context
def command(context: click.Context, shell: str | None, only_print: bool) -> None:
    r"""Install completion of commands, options and files for a shell (by default, the one in use).

    \b
    Examples:
      tally completion
      tally completion zsh
      tally completion bash --print
    """
    from click.shell_completion import get_completion_class

    name = shell or Path(os.environ.get("SHELL", "")).name
    places = _places()
    if name not in places:
        msg = f'The shell in use ("{name}") is none of {", ".join(places)}: name one, as in "tally completion bash".'
        raise click.UsageError(msg, context)
    kind = get_completion_class(name)
    assert kind is not None
    completer: ShellComplete = kind(context.find_root().command, {}, "tally", _VARIABLE)
    script = completer.source()
    if only_print:
        click.echo(script)
        return
    path, needs = places[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(f"{script}\n".encode())
    click.echo(f"wrote {path}; it takes effect in new shells" + (f", with {needs}" if needs else ""))
