"""``tally spam lists``: senders that are allowed or blocked, whatever the classifier says."""

from typing import Any

import click

from tallywise.cli._spam_filters import open_filter
from tallywise.cli.spam import filter_options


@click.command()
@filter_options()
@click.option("--allow", multiple=True, metavar="ENTRY", help="Mail from it is ham (may be repeated).")
@click.option("--block", multiple=True, metavar="ENTRY", help="Mail from it is spam (may be repeated).")
@click.option("--remove", multiple=True, metavar="ENTRY", help="Take it off both lists.")
def command(allow: tuple[str, ...], block: tuple[str, ...], remove: tuple[str, ...], **where: Any) -> None:
    r"""Show and change the allow and block lists; blocking goes before allowing.

    An ENTRY is an address (ann@x.example), a domain with all below it (x.example), or list:LIST-ID.

    \b
    Examples:
      tally spam lists --allow ann@x.example --block shop.example --allow list:news.y.example
      tally spam lists
    """
    changes = [(entry, True) for entry in allow] + [(entry, False) for entry in block]
    all_changes = [*changes, *((entry, None) for entry in remove)]
    with open_filter(**where, read_only=not all_changes) as mail:
        try:
            for entry, allowed in all_changes:
                mail.put_on_list(entry, allowed)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        for entry, allowed in sorted(mail.lists().items()):
            click.echo(f"{'allowed' if allowed else 'blocked'}  {entry}")
