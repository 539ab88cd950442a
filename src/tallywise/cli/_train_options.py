"""Options of ``tally train``, in groups."""

from collections.abc import Callable
from typing import Any

import click

from tallywise.cli._option_values import Seconds
from tallywise.cli._options_and_output import OPTIONS
from tallywise.cli._shard_commands import SHARD_OPTIONS
from tallywise.cli._table_commands import TABLE_OPTIONS

Decorator = Callable[[Any], Any]


class GroupedCommand(click.Command):
    """A command whose help lists options in groups; those of no group come last."""

    groups: dict[str, tuple[Decorator, ...]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group."""
        left = {option.name: option for option in self.get_params(ctx) if isinstance(option, click.Option)}
        for title, decorators in self.groups.items():
            named = [_parameter(decorate).name for decorate in decorators]
            records = [found for name in named if (found := left.pop(name).get_help_record(ctx))]
            with formatter.section(title):
                formatter.write_dl(records)
        records = [found for option in left.values() if (found := option.get_help_record(ctx))]
        if records:
            with formatter.section("Other options"):
                formatter.write_dl(records)


def _parameter(decorate: Decorator) -> click.Option:
    """The option that a decorator adds."""

    def nothing() -> None:
        """Take one option."""

    option: click.Option = decorate(nothing).__click_params__[0]
    return option


def grouped(groups: dict[str, tuple[Decorator, ...]]) -> Decorator:
    """Make a command with the options of some groups."""

    def decorate(function: Any) -> Any:
        for option in reversed([one for listed in groups.values() for one in listed]):
            function = option(function)
        command = click.command(cls=GroupedCommand)(function)
        command.groups = groups
        return command

    return decorate


TRAIN: dict[str, tuple[Decorator, ...]] = {
    "Data": (
        click.option(
            "--text", multiple=True, metavar="COLUMN", help="Column of texts (may be repeated); recognised by default."
        ),
        OPTIONS["label"],
        OPTIONS["label_separator"],
        OPTIONS["join_labels"],
        OPTIONS["format"],
        *TABLE_OPTIONS,
    ),
    "Model": (
        click.option("--model", default="auto", show_default=True, help="One model by name instead of the sum of two."),
        OPTIONS["ngrams"],
        OPTIONS["stop_words"],
        OPTIONS["class_weight"],
        click.option(
            "--loss",
            type=click.Choice(["squared", "absolute", "huber"]),
            default="squared",
            show_default=True,
            help="Of a table's numbers: the error by which models are compared.",
        ),
        click.option(
            "--cv",
            type=click.IntRange(2, 100),
            metavar="K",
            help="Folds of the cross-validation; 5 by default, 3 from 10,000 texts or 3,000 rows on.",
        ),
        click.option(
            "--time-limit",
            type=Seconds(0),
            metavar="SECONDS",
            help="Time after which no further model is tried, and a fit that has none ends. "
            "[default: a limit of work, the same on any machine]",
        ),
        OPTIONS["seed"],
        OPTIONS["threads"],
    ),
    "Decisions": (
        click.option(
            "--max-flagged",
            metavar="CLASS=SHARE",
            help="With two classes: set the threshold so that at most this share of CLASS is flagged as the other, "
            "such as ham=0.001.",
        ),
        OPTIONS["costs"],
    ),
    "Output": (
        click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False),
            default="model.tally",
            show_default=True,
            help="File of the model.",
        ),
        click.option(
            "--report",
            type=click.Path(dir_okay=False),
            default="report.html",
            show_default=True,
            help="File of the report.",
        ),
        click.option("--no-report", is_flag=True, help="Write no report."),
        click.option(
            "--size",
            metavar="SIZE",
            help="Largest size of the model's file, such as 10MB: terms that add least are left out.",
        ),
        OPTIONS["json"],
        click.option("-v", "--verbose", is_flag=True, help="Say how much memory the training took at most."),
    ),
    "Many files": (
        *SHARD_OPTIONS,
        click.option(
            "--stream",
            is_flag=True,
            help="Read in pieces, whatever the size; with a naive Bayes --model, no more in memory than the model.",
        ),
        click.option("--min-df", type=click.IntRange(1), default=1, help="Leave terms in fewer texts out."),
        click.option(
            "--max-features", type=click.IntRange(1), help="Keep so many of the most frequent terms (naive Bayes)."
        ),
        click.option(
            "--n-features",
            type=click.IntRange(1, 2**31 - 1),
            help="Hash terms to so many columns.",
        ),
        click.option("--resume", is_flag=True, help="Go on where a run that was cut off ended."),
    ),
}
