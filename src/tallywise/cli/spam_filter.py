"""``tally spam filter``: a message in, the same message with a verdict out."""

import os
import sys
from typing import Any

import click

from tallywise.cli.spam import filter_options, open_filter
from tallywise.spam import STYLES, fields, marked

_TEMPFAIL = 75  # EX_TEMPFAIL of sysexits.h: mail servers try again
_EXITS = {
    "plain": {"spam": 0, "ham": 0, "unsure": 0},
    "bogofilter": {"spam": 0, "ham": 1, "unsure": 2},
    "spamc": {"spam": 1, "ham": 0, "unsure": 0},
}


@click.command()
@filter_options()
@click.option("--exit-code", type=click.Choice(list(_EXITS)), default="plain", show_default=True, help="Whose codes.")
@click.option("--headers", type=click.Choice(STYLES), multiple=True, help="Also write headers in this manner.")
def command(exit_code: str, headers: tuple[str, ...], **where: Any) -> None:
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
    raw = sys.stdin.buffer.read()
    styles = ("tally", *(style for style in headers if style != "tally"))
    try:
        mail = open_filter(**where, read_only=True)
        verdict = mail.classify(raw)
        out, code = marked(raw, fields(verdict, mail.model, styles), styles), _EXITS[exit_code][verdict.label]
    except Exception as error:
        click.echo(f"tally spam filter: {error}", err=True)
        out, code = raw, _TEMPFAIL
    sys.stdout.buffer.write(out)
    sys.stdout.buffer.flush()
    os._exit(code)  # the message is out: nothing that happens on the way down may change the answer
