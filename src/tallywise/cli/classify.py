"""``tally classify``: predictions for texts, as a stream of any length."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from tallywise.cli._shards import classify_shards, shard_options
from tallywise.cli._shared import contributions, options, set_threads, shorten
from tallywise.cli._tables import classify_tables, is_table_model
from tallywise.reading import InputError, Record, open_source

_BATCH = 256


@click.command()
@click.argument("model", type=click.Path())
@click.argument("inputs", nargs=-1, type=click.Path())
@options("text", "format")
@click.option("--explain", "-e", is_flag=True, help="Show which words decided, and which would change the verdict.")
@click.option("--probabilities", "-p", is_flag=True, help="Show the probability of every class.")
@shard_options
@click.option(
    "-o", "--output", type=click.Path(file_okay=False), metavar="FOLDER", help="Verdicts, one file per shard."
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
      tally classify model.tally week.csv --json > verdicts.jsonl
      cat messages.txt | tally classify model.tally -
      tally classify model.tally 'shards/*.parquet' --ray auto -o verdicts/
    """
    set_threads(threads)
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
    from tallywise.runtime import load

    loaded = load(model)
    if is_table_model(loaded):
        classify_tables(loaded, inputs or ("-",), format, explain, probabilities, as_json)
        return
    records = (record for path in inputs or ("-",) for record in open_source(path, text=text, format=format))
    seen = 0
    while batch := list(islice(records, _BATCH if inputs and "-" not in inputs else 1)):
        seen += len(batch)
        for line in _verdicts(loaded, batch, explain, probabilities, as_json):
            click.echo(line)
    if not seen:
        msg = "the input holds no texts"
        raise InputError(msg)


def _verdicts(model: Any, batch: list[Record], explain: bool, probabilities: bool, as_json: bool) -> Iterator[str]:
    P = model.predict_proba([record.text for record in batch])
    for record, p, k in zip(batch, P, model.decide(P).tolist(), strict=True):
        label = model.classes[k]
        reasons = model.explain(record.text, label) if explain else None
        if as_json:
            document: dict[str, Any] = {"source": record.source, "label": label, "probability": float(p[k])}
            if probabilities:
                document["probabilities"] = {str(name): float(x) for name, x in zip(model.classes, p, strict=True)}
            if reasons is not None:
                document["words"] = [[word.term, word.contribution, word.spans] for word in reasons.words]
                flip = model.flip(record.text)
                document["flip"] = (
                    None if flip is None else {"becomes": flip.becomes, "remove": flip.remove, "add": flip.add}
                )
            yield json.dumps(document, ensure_ascii=False)
            continue
        yield _line(model, record, label, float(p[k]), p if probabilities else None, reasons)


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
