"""`train`: a text model from shards."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from tallywise.reading import InputError, find_shards, layout_of, shard_size
from tallywise.scale.checkpoints import Checkpoints, fingerprint
from tallywise.scale.counting import planned
from tallywise.scale.engines import connect, started
from tallywise.scale.gathering import Reading, gather
from tallywise.scale.jobs import Features, Path_, Progress, Report, across
from tallywise.scale.models import ClassOptions, from_sums
from tallywise.scale.result import Training
from tallywise.scale.sums_training import SumsTraining
from tallywise.scale.worker import Worker
from tallywise.text_model import TextClassifier


def train(
    shards: Path_ | Iterable[Path_],
    *,
    model: str | list[str] = "auto",
    ray: str | None = None,
    workers: int | None = None,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    ngram_range: tuple[int, int] | None = None,
    analyzer: str = "auto",
    deobfuscate: bool = False,
    random_state: int = 0,
    skip_bad: bool = False,
    resume: Path_ | None = None,
    progress: Report | None = None,
    **settings: Any,
) -> Training:
    """Learn a text model from shards: the model of `TextClassifier` on all rows, to the byte.

    Workers read the shards and code their texts, which takes a quarter to a third of their size; these travel once, and
    are counted and fitted here. Naive Bayes, asked for by name, is learned from sums over the texts instead: then no
    texts travel, and memory is that of the model.

    Parameters
    ----------
    shards : path, glob, or list of them
        What `tallywise.reading.find_shards` takes.
    model : str or list of str
        As for `TextClassifier`. ``multinomial_nb``, ``complement_nb`` and ``bernoulli_nb``, one or several of them, are
        learned from sums.
    ray : None, 'auto', 'local' or str
        None: threads of this process. 'auto': the Ray cluster of this machine, or one of its own; 'local': one of its
        own; else the address of a cluster. The model is the same to the last byte.
    workers : int, optional
        One per core by default.
    text, label, format : str, optional
        As for `tallywise.reading.open_source`; looked at on the first shard.
    ngram_range, analyzer, deobfuscate, random_state
        As for `TextClassifier`; from sums, words and pairs of words by default.
    skip_bad : bool
        Go on without shards that cannot be read, and list them; else the first ends the job.
    resume : path, optional
        Folder for what is finished: started again with it, a job goes on where it ended.
    progress : callable, optional
        Called with a `Progress` now and then.
    **settings
        Other parameters of `TextClassifier`. From sums: ``min_df``, ``n_features``, ``stop_words``, ``class_weight``,
        ``costs`` and ``max_flagged`` as there; ``setting``, such as ``{'alpha': 0.1}``, chosen by default;
        ``max_features``, the most frequent terms to keep; ``held_out``, the share of the texts by which models are
        compared, about 20,000 texts and at most a tenth by default.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.scale import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         rows = [f"win a prize {k},spam", f"lunch at noon {k},ham"] * 20
    ...         _ = pathlib.Path(folder, f"{k}.csv").write_text(chr(10).join(["text,label", *rows]))
    ...     made = train(folder + "/*.csv", workers=1)
    >>> made.rows, made.model.predict(["a prize"]).tolist()
    (120, ['spam'])
    """
    began, report = time.perf_counter(), progress or (lambda _: None)
    if settings.get("max_flagged") is not None and settings.get("costs") is not None:
        msg = "max_flagged and costs are two rules of decision: give one of them."
        raise ValueError(msg)
    settings = {name: value for name, value in settings.items() if value is not None}
    source: dict[str, Any] = {"text": text, "label": label, "format": format}
    if (models := from_sums(model)) is not None:
        own = {"ngram_range": ngram_range or (1, 2), "analyzer": "word" if analyzer == "auto" else analyzer}
        features, options, others = _split(settings | own | {"deobfuscate": deobfuscate})
        job, sizes = planned(
            shards,
            features,
            **source,
            held_out=others.get("held_out"),
            events=tuple(one.event for one in models),
            skip_bad=skip_bad,
        )
        with started(Worker, job, sizes, ray, workers) as (engine, fleet):
            checkpoints = Checkpoints(resume, fingerprint(job.shards, job, sizes))
            training = SumsTraining(job, fleet, engine, checkpoints, report, options)
            return training.train(models, others.get("setting"), random_state, began)
    if left := sorted({"setting", "max_features", "held_out", "max_size"} & settings.keys()):
        msg = (
            f"{', '.join(left)} cannot be given for {model!r} of shards; all but max_size go with naive Bayes by name."
        )
        raise ValueError(msg)
    if analyzer == "char":
        msg = "Characters across words cannot be gathered from shards: use analyzer='char_wb'."
        raise ValueError(msg)
    classifier = TextClassifier(
        model,
        ngram_range=ngram_range,
        analyzer=analyzer,
        deobfuscate=deobfuscate,
        random_state=random_state,
        progress=lambda line: report(Progress("fitting", len(listed), line=line)),
        **settings,
    )
    listed = find_shards(shards)
    layout, _ = layout_of(listed, **source)
    sizes = [shard_size(shard) for shard in listed]
    reading = Reading(layout, deobfuscate, skip_bad=skip_bad)
    engine = connect(ray, workers, len(listed))
    try:
        checkpoints = Checkpoints(resume, fingerprint(listed, reading, sizes))
        corpus = gather(listed, reading, engine, checkpoints, report, markup=True)
        where, moved = across(engine.title, len(listed)), engine.bytes_moved
    finally:
        engine.close()
    if len(names := set(corpus.labels)) < 2:
        msg = f'the shards have one class only ("{names.pop()}"): two are needed to learn a difference'
        raise InputError(msg)
    classifier.fit_corpus(corpus, corpus.labels)
    classifier.progress = None  # it belongs to this call, and could not be pickled
    trials = classifier.trials_
    return Training(
        classifier,
        len(corpus),
        corpus.characters,
        listed,
        {listed[done.shard]: done.problem for done in corpus.done if done.problem},
        where,
        [{"title": t.title, "error": t.error, "log_loss": t.log_loss, "seconds": t.seconds} for t in trials],
        moved,
        time.perf_counter() - began,
        sorted(corpus.done, key=lambda done: -done.seconds)[:3],
        corpus=corpus,
    )


def _split(settings: dict[str, Any]) -> tuple[Features, ClassOptions, dict[str, Any]]:
    """What is counted, what is said of classes, and the rest; a ValueError for what sums do not know."""
    known = ("ngram_range", "analyzer", "min_df", "max_features", "n_features", "deobfuscate", "stop_words")
    features = Features(**{name: settings.pop(name) for name in known if name in settings}, frequencies=False)
    options = ClassOptions(*(settings.pop(name, None) for name in ("class_weight", "costs", "max_flagged")))
    if unknown := sorted(settings.keys() - {"setting", "held_out"}):
        msg = f"naive Bayes from sums does not know {', '.join(unknown)}"
        raise ValueError(msg)
    return features, options, settings
