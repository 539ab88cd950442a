"""The reference of the documentation site, made from the code: docs/api, which is not kept in the repository.

A page per package with an entry for each public name, a page of every command with all options, and one of the names
of models that ``--models`` and ``model=`` take.
"""

import importlib
import inspect
from pathlib import Path

import click

API = Path(__file__).parent.parent / "docs" / "api"
PACKAGES = {
    "tallywise": "Loading, training and scikit-learn's names",
    "tallywise.text": "Text to counts",
    "tallywise.naive_bayes": "Naive Bayes",
    "tallywise.linear": "Linear models",
    "tallywise.kernels": "Kernels",
    "tallywise.neighbors": "Neighbours",
    "tallywise.topics": "Topics",
    "tallywise.text_model": "Text models",
    "tallywise.table_model": "Table models",
    "tallywise.evaluation": "Evaluation",
    "tallywise.reading": "Reading files",
    "tallywise.bridges": "Bridges",
    "tallywise.report.plots": "Plots",
    "tallywise.scale": "Shards",
    "tallywise.spam": "The mail filter",
    "tallywise.serve": "The service",
    "tallywise.errors": "Errors and warnings",
}


def public_names() -> dict[str, list[str]]:
    """Public names by package; ``tallywise`` itself lists those that no other page has."""
    names = {home: sorted(importlib.import_module(home).__all__) for home in PACKAGES}
    elsewhere = {name for home in names if home != "tallywise" for name in names[home]}
    names["tallywise"] = [name for name in names["tallywise"] if name not in elsewhere]
    return names


def package_page(home: str, names: list[str]) -> str:
    """A package: each public class, function and value by its docstring."""
    module = importlib.import_module(home)
    blocks = []
    for name in names:
        value = getattr(module, name)
        directive = "autoclass" if isinstance(value, type) else "autofunction" if callable(value) else "autodata"
        options = "\n   :members:" if directive == "autoclass" else ""
        blocks.append(f"## {name}\n\n```{{eval-rst}}\n.. {directive}:: {home}.{name}{options}\n```\n")
    return f"# {PACKAGES[home]}\n\n`{home}`\n\n" + "\n".join(blocks)


def command_section(names: tuple[str, ...], command: click.Command) -> list[str]:
    """A command, and the commands within it: help text and all options."""
    context = click.Context(command, info_name=" ".join(names))
    usage = " ".join([*names, *command.collect_usage_pieces(context)])
    lines = [f"{'#' * (len(names) + 1)} {' '.join(names)}", "", "```text", usage, "```", ""]
    for paragraph in inspect.cleandoc((command.help or "").replace("\\b\n", "\b\n")).split("\n\n"):
        kept = paragraph.lstrip("\b").strip("\n")
        lines += ["```text", kept, "```", ""] if paragraph.startswith("\b") else [" ".join(paragraph.split()), ""]
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context))]
    if rows:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows]
        lines.append("")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                lines += command_section((*names, name), inner)
    return lines


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def commands_page() -> str:
    """Every command with every option."""
    from tallywise.cli._commands import group

    return "\n".join(["# Every command and option", "", *command_section(("tally",), group)]) + "\n"


def models_page() -> str:
    """Names of models."""
    from tallywise.table_model.recipes import RECIPES
    from tallywise.text_model import MODEL_TYPES

    lines = ["# Names of models", "", "For `--models`, `--model` and `model=`; several names are joined by commas.", ""]
    lines += ["## Texts", "", "| name | model |", "|---|---|"]
    lines += [f"| `{one.name}` | {one.title} |" for one in MODEL_TYPES]
    lines += ["", "## Tables", "", "| name | model |", "|---|---|"]
    lines += [f"| `{one.name}` | {one.title} |" for one in RECIPES]
    return "\n".join(lines) + "\n"


def write() -> None:
    """All pages."""
    API.mkdir(exist_ok=True)
    for old in API.glob("*.md"):
        old.unlink()
    pages = {home.replace(".", "-"): package_page(home, names) for home, names in public_names().items()}
    pages = {"commands": commands_page(), "models": models_page(), **pages}
    for name, text in pages.items():
        (API / f"{name}.md").write_text(text)
    listed = "\n".join(pages)
    (API / "index.md").write_text(f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n")
