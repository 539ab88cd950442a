"""``tally spam``: a mail filter that learns, forgets and explains."""

import importlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from tallywise.cli._spam_filters import MODELS, budget, default_store, open_filter, store_files, user_name
from tallywise.files import refuse_overwrite, writing
from tallywise.spam import SpamFilter, raw_messages, trec_figures

_BATCH = 200
_DOORS = {
    "history": "List mail that was judged lately; learn, forget, allow or block it by its number.",
    "lists": "Show and change the allow and block lists.",
    "report": "Say what was judged in the last days, and how well, with intervals.",
    "doctor": "Look for what is wrong with a filter and its server.",
    "filter": "Read one message and write it back with the verdict in its header.",
    "serve": "Answer spamc, Exim, Postfix and others over spamd's protocol.",
    "imap": "Sort the new mail of an IMAP mailbox, and learn from what its owner moves.",
}


class _Group(click.Group):
    """The commands below, and the doors, whose modules are imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_DOORS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _DOORS:
            command: click.Command = importlib.import_module(f"tallywise.cli.spam_{cmd_name}").command
            command.help = (command.help or "").replace("\\b\n", "\b\n")
            return command
        return super().get_command(ctx, cmd_name)


def _checked(read: Callable[[str], Any]) -> Any:
    """A callback of click that turns a value into what it means."""

    def callback(context: click.Context, option: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, option) from error

    return callback


def filter_options(user: bool = True) -> Callable[[Any], Any]:
    """Give a command the options that open a filter."""
    options = [
        click.option("--store", type=click.Path(dir_okay=False), help="File of the filter; $TALLY_SPAM by default."),
        click.option("--model", type=click.Choice(MODELS), help="Model of a new filter."),
        click.option(
            "--max-flagged",
            metavar="ham=SHARE",
            callback=_checked(budget),
            help="Largest share of ham to call spam: ham=0.001.",
        ),
        click.option("--trust", multiple=True, metavar="SERVER", help="Server whose Authentication-Results count."),
    ]
    if user:
        options.insert(
            1, click.option("--user", callback=_checked(user_name), help="Filter of this user, over the shared one.")
        )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.group(cls=_Group)
def command() -> None:
    r"""Filter mail: learn, forget, explain, and stand behind mail servers.

    \b
    Examples:
      tally spam learn --spam Junk/ --ham Archive/
      tally spam check new.eml
      tally spam serve --spamd 127.0.0.1:783
    """


@command.command()
@filter_options()
@click.option("--spam", multiple=True, type=click.Path(), help="Spam: a message, mbox, Maildir, folder or '-'.")
@click.option("--ham", multiple=True, type=click.Path(), help="Ham, likewise.")
@click.option("--keep-text", is_flag=True, help="Keep the messages too, not only their hashed features.")
def learn(spam: tuple[str, ...], ham: tuple[str, ...], keep_text: bool, **where: Any) -> None:
    """Learn messages; those already known are not learned twice."""
    if not spam and not ham:
        msg = "Nothing to learn: name messages with --spam or --ham."
        raise click.UsageError(msg)
    if ("-" in spam) + ("-" in ham) > 1:
        msg = "Standard input holds one message: it cannot be both spam and ham."
        raise click.UsageError(msg)
    refuse_overwrite(store_files(where["store"], where["user"]), [*spam, *ham])
    counts = {label: {} for label in ("spam", "ham")}  # type: dict[str, dict[str, int]]
    with open_filter(**where, keep_text=keep_text) as mail:
        for batch in _batches(_mixed(spam, ham)):
            for (_, label), done in zip(batch, mail.learn_many(batch, source="command"), strict=True):
                counts[label][done.outcome] = counts[label].get(done.outcome, 0) + 1
        for label in ("spam", "ham"):
            if counts[label]:
                said = ", ".join(f"{number:,} {outcome}" for outcome, number in counts[label].items())
                click.echo(f"{label}: {said}")
        stats = mail.stats()
    click.echo(f"the filter knows {stats['spam']:,} spam and {stats['ham']:,} ham")
    last, other = stats["last"], "ham" if stats["last"] == "spam" else "spam"
    if stats["alone"] > stats[other]:
        click.echo(
            f"the last {stats['alone']:,} are all {last}: teach as much {other} (tally spam learn --{other} ...)"
        )


def _mixed(spam: tuple[str, ...], ham: tuple[str, ...]) -> Iterator[tuple[bytes, Any]]:
    """Spam and ham in even shares from start to end: a learner on line must not see one class first."""
    if "-" in spam or "-" in ham:
        yield from ((raw, label) for label, paths in (("spam", spam), ("ham", ham)) for raw in _raws(paths))
        return
    left = {"spam": sum(1 for _ in _raws(spam)), "ham": sum(1 for _ in _raws(ham))}
    total = dict(left)
    streams = {"spam": _raws(spam), "ham": _raws(ham)}
    while left["spam"] or left["ham"]:
        label = max(left, key=lambda name: left[name] / total[name] if total[name] else 0.0)
        raw = next(streams[label], None)
        left[label] = 0 if raw is None else left[label] - 1
        if raw is not None:
            yield raw, label


def _raws(paths: tuple[str, ...]) -> Iterator[bytes]:
    for path in paths:
        for raw, _ in raw_messages(path):
            yield raw


def _batches(messages: Iterator[tuple[bytes, Any]]) -> Iterator[list[tuple[bytes, Any]]]:
    batch: list[tuple[bytes, Any]] = []
    for message in messages:
        batch.append(message)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


@command.command()
@filter_options()
@click.argument("messages", nargs=-1, required=True, type=click.Path())
@click.option("--purge", is_flag=True, help="Leave nothing of them in the file, free space included.")
def forget(messages: tuple[str, ...], purge: bool, **where: Any) -> None:
    """Forget messages, as if they had never been learned."""
    with open_filter(**where) as mail:
        found = [mail.forget(raw).found for path in messages for raw, _ in raw_messages(path)]
        mail.settle()
        if purge:
            mail.compact()
    click.echo(f"{sum(found):,} forgotten, {len(found) - sum(found):,} were not known; the filter is exact")


@command.command()
@filter_options()
@click.argument("messages", nargs=-1, required=True, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
def check(messages: tuple[str, ...], as_json: bool, **where: Any) -> None:
    """Say of each message whether it is spam."""
    with open_filter(**where, read_only=True) as mail:
        for path in messages:
            for raw, place in raw_messages(path):
                verdict = mail.classify(raw)
                if as_json:
                    said = {"label": verdict.label, "probability": verdict.probability, "score": verdict.score}
                    click.echo(json.dumps({"message": place, **said}))
                else:
                    click.echo(f"{verdict.label:<6}  {verdict.probability:.4f}  {place}")


@command.command()
@filter_options()
@click.argument("message", type=click.Path())
@click.option("--top", default=20, show_default=True, type=click.IntRange(1), help="Reasons shown.")
def explain(message: str, top: int, **where: Any) -> None:
    """Show, word by word, why a message has its verdict."""
    with open_filter(**where, read_only=True) as mail:
        for raw, place in raw_messages(message):
            verdict = mail.classify(raw, top)
            click.echo(f"{place}: {verdict.label}, score {verdict.score:+.2f} (spam above {verdict.threshold:.2f})")
            for reason in verdict.reasons:
                click.echo(f"  {reason}")
            rest = verdict.score - sum(reason.adds for reason in verdict.reasons)
            click.echo(f"  {rest:+.3f} all else")


@command.command()
@filter_options()
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def stats(as_json: bool, **where: Any) -> None:
    """Show what the filter knows and how it has judged."""
    from tallywise.evaluation import proportion_interval

    with open_filter(**where, read_only=True) as mail:
        found = mail.stats()
    for name, total in (("ham_flagged", "judged_ham"), ("spam_caught", "judged_spam")):
        found[f"{name}_interval"] = proportion_interval(found[name], found[total])
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"{found['messages']:,} messages learned: {found['spam']:,} spam, {found['ham']:,} ham")
    click.echo(f"threshold {found['threshold']:.3f}, by scores that messages had before they were learned:")
    for name, total, word in (
        ("ham_flagged", "judged_ham", "ham flagged"),
        ("spam_caught", "judged_spam", "spam caught"),
    ):
        low, high = found[f"{name}_interval"]
        click.echo(f"  {word} {found[name]:,} of {found[total]:,} ({100 * low:.2f} to {100 * high:.2f} %)")


@command.command()
@click.argument("index", type=click.Path(exists=True, dir_okay=False))
@click.option("--model", type=click.Choice(MODELS), default="online", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def replay(index: str, model: str, as_json: bool) -> None:
    """Judge a stream as the TREC spam track does: score each message of INDEX, then learn it.

    A line of INDEX is "spam PATH" or "ham PATH", the path from where the file lies. No filter is read or changed.
    """
    stream = _indexed(Path(index))
    scores = SpamFilter(model=model).replay(stream)
    figures = trec_figures(scores, [label == "spam" for _, label in stream])
    if as_json:
        click.echo(json.dumps({"messages": len(stream), **figures._asdict()}))
        return
    click.echo(f"{len(stream):,} messages, each scored before it was learned")
    click.echo(f"  1-ROCA  {figures.one_minus_roca:.4f} %")
    click.echo(f"  lam     {figures.lam:.2f} %")
    click.echo(f"  spam lost at 0.1 % of ham flagged  {figures.lost_spam:.2f} %")
    click.echo(f"  at score 0: ham flagged {figures.ham_flagged:.2f} %, spam missed {figures.spam_missed:.2f} %")
    click.echo(_chart(scores, [label == "spam" for _, label in stream]))


def _indexed(index: Path) -> list[tuple[bytes, Any]]:
    stream: list[tuple[bytes, Any]] = []
    for number, line in enumerate(index.read_text().splitlines(), 1):
        label, _, path = line.strip().partition(" ")
        if not line.strip():
            continue
        if label.lower() not in ("spam", "ham") or not path:
            msg = f"{index}:{number}: a line is 'spam PATH' or 'ham PATH'. Got {line[:60]!r}."
            raise click.UsageError(msg)
        stream.append(((index.parent / path.strip()).read_bytes(), label.lower()))
    return stream


def _chart(scores: list[float], spam: list[bool], rows: int = 10) -> str:
    """Mistakes at score 0, tenth by tenth of the stream."""
    lines = ["  mistakes from start to end, a line a tenth (h ham flagged, s spam missed)"]
    size = max(1, -(-len(scores) // rows))
    for start in range(0, len(scores), size):
        part = list(zip(scores[start : start + size], spam[start : start + size], strict=True))
        flagged, missed = sum(s > 0 and not y for s, y in part), sum(s <= 0 and y for s, y in part)
        scale = max(1, (flagged + missed) // 60 + 1)
        lines.append(
            f"  {start + len(part):>8,} {'h' * (flagged // scale)}{'s' * (missed // scale)} {flagged + missed}"
        )
    return "\n".join(lines)


@command.command()
@filter_options()
def verify(**where: Any) -> None:
    """Check the file, and that the weights are those of its journal."""
    with open_filter(**where, read_only=True) as mail:
        wrong = mail.verify()
    for line in wrong:
        click.echo(line, err=True)
    if wrong:
        raise click.exceptions.Exit(1)
    click.echo("sound: the weights are those of the journal")


@command.command()
@filter_options()
def compact(**where: Any) -> None:
    """Give back unused space of the file."""
    with open_filter(**where) as mail:
        mail.compact()


@command.command("export")
@filter_options()
@click.argument("output", type=click.Path(dir_okay=False, allow_dash=True), default="-")
def export_(output: str, **where: Any) -> None:
    """Write all that the filter was made from, a JSON object a line."""
    refuse_overwrite([output], store_files(where["store"], where["user"]))
    with open_filter(**where, read_only=True) as mail, writing(output) as stream:
        for entry in mail.export():
            stream.write(json.dumps(entry).encode() + b"\n")


@command.command()
@filter_options(user=False)
@click.argument("new", type=click.Path(dir_okay=False))
def recover(new: str, store: str | None, **_: Any) -> None:
    """Save what is whole of a damaged file: teach a filter in the file NEW every entry with its right checksum."""
    from tallywise.spam.recovery import recover

    found = recover(store or default_store(), new)
    of = "" if found.learned is None else f" of {found.learned:,}"
    again = f", {found.from_text:,} of them read again from their kept text" if found.from_text else ""
    click.echo(f"saved {found.saved:,}{of} messages in {new}{again}")
    click.echo(f"next: tally spam verify --store {new}, then put it in the place of the damaged file")


@command.command("import")
@filter_options()
@click.argument("entries", type=click.File("r", encoding="utf-8", errors="surrogateescape"))
def import_(entries: Any, **where: Any) -> None:
    r"""Learn what another filter exported, or take over what bogofilter or SpamAssassin have counted.

    Counts of words are a prior: they speak while the filter has learned little, and less with each message it learns.

    \b
    Examples:
      tally spam export --store old.spam | tally spam import -
      bogoutil -d ~/.bogofilter/wordlist.db | tally spam import -
      sa-learn --backup | tally spam import -
    """
    refuse_overwrite(store_files(where["store"], where["user"]), [entries.name])
    first = entries.readline()
    lines = itertools.chain([first], entries)
    with open_filter(**where) as mail:
        if first.startswith("{"):
            new = mail.take_in(json.loads(line) for line in lines if line.strip())
            click.echo(f"{new:,} entries were new")
        else:
            totals = mail.take_prior(lines)
            click.echo(f"prior of {totals.source}: counts of {totals.spam:,} spam and {totals.ham:,} ham messages")


@command.command()
def demo() -> None:
    """See a filter learn, judge, explain and forget, in memory, on messages made up for it."""
    say: Callable[[str], None] = click.echo
    spam = [
        f"From: win{k}@prize.example\nSubject: You won {k}00\n\nClaim your prize now, winner {k}!\n" for k in range(8)
    ]
    ham = [f"From: ann@work.example\nSubject: Notes {k}\n\nNotes of meeting {k}, see you at lunch.\n" for k in range(8)]
    new = b"From: x@prize.example\nSubject: Prize\n\nYou are the winner of a prize, claim it\n"
    mail = SpamFilter()
    say(f"knows nothing:        {mail.classify(new).label}")
    for number, (bad, good) in enumerate(zip(spam, ham, strict=True), 1):
        mail.learn(bad.encode(), "spam")
        mail.learn(good.encode(), "ham")
        verdict = mail.classify(new)
        say(f"{number} of each learned:    {verdict.label}, probability {verdict.probability:.3f}")
    say("because of")
    for reason in mail.classify(new, 5).reasons:
        say(f"  {reason}")
    mail.forget(spam[0].encode())
    mail.settle()
    say(f"one spam forgotten:   {mail.classify(new).label}, as if it had never come")
