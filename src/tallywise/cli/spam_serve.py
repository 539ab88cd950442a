"""``tally spam serve``: spamd's protocol, rspamd's POST /checkv2 and Prometheus figures."""

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tallywise.cli._option_values import Seconds
from tallywise.cli._spam_filters import default_store, open_filter
from tallywise.cli.spam import filter_options
from tallywise.spam.marking import REASONS
from tallywise.spam.server import Limits, SpamServer
from tallywise.spam.spamd import Manner


@click.command()
@filter_options()
@click.option("--spamd", "addresses", multiple=True, metavar="HOST:PORT", help="TCP address; 127.0.0.1:783 by default.")
@click.option("--socket", "sockets", multiple=True, type=click.Path(), help="Unix socket (may be repeated).")
@click.option("--milter", "milters", multiple=True, metavar="HOST:PORT", help="Also speak the milter protocol there.")
@click.option("--reject", is_flag=True, help="Refuse spam over the milter protocol, instead of marking it.")
@click.option("--shadow", is_flag=True, help="Judge and note, but mark and refuse nothing: see 'tally spam report'.")
@click.option("--reasons", is_flag=True, help="Write X-Tally-Reason, the five strongest words.")
@click.option("--history", default=1000, show_default=True, type=click.IntRange(0), help="Judged messages to note.")
@click.option("--users", is_flag=True, help="A filter for each user that clients name, over the shared one.")
@click.option("--timeout", default=60.0, show_default=True, type=Seconds(0.1), help="Seconds for a request.")
@click.option("--max-message", default=64 << 20, show_default=True, type=click.IntRange(1024), help="Bytes.")
def command(
    addresses: tuple[str, ...],
    sockets: tuple[str, ...],
    milters: tuple[str, ...],
    reject: bool,
    shadow: bool,
    reasons: bool,
    history: int,
    users: bool,
    timeout: float,
    max_message: int,
    **where: Any,
) -> None:
    r"""Answer mail servers: CHECK, REPORT, PROCESS, TELL and the others of spamd; POST /checkv2; GET /metrics.

    Listens on 127.0.0.1:783 unless told otherwise. The protocol has no passwords: whoever reaches it can teach the
    filter, so listen where only the mail server does.

    \b
    Examples:
      tally spam serve
      tally spam serve --socket /run/tally-spam/socket
    """
    if not addresses and not sockets and not milters:
        addresses = ("127.0.0.1:783",)
    pairs = [address(text) for text in addresses]
    store = Path(where["store"] or default_store())
    mail = open_filter(**where, history=history)
    options = {"max_flagged": where["max_flagged"], "trusted": where["trust"], "history": history}
    manner = Manner(shadow=shadow, reasons=REASONS if reasons else 0, reject=reject)
    folder = store.parent / "users" if users else None
    under_way = max(Limits.under_way, 2 * max_message)  # a compressed message and what it grows to
    limits = Limits(message=max_message, seconds=timeout, under_way=under_way)

    async def serve() -> None:
        server = SpamServer(mail, users=folder, limits=limits, options=options, manner=manner)
        for host, port in pairs:
            click.echo(f"listening on {host}:{await server.listen(host, port)}", err=True)
        for host, port in map(address, milters):
            click.echo(f"milter on {host}:{await server.listen_milter(host, port)}", err=True)
        for path in sockets:
            await server.listen_unix(path)
            click.echo(f"listening on {path}", err=True)
        sys.stderr.flush()
        await server.run()

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop of uvloop where it is installed."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    return factory


def address(text: str) -> tuple[str, int]:
    """The host and port in "HOST:PORT"."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        msg = f"must be HOST:PORT. Got {text!r}."
        raise click.BadParameter(msg, param_hint="--spamd or --milter")
    return host.strip("[]"), int(port)
