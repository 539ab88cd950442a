"""``tally train``: labelled texts to a model and a report."""

import time
from typing import Any

import click

from tallywise.cli._label_sets import fit_label_sets, show_training, training_document
from tallywise.cli._shards import many_shards, shard_options, train_shards
from tallywise.cli._shared import (
    Labelled,
    check_outputs,
    emit,
    has_label_sets,
    options,
    percent,
    read_labelled,
    set_threads,
    size_shown,
    status,
    trials_table,
    whole_data,
    write_both,
)
from tallywise.cli._tables import Choices, table_options, train_table, wants_table
from tallywise.cli._values import Seconds, class_costs, class_numbers, class_weights, file_size, stop_word_list
from tallywise.reading import input_files


@click.command()
@click.argument("data", type=click.Path())
@click.option(
    "--text", multiple=True, metavar="COLUMN", help="Column of texts (may be repeated); recognised by default."
)
@options("label", "label_separator", "join_labels", "format")
@table_options
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="model.tally",
    show_default=True,
    help="File of the model.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    default="report.html",
    show_default=True,
    help="File of the report.",
)
@click.option("--no-report", is_flag=True, help="Write no report.")
@click.option("--model", default="auto", show_default=True, help="One model by name instead of the sum of two.")
@click.option(
    "--loss",
    type=click.Choice(["squared", "absolute", "huber"]),
    default="squared",
    show_default=True,
    help="Of a table's numbers: the error by which models are compared.",
)
@options("ngrams", "stop_words", "class_weight", "costs")
@click.option(
    "--max-flagged",
    metavar="CLASS=SHARE",
    help="With two classes: set the threshold so that at most this share of CLASS is flagged as the other, "
    "such as ham=0.001.",
)
@click.option(
    "--size",
    metavar="SIZE",
    help="Largest size of the model's file, such as 10MB: terms that add least are left out.",
)
@click.option(
    "--cv",
    type=click.IntRange(2, 100),
    metavar="K",
    help="Folds of the cross-validation; 5 by default, 3 from 10,000 texts or 3,000 rows on.",
)
@click.option(
    "--time-limit",
    type=Seconds(0),
    metavar="SECONDS",
    help="Time after which no further model is tried. [default: a limit of work, the same on any machine]",
)
@shard_options
@click.option("--stream", is_flag=True, help="Read in pieces, whatever the size: no more in memory than the model.")
@click.option("--min-df", type=click.IntRange(1), default=1, help="Over shards: leave terms in fewer texts out.")
@click.option("--max-features", type=click.IntRange(1), help="Over shards: keep so many of the most frequent terms.")
@click.option(
    "--n-features",
    type=click.IntRange(1, 2**31 - 1),
    help="Over shards: hash terms to so many columns, and read shards once.",
)
@click.option("--resume", is_flag=True, help="Over shards: go on where a run that was cut off ended.")
@options("threads", "seed", "json")
def command(
    data: str,
    text: tuple[str, ...],
    label: str | None,
    label_separator: str | None,
    join: bool,
    format: str | None,
    task: str | None,
    decimal: str | None,
    category: tuple[str, ...],
    number: tuple[str, ...],
    ignore: tuple[str, ...],
    output: str,
    report: str,
    no_report: bool,
    model: str,
    loss: str,
    ngrams: int | None,
    stop_words: str,
    class_weight: tuple[str, ...],
    costs: tuple[str, ...],
    max_flagged: str | None,
    size: str | None,
    cv: int | None,
    time_limit: float | None,
    ray: str | None,
    workers: int | None,
    skip_bad: bool,
    stream: bool,
    min_df: int,
    max_features: int | None,
    n_features: int | None,
    resume: bool,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Learn from labelled texts or a table; write a model and a report.

    DATA is a CSV, TSV, JSONL, Parquet or Excel file, "-" for one on standard input, or a folder with one subfolder per
    class. A table with more than one useful column, or with numbers to predict, gives a model of all its columns. A
    glob, a folder of tables or a file beyond a quarter of the memory is read in pieces, on all cores or with --ray on a
    cluster; models are then compared on held-out texts.

    \b
    Examples:
      tally train inbox.csv
      tally train reviews.jsonl --text body --label stars
      tally train mail/ --max-flagged ham=0.001 -o filter.tally
      tally train tickets.csv --costs urgent:routine=10 --class-weight balanced
      tally train adult.csv --label income --ignore id
      tally train newswire.csv --label topics --label-separator ';'
      tally train 'shards/*.parquet' --ray auto
    """
    set_threads(threads)
    data = whole_data(data)
    if max_flagged and costs:
        msg = "--max-flagged and --costs are two rules of decision: give one."
        raise click.UsageError(msg)
    most = None if size is None else file_size(size)
    check_outputs([output] if no_report else [output, report], [*input_files(data), stop_words])
    words = stop_word_list(stop_words)
    column = text[0] if text else None
    choices = Choices(text, category, number, ignore, task, decimal)
    shards = many_shards(data, ray, stream)
    several = label_separator is not None or (not shards and has_label_sets(data, column, label, format))
    if several:
        if label_separator == "":
            msg = "--label-separator: labels cannot be told apart by nothing."
            raise click.UsageError(msg)
        _refuse_for_label_sets(shards, choices, max_flagged, costs, class_weight)
    if not shards and (min_df > 1 or max_features or n_features):
        msg = "--min-df, --max-features and --n-features are options of work on shards: give --stream, too"
        raise click.UsageError(msg)
    if shards:
        if cv or size:
            msg = "--cv and --size need all texts in memory: models of shards are compared on held-out texts"
            raise click.UsageError(msg)
        if join:
            msg = "--join-labels needs all labels in memory: it is not for shards"
            raise click.UsageError(msg)
        if choices.of_tables:
            msg = (
                "--category, --number, --ignore, --task and several --text are for one table in memory: models of "
                "shards learn classes from one column of texts (tallywise.scale.regress learns numbers)"
            )
            raise click.UsageError(msg)
        train_shards(
            data,
            output,
            None if no_report else report,
            as_json,
            model=model,
            ray=ray,
            workers=workers or threads,
            text=column,
            label=label,
            format=format,
            ngram_range=(1, ngrams or 2),
            stop_words=words,
            min_df=min_df,
            max_features=max_features,
            n_features=n_features,
            class_weight=class_weights(class_weight, None),
            costs=class_costs(costs, None) if costs else None,
            max_flagged=class_numbers("--max-flagged", [max_flagged], None) if max_flagged else None,
            random_state=seed,
            skip_bad=skip_bad,
            resume=f"{output}.resume" if resume else None,
        )
        return
    of_texts = bool(size or ngrams or words)
    if choices.of_tables and of_texts:
        msg = "--size, --ngrams and --stop-words are for models of texts alone"
        raise click.UsageError(msg)
    if not several and not of_texts and wants_table(data, format, label, choices, model):
        weights = {"class_weight": class_weights(class_weight, None)}
        settings: dict[str, Any] = {"model": model, "loss": loss, "cv": cv, "random_state": seed, **weights}
        settings |= {
            "costs": class_costs(costs, None) if costs else None,
            "max_flagged": class_numbers("--max-flagged", [max_flagged], None) if max_flagged else None,
            "time_limit": time_limit,
        }
        train_table(
            data,
            output,
            None if no_report else report,
            as_json,
            format=format,
            label=label,
            choices=choices,
            join=join,
            **settings,
        )
        return
    began = time.perf_counter()
    with status("reading") as tell:
        found = read_labelled(data, column, label, format, label_separator=label_separator, several=several, join=join)
        if several:
            settings = {
                "model": model,
                "ngram_range": None if ngrams is None else (1, ngrams),
                "stop_words": words,
                "max_size": most,
                "cv": cv,
                "time_limit": time_limit,
                "random_state": seed,
            }
            classifier, shown = fit_label_sets(found, data, tell, label_separator, settings)
            _finish(classifier, found, shown, output, None if no_report else report, as_json, began)
            return
        settings = {
            "ngram_range": None if ngrams is None else (1, ngrams),
            "stop_words": words,
            "class_weight": class_weights(class_weight, found.labels),
            "costs": class_costs(costs, found.labels) if costs else None,
            "max_flagged": class_numbers("--max-flagged", [max_flagged], found.labels) if max_flagged else None,
            "max_size": most,
            "cv": cv,
            "time_limit": time_limit,
            "random_state": seed,
        }
        tell("loading")
        from tallywise.classifier import TextClassifier, report_data

        classifier = TextClassifier(model, progress=tell, **settings).fit(found.texts, found.labels)
        shown = None
        if not (no_report and as_json):
            tell("judging the model" if no_report else "writing the report")
            shown = report_data(classifier, found.texts, found.labels, data, page=not no_report)
        _finish(classifier, found, shown, output, None if no_report else report, as_json, began)


def _refuse_for_label_sets(
    shards: bool, choices: Choices, max_flagged: str | None, costs: Any, class_weight: Any
) -> None:
    """Options that have no meaning where a text has any number of labels."""
    named = {
        "work on shards": shards,
        "--category, --number, --ignore and --task": choices.of_tables,
        "--max-flagged": max_flagged,
        "--costs": costs,
        "--class-weight": class_weight,
    }
    for name, given in named.items():
        if given:
            msg = f"texts with several labels each do not go with {name}"
            raise click.UsageError(msg)


def _finish(
    classifier: Any, found: Labelled, shown: Any, output: str, report: str | None, as_json: bool, began: float
) -> None:
    """Write model and report, and say what was done."""
    written = _write(classifier, output, report, shown)
    several = found.sets is not None
    if as_json:
        document = training_document if several else _document
        emit(document(classifier, found, output, report, time.perf_counter() - began))
        return
    (show_training if several else _show)(classifier, found, shown)
    click.echo(
        f"wrote {output} ({size_shown(written)})"
        + (f" and {report}" if report else "")
        + f"   in {time.perf_counter() - began:.1f} s"
    )
    click.echo(f"next: tally classify {output} new.eml --explain")


def _write(classifier: Any, output: str, report: str | None, shown: Any) -> int:
    """Write model and report, each by replacement, or neither; the size of the model in bytes."""
    if report is None:
        return int(classifier.save(output))
    from tallywise.report import render

    return write_both(classifier, output, report, render(shown))


def _show(classifier: Any, found: Labelled, data: Any) -> None:
    repeats = len(found.texts) - len(set(classifier.groups_.tolist()))
    click.echo(found.description + (f"; {repeats:,} repeats kept together" if repeats else ""))
    binary = len(classifier.classes_) == 2
    click.echo(trials_table(classifier, data))
    if data.bayes_error is not None:
        low, high = map(percent, data.bayes_error)
        click.echo(f"Bayes error (best possible), estimated by 1-nearest neighbour: {low} to {high}")
    if classifier.threshold_ is not None:
        t = classifier.threshold_
        caught = classifier.rule_["class"]
        (spared,) = [label for label in classifier.classes_.tolist() if label != caught]
        click.echo(
            f"threshold {t.value:.4f}: {percent(t.flagged.value, 2)} of {spared} flagged, "
            f"{percent(t.caught.value)} of {caught} caught ({percent(t.caught.low)} to {percent(t.caught.high)})"
        )
    elif binary:
        area = classifier.figures_["roc_area"]
        click.echo(f"ROC area {area.value:.4f} ({area.low:.4f} to {area.high:.4f})")
    elif "mae" in classifier.figures_:
        off = classifier.figures_["mae"]
        click.echo(f"mean absolute error {off.value:.3f} ({off.low:.3f} to {off.high:.3f})")
    if left := classifier.runtime_.meta.get("left_out"):
        click.echo(
            f"left out {left['terms']:,} of {left['of']:,} terms for the size; that changes the verdict on "
            f"{percent(left['changed'], 2)} of the texts learned from"
        )
    for warning in [*found.notes, *data.warnings]:
        click.echo(f"note: {warning}")


def _document(classifier: Any, found: Labelled, output: str, report: str | None, seconds: float) -> dict[str, Any]:
    return {
        "read": found.description,
        "texts": len(found.texts),
        "classes": [str(label) for label in classifier.classes_],
        "notes": list(found.notes),
        "kept": classifier.trials_[0].title,
        "models": [
            {"title": trial.title, "error": trial.error, "log_loss": trial.log_loss, "seconds": trial.seconds}
            for trial in classifier.trials_
        ],
        "figures": {name: [f.value, f.low, f.high] for name, f in classifier.figures_.items()},
        "threshold": None if classifier.threshold_ is None else classifier.threshold_.value,
        "left_out": classifier.runtime_.meta.get("left_out"),
        "model": output,
        "report": report,
        "seconds": seconds,
    }
