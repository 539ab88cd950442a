"""``tally spam report``: what a filter judged lately, and how well."""

import json
from typing import Any

import click

from tallywise.cli._spam_filters import open_filter
from tallywise.cli.spam import filter_options


@click.command()
@filter_options()
@click.option("--days", default=7, show_default=True, type=click.IntRange(1, 366), help="Days to look back.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def command(days: int, as_json: bool, **where: Any) -> None:
    r"""Say what was judged in the last days, and how often that was right by what was learned since.

    In shadow mode (`tally spam serve --shadow`) it is what the filter would have done.
    """
    from tallywise.evaluation import proportion_interval

    with open_filter(**where, history=1, read_only=True) as mail:
        found = mail.report(days)
    for name, total in (("ham_flagged", "judged_ham"), ("spam_caught", "judged_spam")):
        found[f"{name}_interval"] = proportion_interval(found[name], found[total])
    if as_json:
        click.echo(json.dumps(found))
        return
    said = ", ".join(f"{number:,} {label}" for label, number in sorted(found["judged"].items())) or "nothing"
    click.echo(f"judged in {days} days: {said}")
    click.echo("of the messages learned in these days, by their scores before that:")
    for name, total, word in (
        ("ham_flagged", "judged_ham", "ham flagged"),
        ("spam_caught", "judged_spam", "spam caught"),
    ):
        low, high = found[f"{name}_interval"]
        click.echo(f"  {word} {found[name]:,} of {found[total]:,} ({100 * low:.2f} to {100 * high:.2f} %)")
