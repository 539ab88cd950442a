"""``tally explain``: one text, highlighted, with the contribution of every word."""

from typing import Any

import click

from tallywise.cli._label_set_commands import explained_labels, is_label_model
from tallywise.cli._options_and_output import emit, options
from tallywise.cli._table_commands import explain_table, is_table_model
from tallywise.plain_text import table
from tallywise.reading import InputError, open_source


@click.command()
@click.argument("model", type=click.Path())
@click.argument("input", type=click.Path(), default="-")
@options("text", "format")
@click.option("--class", "label", metavar="CLASS", help="Explain this class instead of the predicted one.")
@click.option("-n", "--words", type=click.IntRange(1), default=20, show_default=True, help="Words to list.")
@options("json")
def command(
    model: str, input: str, text: str | None, format: str | None, label: str | None, words: int, as_json: bool
) -> None:
    r"""Show what each word of a text, or each column of a table's first row, contributes to its classification.

    \b
    Examples:
      tally explain model.tally message.txt
      echo "claim your prize" | tally explain model.tally
    """
    from tallywise.models.loading import load

    loaded = load(model)
    if is_table_model(loaded):
        explain_table(loaded, input, format, label, words, as_json)
        return
    record = next(iter(open_source(input, text=text, format=format, labelled=False)), None)
    if record is None:
        msg = "the input holds no text"
        raise InputError(msg)
    chosen = next((name for name in loaded.classes if str(name) == label), label)
    if is_label_model(loaded):
        labels = explained_labels(loaded, record.text) if chosen is None else [chosen]
        reasons = [(loaded.explain(record.text, name), loaded.flip(record.text, name)) for name in labels]
        if as_json:
            emit([_document(found, flip) for found, flip in reasons])
            return
        for found, flip in reasons:
            _show(record.text, found, words)
            if flip is not None:
                _would(f"{'would be' if flip.becomes else 'would not be'} {flip.label}", flip)
        return
    found = loaded.explain(record.text, chosen)
    flip = loaded.flip(record.text)
    if as_json:
        emit(_document(found, flip))
        return
    _show(record.text, found, words)
    if flip is not None:
        _would(f"would be {flip.becomes}", flip)


def _document(found: Any, flip: Any) -> dict[str, Any]:
    return {
        "label": found.label,
        "probability": found.probability,
        "score": found.score,
        "bias": found.bias,
        "words": [{"term": w.term, "contribution": w.contribution, "spans": w.spans} for w in found.words],
        "flip": None
        if flip is None
        else {"becomes": flip.becomes, "remove": flip.remove, "add": flip.add, "distance": flip.distance},
    }


def _would(what: str, flip: Any) -> None:
    for verb, listed in (("without", flip.remove), ("with", flip.add)):
        if listed:
            click.echo(f"\n{what} {verb} " + ", ".join(f'"{word}"' for word in listed[:8]))


def _show(text: str, found: Any, words: int) -> None:
    click.echo(f"{found.label}  {found.probability:.4f}   score {found.score:+.3f} = bias {found.bias:+.3f} + words\n")
    _highlighted(text, found)
    rows = [["word", "contribution", "count"]]
    rows += [[w.term, f"{w.contribution:+.3f}", str(len(w.spans))] for w in found.words[:words]]
    click.echo(table(rows, right=(1, 2)))
    rest = found.words[words:]
    if rest:
        click.echo(f"  and {len(rest)} more words: {sum(w.contribution for w in rest):+.3f}")


def _highlighted(text: str, found: Any) -> None:
    """The text coloured by contribution, on a terminal."""
    import sys

    if not sys.stdout.isatty():
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(text[:4000])
    top = max((abs(w.contribution) for w in found.words), default=0.0)
    for word in found.words:
        share = abs(word.contribution) / top if top else 0.0
        if share > 0.1:
            style = (
                ("bold red" if word.contribution > 0 else "bold blue")
                if share > 0.4
                else ("red" if word.contribution > 0 else "blue")
            )
            for begin, end in word.spans:
                shown.stylize(style, begin, end)
    console = Console()
    console.print(shown)
    console.print()
