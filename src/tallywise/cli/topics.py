"""``tally topics``: topics of unlabelled texts."""

import click

from tallywise.cli._option_values import stop_word_list
from tallywise.cli._options_and_output import emit, options, set_threads, status
from tallywise.cli._shard_commands import many_shards, shard_options, topics_of_shards
from tallywise.plain_text import shorten, table
from tallywise.reading import InputError, open_source


@click.command()
@click.argument("data", type=click.Path())
@options("text", "format")
@click.option("-k", "--topics", type=click.IntRange(1), default=10, show_default=True, help="Number of topics.")
@click.option("-n", "--words", type=click.IntRange(1), default=10, show_default=True, help="Words shown per topic.")
@click.option(
    "--rank-by",
    type=click.Choice(["probability", "relevance", "frex"]),
    default="relevance",
    show_default=True,
    help="How words are ranked.",
)
@click.option(
    "--stop-words", metavar="WORDS", default="english", show_default=True, help="english, none, or a file of words."
)
@click.option(
    "--min-df", type=click.IntRange(1), default=2, show_default=True, help="Words in fewer texts are left out."
)
@shard_options
@click.option(
    "--passes", type=click.IntRange(1), default=30, show_default=True, help="Over shards: passes over all texts."
)
@click.option(
    "--resume",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Over shards: keep finished passes here, and go on.",
)
@options("threads", "seed", "json")
def command(
    data: str,
    text: str | None,
    format: str | None,
    topics: int,
    words: int,
    rank_by: str,
    stop_words: str,
    min_df: int,
    ray: str | None,
    workers: int | None,
    skip_bad: bool,
    passes: int,
    resume: str | None,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Find topics in texts without labels.

    A glob, a folder of tables or a file beyond a quarter of the memory is read in pieces, on all cores or with --ray on
    a cluster, and learned in passes.

    \b
    Examples:
      tally topics reviews.csv -k 8
      tally topics posts.jsonl --text body --json
      tally topics 'shards/*.parquet' -k 50 --ray auto
    """
    set_threads(threads)
    listed = stop_word_list(stop_words)
    if many_shards(data, ray, False):
        topics_of_shards(
            data,
            words,
            rank_by,
            as_json,
            n_components=topics,
            passes=passes,
            ray=ray,
            workers=workers or threads,
            text=text,
            format=format,
            min_df=min_df,
            stop_words=listed,
            random_state=seed,
            skip_bad=skip_bad,
            resume=resume,
        )
        return
    with status("reading") as tell:
        source = open_source(data, text=text, format=format, labelled=False)
        texts = [record.text for record in source]
        if len(texts) < 2:
            msg = f"{source.name} holds {len(texts)} texts: at least two are needed"
            raise InputError(msg)
        tell("counting words")
        from tallywise.text import CountVectorizer
        from tallywise.topics import LatentDirichletAllocation

        vectorizer = CountVectorizer(stop_words=listed, min_df=min_df)
        X = vectorizer.fit_transform(texts)
        tell(f"finding {topics} topics")
        model = LatentDirichletAllocation(topics, random_state=seed).fit(X)
        names = vectorizer.get_feature_names_out().tolist()
        found = model.topics(words, by=rank_by, names=names)
        theta = model.transform(X)
    shares = theta.mean(axis=0)
    if as_json:
        emit(
            {
                "texts": len(texts),
                "topics": [
                    {"share": float(share), "words": [[word, float(weight)] for word, weight in row]}
                    for share, row in zip(shares, found, strict=True)
                ],
            }
        )
        return
    click.echo(f"{len(texts):,} texts from {source.name} ({source.description}), {len(names):,} words")
    rows = [["topic", "share", "words", "most typical text"]]
    for k in shares.argsort()[::-1]:
        typical = shorten(texts[int(theta[:, k].argmax())], 50)
        rows.append([str(k + 1), f"{100 * shares[k]:.1f} %", ", ".join(word for word, _ in found[k]), typical])
    click.echo(table(rows, right=(0, 1)))
