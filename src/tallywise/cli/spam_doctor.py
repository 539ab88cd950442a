"""``tally spam doctor``: what may be wrong with a filter and its server."""

from pathlib import Path
from typing import Any

import click

from tallywise.cli._spam_filters import default_store
from tallywise.cli.spam import filter_options
from tallywise.cli.spam_serve import address


@click.command()
@filter_options(user=False)
@click.option("--spamd", default="127.0.0.1:783", show_default=True, metavar="HOST:PORT", help="Where the server is.")
def command(store: str | None, spamd: str, **_: Any) -> None:
    r"""Look for what is wrong: the file, its balance, its mode, the server, the unit that starts it.

    Exits with 1 when something is. To see whether moves into Junk teach the filter, run it before and after one:
    the server's count of spam rises by one.

    \b
    Example:
      tally spam doctor --store /var/lib/tally-spam/mail.spam
    """
    from tallywise.spam.checkup import examined

    wrong = 0
    for finding in examined(Path(store or default_store()), address(spamd)):
        wrong += not finding.sound
        click.echo(f"{'ok   ' if finding.sound else 'WRONG'}  {finding.what}")
        if not finding.sound:
            click.echo(f"       {finding.remedy}")
    if wrong:
        raise click.exceptions.Exit(1)
