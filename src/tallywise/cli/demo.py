"""``tally demo``: training, explanations and topics on the bundled corpus."""

import csv
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallywise.cli._options_and_output import contributions, status
from tallywise.files import replacing
from tallywise.plain_text import percent, shorten

if TYPE_CHECKING:
    from tallywise.report import ReportData
    from tallywise.text_model import TextClassifier

_SHOWN = (
    "CONGRATULATIONS! You have been selected, claim your cash prize now at http://prize.example",
    "Congratulations on the new job! Lunch on Friday to celebrate?",
)


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="demo",
    show_default=True,
    help="Folder for the model and the report.",
)
def command(output: str) -> None:
    r"""Train, explain and find topics on the bundled corpus: 637 messages, 210 reviews.

    \b
    Example:
      tally demo
    """
    began = time.perf_counter()
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    messages = _corpus("messages.csv")
    _put(folder / "messages.csv", _raw("messages.csv"))
    with status("loading") as tell:
        from tallywise.report import render
        from tallywise.text_model import TextClassifier, report_data

        texts, labels = [row["text"] for row in messages], [row["label"] for row in messages]
        model = TextClassifier(max_flagged={"ham": 0.01}, progress=tell).fit(texts, labels)
        model.save(folder / "model.tally")
        data = report_data(model, texts, labels, "the bundled messages")
        with replacing(folder / "report.html") as stream:
            stream.write(render(data).encode("utf-8", errors="replace"))
    click.echo(f"{len(texts)} messages ({labels.count('ham')} ham, {labels.count('spam')} spam)\n")
    _compared(model, data)
    _classified(model)
    _topics()
    click.echo(f"\nwrote {folder}/model.tally and {folder}/report.html in {time.perf_counter() - began:.1f} s; next:")
    click.echo(f"  tally classify {folder}/model.tally {folder}/messages.csv --explain | head")
    click.echo(f"  tally inspect {folder}/model.tally")
    click.echo("  tally train your.csv")


def _put(place: Path, content: str) -> None:
    """Write the bundled messages, unless a file of that name holds something else: nobody asked for it to go."""
    raw = content.encode()
    if place.exists() and place.read_bytes() != raw:
        msg = f"{place} exists and holds other messages: it would be written over. Choose another folder with -o."
        raise click.UsageError(msg)
    with replacing(place) as stream:
        stream.write(raw)


def _compared(model: "TextClassifier", data: "ReportData") -> None:
    """The models compared, and the threshold of the one kept."""
    from tallywise.training import trial_table

    click.echo(trial_table(model, data))
    t = model.threshold_
    assert t is not None
    click.echo(
        f"\nthreshold {t.value:.3f}, so that at most 1 % of ham is flagged: {percent(t.caught.value)} of spam caught "
        f"({percent(t.caught.low)} to {percent(t.caught.high)})\n"
    )


def _classified(model: "TextClassifier") -> None:
    """Two messages, explained word by word."""
    for text in _SHOWN:
        found = model.explain(text)
        click.echo(f"{found.label}  {found.probability:.3f}   {shorten(text)}")
        click.echo("      " + contributions(found.words, 6))
        flip = model.flip(text)
        if flip is not None and flip.remove:
            click.echo(f"      would be {flip.becomes} without " + " and ".join(f'"{word}"' for word in flip.remove))


def _topics() -> None:
    """Topics of the reviews."""
    from tallywise.text import CountVectorizer
    from tallywise.topics import LatentDirichletAllocation

    reviews = [row["text"] for row in _corpus("reviews.csv")]
    vectorizer = CountVectorizer(stop_words="english", min_df=3)
    counts = vectorizer.fit_transform(reviews)
    model = LatentDirichletAllocation(5, random_state=0).fit(counts)
    names = vectorizer.get_feature_names_out()
    click.echo(f"\nfive topics in {len(reviews)} reviews:")
    for k, row in enumerate(model.components_):
        click.echo(f"  {k + 1}: " + ", ".join(names[j] for j in row.argsort()[::-1][:8]))


def _raw(name: str) -> str:
    return (files("tallywise") / "demo_corpus" / name).read_text(encoding="utf-8")


def _corpus(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_raw(name).splitlines(keepends=True)))
