"""The commands over shards: `tally train` and `tally classify` where one process at a time would not do."""

from collections.abc import Callable
from typing import Any

import click

from tallywise.cli._options_and_output import emit, status
from tallywise.plain_text import table
from tallywise.reading import is_many

SHARD_OPTIONS = (
    click.option(
        "--ray",
        metavar="WHERE",
        help="Work on a Ray cluster: auto (this machine's, or a new one), local (a new one) or an address.",
    ),
    click.option("--workers", type=click.IntRange(1, 100_000), help="Workers on shards; one per core by default."),
    click.option("--skip-bad", is_flag=True, help="Go on without shards that cannot be read, and list them."),
)


def shard_options(command: Any) -> Any:
    """Give a command the options of work on shards."""
    for option in reversed(SHARD_OPTIONS):
        command = option(command)
    return command


def many_shards(data: str, ray: str | None, stream: bool) -> bool:
    """Whether an input is read as shards, in pieces: asked for, of several files, or too large for memory."""
    return ray is not None or stream or is_many(data)


def classify_shards(model: str, inputs: tuple[str, ...], output: str | None, as_json: bool, **settings: Any) -> None:
    """Classify shards into one file of verdicts each, and print what was done."""
    if output is None:
        msg = "with --ray, say where the verdicts go: -o FOLDER"
        raise click.UsageError(msg)
    if not inputs or "-" in inputs:
        msg = "with -o, name files or a glob: standard input has no shards"
        raise click.UsageError(msg)
    from tallywise.scale import classify

    with status("looking at the shards") as tell:
        done = classify(model, inputs, output, progress=shard_progress(tell), **settings)
    if as_json:
        emit(
            {
                "outputs": done.outputs,
                "texts": done.rows,
                "workers": done.workers,
                "already_there": done.kept,
                "skipped": done.skipped,
                "seconds": done.seconds,
            }
        )
        return
    there = f" ({done.kept} had theirs already)" if done.kept else ""
    click.echo(f"classified {done.rows:,} texts: {done.workers}{there}, {done.seconds:.1f} s")
    _skipped(done.skipped)
    click.echo(f"wrote {len(done.outputs)} files to {output}")


def topics_of_shards(data: str, words: int, rank_by: str, as_json: bool, **settings: Any) -> None:
    """Find topics in shards, and print them."""
    from tallywise.scale import find_topics

    with status("looking at the shards") as tell:
        found = find_topics(data, progress=shard_progress(tell), **settings)
    listed = found.model.topics(words, by=rank_by, names=found.terms)
    shares = found.model.components_.sum(axis=1)
    shares = shares / shares.sum()
    judged = found.held_out
    if as_json:
        emit(
            {
                "texts": found.rows,
                "shards": len(found.shards),
                "workers": found.workers,
                "passes": found.passes,
                "held_out": None if judged is None else {"perplexity": judged.perplexity, "interval": judged.interval},
                "skipped": found.skipped,
                "bytes_moved": found.bytes_moved,
                "seconds": found.seconds,
                "topics": [
                    {"share": float(share), "words": [[word, float(weight)] for word, weight in row]}
                    for share, row in zip(shares, listed, strict=True)
                ],
            }
        )
        return
    click.echo(f"{found.rows:,} texts: {found.workers}, {found.passes} passes, {found.seconds:.1f} s")
    _skipped(found.skipped)
    rows = [["topic", "share of words", "words"]]
    for k in shares.argsort()[::-1]:
        rows.append([str(k + 1), f"{100 * shares[k]:.1f} %", ", ".join(word for word, _ in listed[k])])
    click.echo(table(rows, right=(0, 1)))
    if judged is not None:
        low, high = judged.interval
        click.echo(f"held-out perplexity by document completion: {judged.perplexity:.1f} ({low:.1f} to {high:.1f})")


def _skipped(skipped: dict[str, str]) -> None:
    for problem in skipped.values():
        click.echo(f"skipped: {problem}")


def shard_progress(tell: Callable[[str], None]) -> Callable[[Any], None]:
    """Progress as one line: a bar, texts per second, and the shards that take longest."""
    import time

    began = time.perf_counter()

    def show(progress: Any) -> None:
        if progress.line:
            tell(progress.line)
            return
        done, n = len(progress.done), progress.shards
        bar = "█" * round(20 * done / n) + "░" * (20 - round(20 * done / n))
        rate = progress.rows / max(time.perf_counter() - began, 1e-9)
        line = f"{progress.stage} {bar} {done} of {n} shards, {rate:,.0f} texts per second"
        times = sorted(one.seconds for one in progress.done)
        slow = [one for one in progress.done if one.seconds > 3 * times[len(times) // 2] and one.seconds > 1]
        if slow:
            line += "; slow: " + ", ".join(f"no. {one.shard + 1} ({one.seconds:.0f} s)" for one in slow[:3])
        left = sorted({*range(n)} - {one.shard for one in progress.done})
        if 0 < len(left) <= 3:  # the end of a job waits for these
            line += "; left: " + ", ".join(f"no. {shard + 1}" for shard in left)
        tell(line)

    return show
