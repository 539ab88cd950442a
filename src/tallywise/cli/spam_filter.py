"""``tally spam filter`` for click; plain arguments come to the same by a shorter way (`tallywise.cli.main`)."""

from typing import Any

import click

from tallywise.cli._spam_pipe import EXITS, run
from tallywise.cli.spam import filter_options
from tallywise.spam import STYLES


@click.command()
@filter_options()
@click.option("--exit-code", type=click.Choice(list(EXITS)), default="plain", show_default=True, help="Whose codes.")
@click.option("--headers", type=click.Choice(STYLES), multiple=True, help="Also write headers in this manner.")
@click.option("--reasons", is_flag=True, help="Write X-Tally-Reason: the five strongest words.")
def command(**options: Any) -> None:
    r"""Read one message, write it back byte for byte with X-Tally-Spam in its header.

    On a failure of the filter the message passes unchanged and the exit code is 75 (EX_TEMPFAIL).

    \b
    procmail:
      :0fw
      | tally spam filter
      :0:
      * ^X-Tally-Spam: spam
      Junk/
    """
    run(**options)
