"""``tally spam imap``: sort the new mail of an IMAP mailbox."""

import contextlib
import imaplib
import importlib
import os
import time
from pathlib import Path
from typing import Any

import click

from tallywise.cli._option_values import Seconds
from tallywise.cli._spam_filters import default_store, open_filter
from tallywise.cli.spam import filter_options
from tallywise.spam.imap import Mailbox, MailboxError, State
from tallywise.spam.imap_connection import connect

_SERVICE = "tallywise-imap"


@click.command()
@filter_options(user=False)
@click.option("--host", required=True, help="Server.")
@click.option("--user", "login", required=True, help="Name to log in with.")
@click.option("--port", type=click.IntRange(1, 65535), help="993, or 143 without TLS from the start.")
@click.option("--starttls", is_flag=True, help="Begin plain and turn to TLS.")
@click.option("--plain", is_flag=True, help="No TLS at all; for this machine only.")
@click.option("--inbox", default="INBOX", show_default=True, help="Folder of new mail.")
@click.option("--junk", default="Junk", show_default=True, help="Folder of spam.")
@click.option("--tag", "tag_only", is_flag=True, help="Give spam the keyword $Junk instead of moving it.")
@click.option("--learn-existing", is_flag=True, help="On the first visit: the inbox is ham, Junk is spam.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change, learn and remember nothing.")
@click.option("--every", type=Seconds(5), metavar="SECONDS", help="Come back so often; once by default.")
def command(
    host: str,
    login: str,
    port: int | None,
    starttls: bool,
    plain: bool,
    inbox: str,
    junk: str,
    tag_only: bool,
    learn_existing: bool,
    dry_run: bool,
    every: float | None,
    **where: Any,
) -> None:
    """Look at new mail, move spam to Junk, learn from what you move yourself. Nothing is ever deleted.

    The password comes from TALLY_IMAP_PASSWORD, from the keyring (service "tallywise-imap") or from a prompt. The first
    visit takes what is there as seen.
    """
    if plain and host not in ("localhost", "127.0.0.1", "::1"):
        msg = "--plain would send the password in the clear: it is for this machine only."
        raise click.UsageError(msg)
    password = _password(login)
    name = "".join(c if c.isalnum() or c in "@._-" else "_" for c in f"{login}@{host}")
    place = Path(where["store"] or default_store()).parent / "imap" / f"{name}.json"
    while True:
        known = place.exists()
        state = State.load(place)
        with open_filter(**where, user=None) as mail:
            connection = None
            try:
                connection = connect(host, port, starttls=starttls, plain=plain)
                connection.login(login, password)
                box = Mailbox(connection, mail, state, inbox=inbox, junk=junk, tag_only=tag_only, dry_run=dry_run)
                if known or dry_run:
                    box.look()
                else:
                    box.first_visit(learn_existing)
            except imaplib.IMAP4.error as error:
                msg = f"{host}: {error}"
                raise MailboxError(msg) from error
            finally:
                if not dry_run and connection is not None:
                    state.save(place)
                if connection is not None:
                    with contextlib.suppress(OSError, imaplib.IMAP4.error):  # it may be closed already
                        connection.logout()
        done = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in vars(box.visit).items() if number)
        click.echo(("would have: " if dry_run else "") + (done or "nothing new"))
        if every is None:
            return
        time.sleep(every)


def _password(login: str) -> str:
    given = os.environ.get("TALLY_IMAP_PASSWORD")
    if given:
        return given
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        pass
    else:
        kept: str | None = keyring.get_password(_SERVICE, login)
        if kept:
            return kept
    return str(click.prompt("Password", hide_input=True))
