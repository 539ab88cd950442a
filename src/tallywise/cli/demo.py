"""``tally demo``: the tool on the corpus that comes with it."""

import click


@click.command()
def command() -> None:
    """Try tallywise on the corpus that comes with it."""
    click.echo("tallywise")
