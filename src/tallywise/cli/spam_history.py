"""``tally spam history``: mail that was judged lately, and what to do about it."""

import datetime
import json
from typing import Any

import click

from tallywise.cli._spam_filters import open_filter
from tallywise.cli.spam import filter_options


@click.command()
@filter_options()
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="Messages shown.")
@click.option("--label", type=click.Choice(("spam", "ham", "unsure")), help="Only those judged so.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
@click.option("--spam", multiple=True, type=int, metavar="ID", help="Learn a message of the history as spam.")
@click.option("--ham", multiple=True, type=int, metavar="ID", help="Learn it as ham.")
@click.option("--forget", multiple=True, type=int, metavar="ID", help="Forget it.")
@click.option("--allow", multiple=True, type=int, metavar="ID", help="Allow all mail of its sender's address.")
@click.option("--block", multiple=True, type=int, metavar="ID", help="Block all mail of its sender's address.")
def command(last: int, label: str | None, as_json: bool, **given: Any) -> None:
    r"""List mail that the server judged lately, and learn, forget, allow or block it by its number.

    The server keeps the newest 1,000 messages (`tally spam serve --history`): sender, subject and hashed features,
    never the text.

    \b
    Examples:
      tally spam history --label spam
      tally spam history --ham 17 --allow 17
    """
    actions = {name: given.pop(name) for name in ("spam", "ham", "forget", "allow", "block")}
    doing = any(actions.values())
    with open_filter(**given, history=1, read_only=not doing) as mail:
        try:
            for name, ids in actions.items():
                for id in ids:
                    click.echo(f"{id}: {_done(mail, name, id)}")
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        if doing:
            return
        for seen in [] if mail.history is None else mail.history.last(last, label):
            if as_json:
                click.echo(json.dumps(seen._asdict() | {"digest": seen.digest.hex()}))
                continue
            when = datetime.datetime.fromtimestamp(seen.time).strftime("%Y-%m-%d %H:%M")
            learned = f", learned as {seen.learned}" if seen.learned else ""
            click.echo(f"{seen.id:>6}  {when}  {seen.label:<6} {seen.score:+6.2f}{learned}")
            click.echo(f"        {seen.sender}: {seen.subject}")
            click.echo(f"        {seen.reasons}")


def _done(mail: Any, name: str, id: int) -> str:
    if name in ("spam", "ham"):
        return f"{mail.learn_seen(id, name).outcome} as {name}"
    digest, _, sender = mail.history.message(id)
    if name == "forget":
        return "forgotten" if mail.forget_digest(digest).found else "was not learned"
    from tallywise.spam.lists import sender_of

    addresses = sender_of(f"From: {sender}\n\n".encode()).addresses
    if len(addresses) != 1 or not addresses[0]:
        msg = f"Message {id} has no one sender's address: use 'tally spam lists'."
        raise ValueError(msg)
    entry = mail.put_on_list(addresses[0], name == "allow")
    return f"{entry} is {'allowed' if name == 'allow' else 'blocked'}"
