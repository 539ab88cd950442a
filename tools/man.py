"""Write manual pages from the help texts: ``python -m tools.man [FOLDER]`` (build/man/man1 by default)."""

import inspect
import sys
from pathlib import Path

import click

from tallywise.cli._commands import group
from tallywise.installation import build_facts


def escaped(text: str) -> str:
    """Text that roff prints as it is."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def body(help_text: str) -> list[str]:
    """Paragraphs of a help text; those marked by a backspace keep their lines."""
    lines = []
    for paragraph in help_text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines += [".PP", ".nf", escaped(paragraph.lstrip("\b").strip("\n")), ".fi"]
        else:
            lines += [".PP", escaped(" ".join(paragraph.split()))]
    return lines


def page(names: tuple[str, ...], command: click.Command) -> str:
    """One page, of section 1."""
    title, version = "-".join(names), build_facts().split(" (")[0]
    context = click.Context(command, info_name=" ".join(names))
    lines = [f'.TH "{title.upper()}" "1" "" "{version}" "tallywise"', ".SH NAME"]
    lines += [f"{escaped(title)} \\- {escaped(command.get_short_help_str(200).rstrip('.'))}", ".SH SYNOPSIS"]
    lines += [f".B {escaped(' '.join(names))}", escaped(" ".join(command.collect_usage_pieces(context)))]
    lines += [".SH DESCRIPTION", *body(inspect.cleandoc((command.help or "").replace("\\b\n", "\b\n")))]
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context))]
    if records:
        lines.append(".SH OPTIONS")
        for option, text in records:
            lines += [".TP", f"\\fB{escaped(option)}\\fR", escaped(" ".join(text.split()))]
    inner = subcommands(command, context)
    if inner:
        lines.append(".SH COMMANDS")
        for name, sub in inner:
            lines += [".TP", f"\\fB{escaped(name)}\\fR", escaped(sub.get_short_help_str(200))]
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{escaped('-'.join((*names, name)))}\\fR(1)" for name, _ in inner)]
    if len(names) == 1:
        lines += [".SH EXIT STATUS", "0 done, 1 failure, 2 wrong usage, 130 interrupted."]
    return "\n".join(lines) + "\n"


def subcommands(command: click.Command, context: click.Context) -> list[tuple[str, click.Command]]:
    """The commands of a group, none of another command."""
    if not isinstance(command, click.Group):
        return []
    found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return [(name, sub) for name, sub in found if sub is not None]


def pages(names: tuple[str, ...], command: click.Command) -> dict[str, str]:
    """Pages of a command and of the commands within it, by file name."""
    made = {"-".join(names) + ".1": page(names, command)}
    for name, sub in subcommands(command, click.Context(command)):
        made |= pages((*names, name), sub)
    return made


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/man/man1")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in pages(("tally",), group).items():
        (folder / file).write_text(text, encoding="utf-8")
    print(f"wrote {folder}")
