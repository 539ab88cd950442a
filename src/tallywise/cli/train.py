"""``tally train``: labelled data to a model and a report."""

import os
import sys
import time
from typing import Any

import click

from tallywise.cli._option_values import class_costs, class_numbers, class_weights, file_size, stop_word_list
from tallywise.cli._options_and_output import check_outputs, emit, read_data, set_threads, status, whole_data
from tallywise.cli._shard_commands import shard_progress
from tallywise.cli._train_options import TRAIN, grouped
from tallywise.plain_text import size_shown
from tallywise.reading import InputError, LabelledTexts, LabelSets, Shards, TableChoices, input_files


@grouped(TRAIN)
@click.argument("data", type=click.Path())
def command(data: str, **given: Any) -> None:
    r"""Learn from labelled texts or a table; write a model and a report.

    DATA is a CSV, TSV, JSONL, Parquet or Excel file, "-" for one on standard input, or a folder with one subfolder per
    class. A table with more than one useful column, or with numbers to predict, gives a model of all its columns. A
    glob, a folder of tables or a file beyond a quarter of the memory is read in pieces, on all cores or with --ray on a
    cluster; the model is that of one file with all rows.

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
    set_threads(given["threads"])
    data = whole_data(data)
    if given["max_flagged"] and given["costs"]:
        msg = "--max-flagged and --costs are two rules of decision: give one."
        raise click.UsageError(msg)
    if given["label_separator"] == "":
        msg = "--label-separator must not be empty."
        raise click.UsageError(msg)
    output, report = given["output"], None if given["no_report"] else given["report"]
    check_outputs([output] if report is None else [output, report], [*input_files(data), given["stop_words"]])
    given["words"] = stop_word_list(given["stop_words"])
    given["max_size"] = None if given["size"] is None else file_size(given["size"])
    names = ("text", "category", "number", "ignore", "task", "decimal")
    choices = TableChoices(**{name: given[name] for name in names})
    began = time.perf_counter()
    with status("reading") as tell:
        found = read_data(
            data,
            given["label"],
            given["format"],
            label_separator=given["label_separator"],
            join_labels=given["join"],
            **vars(choices),
            kind=_kind(given, choices),
        )
        settings = _settings(found, given, choices)
        tell("loading")
        from tallywise.training import train

        try:
            progress = shard_progress(tell) if isinstance(found, Shards) else tell
            trained = train(found, given["model"], progress=progress, **settings)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from None
        written = report if trained.save(output, report) else None
        said = None if given["as_json"] else trained.summary()
    seconds = time.perf_counter() - began
    if said is None:
        emit({**trained.as_dict(), "model": output, "report": written, "seconds": seconds})
        return
    click.echo(said)
    click.echo(
        f"wrote {output} ({size_shown(os.path.getsize(output))})"
        + (f" and {written}" if written else "")
        + f"   in {seconds:.1f} s"
    )
    if given["verbose"]:
        click.echo(f"memory: {peak_memory() / 1e6:,.0f} MB at most")
    click.echo(f"next: tally classify {output} {trained.example} --explain")


def peak_memory() -> int:
    """The most bytes of memory that this process has held; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def _kind(given: dict[str, Any], choices: TableChoices) -> str | None:
    """What the options alone say that the data are."""
    from tallywise.training import TEXT_ONLY

    if given["ray"] is not None or given["stream"]:
        return "shards"
    of_texts = bool(given["size"] or given["ngrams"] or given["words"])
    if choices.of_tables and of_texts:
        msg = "--size, --ngrams and --stop-words are for models of texts alone"
        raise click.UsageError(msg)
    if choices.of_tables:
        return None
    return "texts" if of_texts or given["model"] in TEXT_ONLY else None


def _settings(found: Any, given: dict[str, Any], choices: TableChoices) -> dict[str, Any]:
    """What the options say of the model; a usage error for options that do not go with the data."""
    shards, sets = isinstance(found, Shards), isinstance(found, LabelSets)
    weighted = ("--max-flagged", "max_flagged"), ("--costs", "costs"), ("--class-weight", "class_weight")
    if shards:
        _refuse(given, "--size needs all texts in memory", "size")
        _refuse(given, "--join-labels needs all labels in memory", "join")
        _refuse(given, "texts with several labels each do not go with work on shards", "label_separator")
        if choices.of_tables:
            msg = (
                "--category, --number, --ignore, --task and several --text are for one table in memory: models of "
                "shards learn classes from one column of texts (tallywise.scale.regress learns numbers)"
            )
            raise click.UsageError(msg)
    elif given["min_df"] > 1 or given["max_features"] or given["n_features"]:
        msg = "--min-df, --max-features and --n-features are options of work on shards: give --stream, too"
        raise click.UsageError(msg)
    if sets:
        for option, name in weighted:
            _refuse(given, f"texts with several labels each do not go with {option}", name)
    labels = found.labels if isinstance(found, LabelledTexts) else None
    flagged, costs = given["max_flagged"], given["costs"]
    classes = {
        "class_weight": class_weights(given["class_weight"], labels),
        "costs": class_costs(costs, labels) if costs else None,
        "max_flagged": class_numbers("--max-flagged", [flagged], labels) if flagged else None,
    }
    own: dict[str, Any] = {"random_state": given["seed"]}
    if shards:
        own |= {
            name: given[name] for name in ("ray", "label", "format", "min_df", "max_features", "n_features", "skip_bad")
        }
        own |= {"workers": given["workers"] or given["threads"], "text": next(iter(choices.text), None)}
        own |= {"ngram_range": (1, given["ngrams"]) if given["ngrams"] else None, "stop_words": given["words"]}
        own |= {name: given[name] for name in ("cv", "time_limit") if given[name] is not None}
        return own | classes | {"resume": f"{given['output']}.resume" if given["resume"] else None}
    own["cv"] = given["cv"]
    if not isinstance(found, LabelledTexts | LabelSets):
        return own | classes | {"loss": given["loss"], "time_limit": given["time_limit"]}
    ngrams = given["ngrams"]
    own |= {"ngram_range": None if ngrams is None else (1, ngrams), "stop_words": given["words"]}
    own |= {"max_size": given["max_size"], "time_limit": given["time_limit"]}
    return own if sets else own | classes


def _refuse(given: dict[str, Any], why: str, *names: str) -> None:
    """Refuse options that are given."""
    if any(given[name] not in (None, False, ()) for name in names):
        raise click.UsageError(why)
