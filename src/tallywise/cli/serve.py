"""``tally serve``: an HTTP service and a workbench in the browser."""

import click

from tallywise.cli._option_values import Seconds
from tallywise.cli._options_and_output import options
from tallywise.reading import InputError


@click.command()
@click.argument("inputs", nargs=-1, type=click.Path(), metavar="[MODEL] [DATA]...")
@options("text", "label", "format")
@click.option("--date", metavar="COLUMN", help="Column of dates, for topics over time; recognised if not given.")
@click.option(
    "--store", type=click.Path(file_okay=False), help="Folder of texts and models; beside the input if not given."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free one.")
@click.option(
    "--token",
    envvar="TALLY_TOKEN",
    show_envvar=True,
    help="Secret of those who may change things; needed off loopback.",
)
@click.option(
    "--reader-token", envvar="TALLY_READER_TOKEN", show_envvar=True, help="Secret of those who may classify and read."
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="A further name of this service (may be repeated).")
@click.option("--root-path", default="", metavar="/PREFIX", help="Prefix at which a proxy shows the service.")
@click.option("--trust-proxy", is_flag=True, help="Take clients' addresses from the proxy's X-Forwarded-For.")
@click.option("--record", is_flag=True, help="Keep every text that is classified, for History.")
@click.option("--model", default="auto", show_default=True, help="Model that background fits use, by name.")
@click.option("--time-limit", type=Seconds(0), default=60.0, show_default=True, help="Seconds a fit may try models.")
@click.option("--max-body", type=click.IntRange(1024), default=8 << 20, show_default=True, help="Bytes of a request.")
@click.option("--max-batch", type=click.IntRange(1), default=10_000, show_default=True, help="Texts of a request.")
@click.option("--timeout", type=Seconds(0.1), default=60.0, show_default=True, help="Seconds for a request.")
@click.option("--browser/--no-browser", default=True, help="Open the page, on a desktop.")
def command(
    inputs: tuple[str, ...],
    text: str | None,
    label: str | None,
    format: str | None,
    date: str | None,
    store: str | None,
    host: str,
    port: int,
    token: str | None,
    reader_token: str | None,
    allow_host: tuple[str, ...],
    root_path: str,
    trust_proxy: bool,
    record: bool,
    model: str,
    time_limit: float,
    max_body: int,
    max_batch: int,
    timeout: float,
    browser: bool,
) -> None:
    r"""Serve a model over HTTP, with a page to try, label, correct and compare.

    Starts from a model file, from texts with or without labels, from both, or from nothing. A model of a table is
    served alone: verdicts and reasons for records, and a page with a form of its columns.

    \b
    Examples:
      tally serve model.tally
      tally serve inbox.csv
      tally serve model.tally inbox.csv --host 0.0.0.0 --token "$SECRET" --allow-host filter.example.org
    """
    try:
        from tallywise.serve import Settings, run, store_folder
    except ImportError as error:
        msg = f"tally serve needs more packages ({error.name} is missing): pip install 'tallywise[serve]'"
        raise InputError(msg) from None
    settings = Settings(
        host=host,
        port=port,
        token=token or None,
        reader_token=reader_token or None,
        hosts=allow_host,
        root_path=root_path.rstrip("/"),
        trust_proxy=trust_proxy,
        record=record,
        model=model,
        time_limit=time_limit,
        max_body=max_body,
        max_batch=max_batch,
        timeout=timeout,
    )
    run(
        inputs,
        store or store_folder(inputs),
        settings,
        tell=click.echo,
        browser=browser,
        text=text,
        label=label,
        format=format,
        date=date,
    )
