"""``tally inspect``: contents of a model file."""

import click

from tallywise.cli._label_set_commands import is_label_model
from tallywise.cli._options_and_output import emit, metrics_table, options
from tallywise.cli._table_commands import inspect_table, is_table_model
from tallywise.plain_text import size_shown


@click.command()
@click.argument("model", type=click.Path())
@click.option("-n", "--words", type=click.IntRange(1), default=12, show_default=True, help="Terms shown per class.")
@click.option("--card", is_flag=True, help="A model card in Markdown, to be completed by its makers.")
@options("json")
def command(model: str, words: int, card: bool, as_json: bool) -> None:
    r"""Show what a saved model holds: its kind, its figures, its most indicative terms.

    \b
    Examples:
      tally inspect model.tally
      tally inspect model.tally --card > CARD.md
    """
    import os

    from tallywise.models.loading import load

    loaded = load(model)
    if card:
        from tallywise.models.model_card import model_card

        if as_json:
            msg = "--card cannot be combined with --json: a card is Markdown."
            raise click.UsageError(msg)
        click.echo(model_card(loaded, os.path.basename(model), os.path.getsize(model), words), nl=False)
        return
    if is_table_model(loaded):
        inspect_table(loaded, model, os.path.getsize(model), as_json)
        return
    top_terms = {str(label): loaded.top_terms(label, words) for label in loaded.classes}
    if as_json:
        document = {**loaded.meta, "bytes": os.path.getsize(model), "top_terms": top_terms}
        if is_label_model(loaded):
            document["thresholds"] = dict(zip(top_terms, loaded.thresholds.tolist(), strict=True))
        emit(document)
        return
    meta = loaded.meta
    click.echo(f"{model}: {meta['title']}, {size_shown(os.path.getsize(model))}")
    trained = f"trained on {meta['texts']:,} texts, " if meta["texts"] else ""
    click.echo(f"{trained}{loaded.n_features:,} features")
    for line in meta["description"]:
        click.echo(line)
    if figures := meta["figures"]:
        click.echo(metrics_table(figures, [str(name) for name in loaded.classes]))
    limits = loaded.thresholds.tolist() if is_label_model(loaded) else []
    for k, (name, found) in enumerate(list(top_terms.items())[:30]):
        given = f" (from probability {limits[k]:.3f} on)" if limits else ""
        click.echo(f"{name}{given}: " + ", ".join(word for word, _ in found))
