"""``tally train``: labelled texts to a model and a report."""

import time
from pathlib import Path
from typing import Any

import click

from tallywise.cli._shared import Labelled, emit, options, percent, read_labelled, set_threads, status, trials_table


@click.command()
@click.argument("data", type=click.Path())
@options("text", "label", "format")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="model.tally",
    show_default=True,
    help="Where the model goes.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    default="report.html",
    show_default=True,
    help="Where the report goes; an empty name writes none.",
)
@click.option("--model", default="auto", show_default=True, help="One model by name instead of the best of all.")
@click.option("--ngrams", type=click.IntRange(1, 5), default=2, show_default=True, help="Longest run of words.")
@click.option(
    "--lose-at-most",
    nargs=2,
    metavar="CLASS SHARE",
    help="Set the threshold so that at most this share of CLASS is lost, such as: --lose-at-most ham 0.001",
)
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Time for trying models.")
@options("threads", "seed", "json")
def command(
    data: str,
    text: str | None,
    label: str | None,
    format: str | None,
    output: str,
    report: str,
    model: str,
    ngrams: int,
    lose_at_most: tuple[str, str] | None,
    seconds: float,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Learn from labelled texts; write a model and a report.

    DATA is a CSV, TSV, JSONL or Parquet file, or a folder with one subfolder a class.

    \b
    Examples:
      tally train inbox.csv
      tally train reviews.jsonl --text body --label stars
      tally train mail/ --lose-at-most ham 0.001 -o filter.tally
    """
    set_threads(threads)
    budget = None
    if lose_at_most is not None:
        try:
            budget = {lose_at_most[0]: float(lose_at_most[1])}
        except ValueError:
            msg = f"--lose-at-most takes a class and a number. Got {lose_at_most[1]!r}."
            raise click.UsageError(msg) from None
    began = time.perf_counter()
    with status("reading") as tell:
        found = read_labelled(data, text, label, format)
        tell("loading")
        from tallywise.classifier import TextClassifier, facts_of

        classifier = TextClassifier(
            model, ngrams=(1, ngrams), budget=budget, seconds=seconds, random_state=seed, progress=tell
        ).fit(found.texts, found.labels)
        size = classifier.save(output)
        tell("writing the report")
        facts = facts_of(classifier, found.texts, found.labels, data) if report or not as_json else None
        if report and facts is not None:
            from tallywise.evaluation.report import render

            Path(report).write_text(render(facts), encoding="utf-8", errors="replace")
    if as_json:
        emit(_document(classifier, found, output, report, time.perf_counter() - began))
        return
    _show(classifier, found, facts)
    click.echo(
        f"wrote {output} ({size / 1e6:.1f} MB)"
        + (f" and {report}" if report else "")
        + f"   in {time.perf_counter() - began:.1f} s"
    )
    click.echo(f"next: tally classify {output} new.eml --explain")


def _show(classifier: Any, found: Labelled, facts: Any) -> None:
    repeats = len(found.texts) - len(set(classifier.groups_.tolist()))
    click.echo(found.says + (f"; {repeats:,} repeats kept together" if repeats else ""))
    binary = len(classifier.classes_) == 2
    click.echo(trials_table(classifier, facts))
    if len(classifier.trials_) > 1:
        click.echo(f"error of the choice itself, without the luck of choosing: {percent(classifier.corrected_error_)}")
    if facts.bayes_bound is not None:
        click.echo(f"1-nearest neighbour puts the best possible error near {percent(facts.bayes_bound)}")
    if classifier.threshold_ is not None:
        t = classifier.threshold_
        click.echo(
            f"threshold {t.value:.4f}: {percent(t.lost.value, 2)} lost, {percent(t.caught.value)} caught "
            f"({percent(t.caught.low)} to {percent(t.caught.high)})"
        )
    elif binary:
        area = classifier.figures_["roc_area"]
        click.echo(f"ROC area {area.value:.4f} ({area.low:.4f} to {area.high:.4f})")
    for warning in facts.warnings:
        click.echo(f"note: {warning}")


def _document(classifier: Any, found: Labelled, output: str, report: str, seconds: float) -> dict[str, Any]:
    return {
        "read": found.says,
        "texts": len(found.texts),
        "classes": [str(label) for label in classifier.classes_],
        "kept": classifier.trials_[0].title,
        "models": [
            {"title": trial.title, "error": trial.error, "log_loss": trial.log_loss, "seconds": trial.seconds}
            for trial in classifier.trials_
        ],
        "corrected_error": classifier.corrected_error_,
        "figures": {name: [f.value, f.low, f.high] for name, f in classifier.figures_.items()},
        "threshold": None if classifier.threshold_ is None else classifier.threshold_.value,
        "model": output,
        "report": report or None,
        "seconds": seconds,
    }
