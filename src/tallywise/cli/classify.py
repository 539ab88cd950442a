"""``tally classify``: predictions for texts, as a stream of any length."""

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import click

from tallywise.cli._label_set_commands import is_label_model, label_set_lines
from tallywise.cli._options_and_output import check_outputs, contributions, emit, options, set_threads
from tallywise.cli._shard_commands import classify_shards, shard_options
from tallywise.cli._table_commands import classify_tables, is_table_model
from tallywise.plain_text import percent, shorten
from tallywise.reading import InputError, Record, input_files, open_blocks, open_source

T = TypeVar("T")

_SAMPLE = 256  # texts of a batch whose words are looked at for the note
_BATCH, _CHARACTERS = 4096, 1 << 22  # texts that are scored at once, and characters of them


@click.command()
@click.argument("model", type=click.Path())
@click.argument("inputs", nargs=-1, type=click.Path())
@options("text", "format")
@click.option("--explain", "-e", is_flag=True, help="Show which words decided, and which would change the prediction.")
@click.option("--probabilities", "-p", is_flag=True, help="Show the probability of every class.")
@shard_options
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE|FOLDER",
    help="FILE.csv, .tsv, .xlsx or .parquet: the input again with predictions beside each row. Or a folder for shards.",
)
@click.option(
    "--verdicts", type=click.Choice(["jsonl", "parquet"]), help="Kind of those files; as the input by default."
)
@click.option("--resume", is_flag=True, help="With -o: leave shards alone whose verdicts are there.")
@options("threads", "json")
def command(
    model: str,
    inputs: tuple[str, ...],
    text: str | None,
    format: str | None,
    explain: bool,
    probabilities: bool,
    ray: str | None,
    workers: int | None,
    skip_bad: bool,
    output: str | None,
    verdicts: str | None,
    resume: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    r"""Classify texts, or the rows of tables.

    INPUTS are files or folders of any kind that tally reads, or - for one text per line on standard input.

    \b
    Examples:
      tally classify model.tally new.eml --explain
      tally classify model.tally week.csv -o week_with_predictions.csv
      tally classify model.tally week.csv --json > verdicts.jsonl
      cat messages.txt | tally classify model.tally -
      tally classify model.tally 'shards/*.parquet' --ray auto -o verdicts/
    """
    set_threads(threads)
    whole = output if output is not None and _is_table_name(output) else None
    check_outputs([whole] if whole else [], [model, *input_files(inputs or ("-",))])
    if whole is not None and ray is None:
        if explain or probabilities or len(inputs) != 1 or inputs[0] == "-":
            msg = "-o FILE takes one input file, without --explain and --probabilities"
            raise click.UsageError(msg)
        _whole_file(model, inputs[0], whole, text, format, as_json)
        return
    if ray is not None or output is not None:
        if explain:
            msg = "--explain is for people: not with -o"
            raise click.UsageError(msg)
        classify_shards(
            model,
            inputs,
            output,
            as_json,
            ray=ray,
            workers=workers or threads,
            text=text,
            format=format,
            kind=verdicts,
            probabilities=probabilities,
            skip_bad=skip_bad,
            resume=resume,
        )
        return
    from tallywise.models.loading import load

    loaded = load(model)
    if is_table_model(loaded):
        classify_tables(loaded, inputs or ("-",), format, explain, probabilities, as_json)
        return
    seen = blank = looked = strange = 0
    for sample, count, without in _answers(loaded, inputs or ("-",), text, format, explain, probabilities, as_json):
        seen, blank, looked = seen + count, blank + without, looked + len(sample)
        strange += int(loaded.out_of_depth(sample).sum())
    if not seen:
        msg = "the input holds no texts"
        raise InputError(msg)
    if blank:
        click.echo(f"note: {blank:,} of {seen:,} rows have no text: each is answered as an empty text", err=True)
    if strange and not as_json:
        usual = loaded.meta["unknown_words"]
        click.echo(
            f"note: {strange:,} of {looked:,} texts are out of its depth: more than {percent(usual['high'], 0)} "
            f"of their words are unknown, {percent(usual['mean'], 0)} is usual",
            err=True,
        )


def _is_table_name(output: str) -> bool:
    """Whether an output is a file, by its name, rather than a folder."""
    from tallywise.models.table_writers import ENDINGS

    return Path(output).suffix.lower() in ENDINGS and not Path(output).is_dir()


def _whole_file(model: str, path: str, output: str, text: str | None, format: str | None, as_json: bool) -> None:
    """Write the input again with predictions, and say what was done."""
    from tallywise.models.loading import load
    from tallywise.models.whole_files import predict_file

    found = predict_file(load(model), path, output, text=text, format=format)
    if as_json:
        emit({"output": output, "rows": found.rows, "predictions": dict(found.counts), "unlike_training": found.unlike})
        return
    shown = ", ".join(f"{name} {count:,}" for name, count in found.counts.most_common(6))
    click.echo(f"wrote {found.rows:,} rows to {output}{': ' + shown if shown else ''}")
    if found.unlike:
        click.echo(
            f"note: {found.unlike:,} rows are unlike the training data: see the column unlike_training", err=True
        )


def _answers(
    model: Any,
    inputs: tuple[str, ...],
    text: str | None,
    format: str | None,
    explain: bool,
    probabilities: bool,
    as_json: bool,
) -> Iterator[tuple[list[str], int, int]]:
    """Write one prediction per row; yields some of the texts of each batch, how many it has, and how many are blank."""
    from tallywise.models.text_serving import TextModel

    several = is_label_model(model)
    for path in inputs:
        plain = path != "-" and not (explain or probabilities or several) and _writes_utf8()
        plain = plain and isinstance(model, TextModel)  # models of other programs read records
        blocks = open_blocks(path, text=text, format=format) if plain else None
        if blocks is not None:
            for block, P in _ahead(iter(blocks), model.predict_proba):
                sys.stdout.flush()
                sys.stdout.buffer.write(model.answer_lines(block, P, path if as_json else None))
                yield ([] if as_json else block.texts(0, _SAMPLE)), len(block), block.blank
            sys.stdout.buffer.flush()
            if blocks.ragged:
                click.echo(f"note: {path}: {blocks.ragged}", err=True)
            continue
        lines = label_set_lines if several else _prediction_lines
        source = open_source(path, text=text, format=format, labelled=False, every_row=True)
        records = iter(source)
        batches = ([record] for record in records) if path == "-" else _batches(records, _BATCH)
        for batch, P in _ahead(batches, lambda batch: model.predict_proba([record.text for record in batch]), path):
            blank = sum(not record.text or record.text.isspace() for record in batch)
            verdicts = lines(model, batch, P, explain, probabilities, as_json)
            for line in verdicts if explain else ["\n".join(verdicts)]:
                click.echo(line)
            yield ([] if as_json else [record.text for record in batch[:_SAMPLE]]), len(batch), blank
        if source.widths is not None and source.widths.first:
            click.echo(f"note: {source.name}: {source.widths.describe()}", err=True)


def _writes_utf8() -> bool:
    """Whether what goes out is UTF-8, byte for byte."""
    name = str(getattr(sys.stdout, "encoding", "")).lower().replace("-", "").replace("_", "")
    return name == "utf8" and hasattr(sys.stdout, "buffer")


def _ahead(batches: Iterator[T], work: Callable[[T], Any], path: str = "") -> Iterator[tuple[T, Any]]:
    """Batches and what work makes of them; while one is used, the next is read and worked on. Not so for a dialogue."""
    if path == "-":
        yield from ((batch, work(batch)) for batch in batches)
        return
    waiting: list[tuple[T, Future[Any]]] = []
    damage: InputError | None = None
    with ThreadPoolExecutor(1) as pool:
        while damage is None:
            try:
                batch = next(batches, None)
            except InputError as error:  # what was read before that is answered first
                batch, damage = None, error
            if batch is not None:
                waiting.append((batch, pool.submit(work, batch)))
            if not waiting:
                break
            if len(waiting) == 2 or batch is None:
                before, asked = waiting.pop(0)
                yield before, asked.result()
        while waiting:
            before, asked = waiting.pop(0)
            yield before, asked.result()
    if damage is not None:
        raise damage


def _batches(records: Iterator[Record], most: int) -> Iterator[list[Record]]:
    """Records in lists of at most so many, and of so many characters."""
    batch: list[Record] = []
    characters = 0
    try:
        for record in records:
            batch.append(record)
            characters += len(record.text)
            if len(batch) == most or characters >= _CHARACTERS:
                yield batch
                batch, characters = [], 0
    except InputError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _prediction_lines(
    model: Any, batch: list[Record], P: Any, explain: bool, probabilities: bool, as_json: bool
) -> Iterator[str]:
    predicted = model.decide(P)
    likely = P[range(len(P)), predicted].tolist()
    shown = [json.dumps(label, ensure_ascii=False) if as_json else str(label) for label in model.classes]
    plain = not explain and not probabilities
    unknown = model.unknown_words([record.text for record in batch]) if as_json or explain else None
    unknown = [None] * len(batch) if unknown is None else unknown.round(4).tolist()
    for i, (record, k, p) in enumerate(zip(batch, predicted.tolist(), likely, strict=True)):
        if plain and as_json:
            source = json.dumps(record.source, ensure_ascii=False)
            share = "" if unknown[i] is None else f', "unknown_words": {unknown[i]}'
            yield f'{{"source": {source}, "label": {shown[k]}, "probability": {p!r}{share}}}'
        elif plain:
            yield f"{shown[k]}\t{p:.3f}\t{shorten(record.text, 60)}"
        elif as_json:
            yield _document(model, record, k, P[i], unknown[i], explain, probabilities)
        else:
            label = model.classes[k]
            reasons = model.explain(record.text, label) if explain else None
            line = _line(model, record, label, p, P[i] if probabilities else None, reasons)
            if explain and unknown[i] and unknown[i] > model.meta.get("unknown_words", {"high": 1.0})["high"]:
                line += f"\n      {percent(unknown[i], 0)} of its words are unknown to the model"
            yield line


def _document(
    model: Any, record: Record, k: int, p: Any, unknown: float | None, explain: bool, probabilities: bool
) -> str:
    document: dict[str, Any] = {"source": record.source, "label": model.classes[k], "probability": float(p[k])}
    if unknown is not None:
        document["unknown_words"] = unknown
    if probabilities:
        document["probabilities"] = {str(name): float(x) for name, x in zip(model.classes, p, strict=True)}
    if explain:
        reasons = model.explain(record.text, model.classes[k])
        document["words"] = [[word.term, word.contribution, word.spans] for word in reasons.words]
        flip = model.flip(record.text)
        document["flip"] = None if flip is None else {"becomes": flip.becomes, "remove": flip.remove, "add": flip.add}
    return json.dumps(document, ensure_ascii=False)


def _line(model: Any, record: Record, label: Any, p: float, P: Any, reasons: Any) -> str:
    line = f"{label}\t{p:.3f}\t{shorten(record.text, 60) if reasons is None else record.source}"
    if P is not None:
        line += "\t" + " ".join(f"{name}={x:.3f}" for name, x in zip(model.classes, P, strict=True))
    if reasons is not None:
        line += "\n      " + contributions(reasons.words, 8)
        flip = model.flip(record.text)
        if flip is not None and flip.remove:
            words = " and ".join(f'"{word}"' for word in flip.remove[:6])
            line += f"\n      would be {flip.becomes} without {words}"
    return line
