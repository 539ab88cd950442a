"""`train`: a text model from shards."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import naive_bayes
from tallywise._certificate import Certificate
from tallywise.evaluation import Calibration, calibrate, measure
from tallywise.models import model_file
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError
from tallywise.scale import newton
from tallywise.scale.checkpoints import Checkpoints, fingerprint
from tallywise.scale.counting import count_shards, planned
from tallywise.scale.engines import Engine, Fleet, started
from tallywise.scale.jobs import Done, Features, Job, Path_, Report
from tallywise.scale.models import ClassOptions, ShardModel, chosen
from tallywise.scale.report import HeldOutTexts, surest_mistakes
from tallywise.scale.shard_fits import Fits
from tallywise.scale.statistics import encoded_terms, with_columns
from tallywise.scale.worker import ShardProblem, Worker
from tallywise.selection import Combination
from tallywise.text_model import Form, TextClassifier
from tallywise.text_model.contents import link_of, text_file
from tallywise.text_model.fits import naive_bayes_form
from tallywise.text_model.forms import Block
from tallywise.text_model.rules import Rule, decision_rule
from tallywise.text_model.views import View
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """What a training over shards has brought.

    Attributes
    ----------
    model : TextClassifier
        The fitted model: it judges, explains and saves as any other.
    rows, characters : int
        Texts learned from and their length.
    shards : list of str
        All of them, in order.
    skipped : dict of str to str
        Shards that could not be read, and why.
    workers : str
        Where it was made.
    trials : list of dict
        What was compared on the held-out texts: title, error, log loss, seconds; the kept one first.
    certificate : Certificate or None
        Of a linear model: primal and dual value over all shards.
    bytes_moved : int
        Between driver and workers.
    design_bytes : int
        Of the largest design that a worker has kept in memory; 0 for naive Bayes.
    judged : HeldOutTexts or None
        The held-out texts, as the report shows them; None where none were held out.
    seconds : float
        Wall time.
    """

    model: TextClassifier
    rows: int
    characters: int
    shards: list[str]
    skipped: dict[str, str]
    workers: str
    trials: list[dict[str, Any]]
    certificate: Certificate | None
    bytes_moved: int
    design_bytes: int
    seconds: float
    slowest: list[Done]
    judged: HeldOutTexts | None = None

    def save(self, path: Path_) -> int:
        """Write the model file; its bytes depend on the list of shards and the options alone."""
        return self.model.save(path)


def train(
    shards: Path_ | Iterable[Path_],
    *,
    model: str | list[str] = "auto",
    setting: dict[str, Any] | None = None,
    ray: str | None = None,
    workers: int | None = None,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    ngram_range: tuple[int, int] = (1, 2),
    analyzer: str = "word",
    min_df: float = 1,
    max_features: int | None = None,
    n_features: int | None = None,
    deobfuscate: bool = False,
    stop_words: Any = None,
    class_weight: Any = None,
    costs: Any = None,
    max_flagged: Any = None,
    held_out: float | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    random_state: int = 0,
    skip_bad: bool = False,
    resume: Path_ | None = None,
    progress: Report | None = None,
) -> Training:
    """Learn a text model from shards that no memory need hold.

    Each worker reads its own shards; sums go to the driver and rows nowhere. A share of the texts, told by the hash of
    their characters so that repeats stay together, judges the models, calibrates the best and is then learned as well.

    Parameters
    ----------
    shards : path, glob, or list of them
        What `tallywise.reading.find_shards` takes.
    model : str or list of str
        ``multinomial_nb``, ``complement_nb``, ``bernoulli_nb``, ``logistic``, ``linear_svm``, ``ordinal``, several of
        them to compare, or ``'auto'``: the first and the fourth.
    setting : dict, optional
        Such as ``{'alpha': 0.1}`` or ``{'C': 10.0}``; chosen by default.
    ray : None, 'auto', 'local' or str
        None: threads of this process. 'auto': the Ray cluster of this machine, or one of its own; 'local': one of its
        own; else the address of a cluster. The model is the same to the last byte.
    workers : int, optional
        One per core by default.
    text, label, format : str, optional
        As for `tallywise.reading.open_source`; looked at on the first shard.
    ngram_range, analyzer, min_df, n_features, deobfuscate, stop_words
        As for `TextClassifier`.
    max_features : int, optional
        Keep only so many terms, the most frequent.
    class_weight, costs, max_flagged
        As for `TextClassifier`; the threshold of ``max_flagged`` is chosen on the held-out texts.
    held_out : float, optional
        Share of the texts that judges; by default about 20,000 texts and at most a tenth. 0: no judging.
    tol, max_iter : float, int
        Relative duality gap of linear models, and most Newton iterations.
    random_state : int
        Seed of the intervals.
    skip_bad : bool
        Go on without shards that cannot be read, and list them; else the first ends the job.
    resume : path, optional
        Folder for what is finished: started again with it, a job goes on where it ended.
    progress : callable, optional
        Called with a `Progress` now and then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.scale import train
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         rows = ["win a prize,spam", "lunch at noon,ham"] * 20
    ...         _ = pathlib.Path(folder, f"{k}.csv").write_text(chr(10).join(["text,label", *rows]))
    ...     made = train(folder + "/*.csv", model="multinomial_nb", workers=1)
    >>> made.rows, made.model.predict(["a prize"]).tolist()
    (120, ['spam'])
    """
    began = time.perf_counter()
    models = chosen(model)
    if max_flagged is not None and costs is not None:
        msg = "max_flagged and costs are two rules of decision: give one of them."
        raise ValueError(msg)
    features = Features(
        (ngram_range[0], ngram_range[1]),
        analyzer,
        min_df,
        max_features,
        n_features,
        deobfuscate,
        stop_words,
        frequencies=any(one.model_type({}).weighting == "tf-idf" for one in models),
    )
    job, sizes = planned(
        shards,
        features,
        text=text,
        label=label,
        format=format,
        held_out=held_out,
        events=tuple(one.event for one in models if one.event),
        skip_bad=skip_bad,
        keep_rows=n_features is not None and any(one.loss for one in models),
    )
    with started(Worker, job, sizes, ray, workers) as (engine, fleet):
        checkpoints = Checkpoints(resume, fingerprint(job, sizes))
        options = ClassOptions(class_weight, costs, max_flagged)
        return _TextTraining(job, fleet, engine, checkpoints, progress or (lambda _: None), options).train(
            models, setting, tol, max_iter, random_state, began
        )


@dataclass
class _Trial:
    """A model with one setting, fitted to what is not held out."""

    model: ShardModel
    setting: dict[str, Any]
    form: Form
    seconds: float
    solution: newton.Solution | None = None
    calibration: Calibration = Calibration(1.0, 0.0)  # noqa: RUF009
    probabilities: Array | None = None
    error: float = np.nan
    log_loss: float = np.nan

    @property
    def title(self) -> str:
        return self.model.model_type(self.setting).describe()


class _TextTraining:
    """One training: what is known of the job, and the workers."""

    def __init__(
        self, job: Job, fleet: Fleet, engine: Engine, checkpoints: Checkpoints, report: Report, options: ClassOptions
    ) -> None:
        self.job, self.fleet, self.engine, self.checkpoints, self.report = job, fleet, engine, checkpoints, report
        self.options = options

    def train(
        self,
        models: list[ShardModel],
        setting: dict[str, Any] | None,
        tol: float,
        max_iter: int,
        random_state: int,
        began: float,
    ) -> Training:
        self._count()
        self.fits = Fits(self.job, self.fleet, self.report, tol, max_iter)
        held = sum(self.judges.values())
        trials = [trial for model in models for trial in self._trials(model, model.settings(setting), on_all=not held)]
        codes = self._judge(trials) if held else np.empty(0, dtype=np.int64)
        best = min(trials, key=lambda trial: (trial.error, trial.log_loss)) if held else trials[0]
        kept = self._refit(best) if held else best
        model = self._classifier(kept, best, codes, random_state)
        ranked = sorted(trials, key=lambda trial: (trial is not best, trial.error, trial.log_loss))
        return Training(
            model,
            self.statistics.rows,
            self.statistics.characters,
            list(self.job.shards),
            self.job.skipped(self.done),
            self.job.workers(self.engine.title),
            [{"title": t.title, "error": t.error, "log_loss": t.log_loss, "seconds": t.seconds} for t in ranked],
            kept.solution.certificate if kept.solution else None,
            self.fleet.bytes_moved,
            max(worker["design"] for worker in self.fleet.ask("memory")),
            time.perf_counter() - began,
            sorted(self.done, key=lambda done: -done.seconds)[:3],
            self._judged(model, best, codes) if held else None,
        )

    # --- statistics ---

    def _count(self) -> None:
        self.statistics, self.done = count_shards(self.job, self.fleet, self.checkpoints, self.report)
        self.classes = sorted(self.statistics.labels)
        if len(self.classes) < 2:
            seen = f' ("{self.classes[0]}")' if self.classes else ""
            msg = f"the shards have {len(self.classes)} classes{seen}: two are needed to learn a difference"
            raise InputError(msg)
        self.counts = np.array([self.statistics.labels[label] for label in self.classes], dtype=float)
        self.judges = dict(self.statistics.held_labels)
        self.class_weight = self.options.weights(self.classes, self.counts)
        if self.options.max_flagged is not None and not self.judges:
            msg = "max_flagged sets its threshold on held-out texts, and none are held out: set held_out above 0."
            raise ValueError(msg)
        if self.job.features.n_features is None:
            self.terms, self.order = self.statistics.chosen_terms()
        else:
            self.terms, self.order = [], np.arange(self.job.features.n_features)

    def _weighting(self, model: ShardModel) -> Weighting:
        counted = self.statistics.documents
        df = counted[self.order] if len(counted) else np.zeros(len(self.order))  # naive Bayes of hashes asks for none
        return Weighting.of_frequencies(model.model_type({}).weighting, self.statistics.rows, df)

    # --- fits ---

    def _trials(self, model: ShardModel, settings: list[dict[str, Any]], on_all: bool) -> list[_Trial]:
        found: list[_Trial] = []
        for setting in settings:
            start = time.perf_counter()
            if model.event:
                form, solution = self._naive_bayes(model, setting, on_all), None
            else:
                before = found[-1].solution if found else None
                solution = self._linear(model, setting, on_all, before)
                form = model.form(solution.W, solution.b)
            found.append(_Trial(model, setting, form, time.perf_counter() - start, solution))
        return found

    def _naive_bayes(self, model: ShardModel, setting: dict[str, Any], on_all: bool) -> Form:
        learned = with_columns(self.statistics.sums[model.event], self.order)
        if on_all and model.event in self.statistics.held_sums:
            learned.merge(with_columns(self.statistics.held_sums[model.event], self.order))
        statistics = {**learned.statistics(), "classes": np.arange(len(self.classes))}
        if learned.classes_.tolist() != self.classes:  # a class that only held-out texts have
            places = np.searchsorted(self.classes, learned.classes_.tolist())
            for name, axis in (("value", 1), ("totals", 1)):
                shape = list(statistics[name].shape)
                shape[axis] = len(self.classes)
                wider = np.zeros(shape)
                wider[:, places] = statistics[name]
                statistics[name] = wider
        if self.class_weight:  # the sums are linear in the weights of rows, and each row has one class
            statistics["value"] = statistics["value"] * np.array(self.class_weight)[:, None]
            statistics["totals"] = statistics["totals"] * np.array(self.class_weight)
        fitted = getattr(naive_bayes, model.event)(**setting).restore(statistics)
        return naive_bayes_form(fitted)

    def _linear(
        self, model: ShardModel, setting: dict[str, Any], on_all: bool, before: newton.Solution | None
    ) -> newton.Solution:
        weighting = self._weighting(model)
        blob, offsets = encoded_terms(self.terms)
        problem = ShardProblem(
            f"{model.name}",
            blob,
            offsets,
            weighting.tf,
            weighting.norm,
            weighting.scale,
            tuple(self.classes),
            model.loss,
            class_weight=self.class_weight,
            held_out_too=on_all,
        )
        learned = self.counts - (0 if on_all else np.array([self.judges.get(label, 0) for label in self.classes]))
        weights = hashlib.blake2b(repr(self.class_weight).encode(), digest_size=8).hexdigest()
        return self.fits.solve(
            problem,
            model.l2(setting),
            1 if model.loss.startswith("ordered") or len(self.classes) == 2 else len(self.classes),
            model.start(self.counts),
            float(learned @ np.array(self.class_weight or np.ones(len(learned)))),
            before=before,
            checkpoint=self.checkpoints.named(f"{model.name} {json.dumps(setting)} {on_all} {self.fits.tol} {weights}"),
            title=model.model_type(setting).describe(),
        )

    def _refit(self, best: _Trial) -> _Trial:
        """The best, with the held-out texts learned as well."""
        start = time.perf_counter()
        if best.model.event:
            form, solution = self._naive_bayes(best.model, best.setting, True), None
        else:
            solution = self._linear(best.model, best.setting, True, best.solution)
            form = best.model.form(solution.W, solution.b)
        return dataclasses.replace(best, form=form, solution=solution, seconds=time.perf_counter() - start)

    # --- judging ---

    def _judge(self, trials: list[_Trial]) -> NDArray[np.int64]:
        codes = np.empty(0, dtype=np.int64)
        for trial in trials:
            ordered = trial.form.thresholds.size > 0
            data = model_file.to_bytes(self._unjudged(trial, Calibration(1.0, 0.0)))
            answers = [shard for worker in self.fleet.ask("judge", data, ordered) for shard in worker]
            codes = np.concatenate([true for true, _ in answers]).astype(np.int64)
            self.held_places = [(shard, i) for shard, (true, _) in enumerate(answers) for i in range(len(true))]
            scores = np.concatenate([rows for true, rows in answers if len(true)])
            if not ordered:
                trial.calibration = calibrate(scores, codes)
            trial.probabilities = scores if ordered else trial.calibration.probabilities(scores)
            trial.error = float((trial.probabilities.argmax(axis=1) != codes).mean())
            own = trial.probabilities[np.arange(len(codes)), codes]
            trial.log_loss = float(-np.log(np.maximum(own, np.finfo(float).tiny)).mean())
        return codes

    def _classifier(self, kept: _Trial, best: _Trial, codes: NDArray[np.int64], random_state: int) -> TextClassifier:
        figures: dict[str, Any] = {}
        # How many shards and workers there were is not said here: the file is the same for one of each.
        description = [f"learned from {self.statistics.rows:,} texts"]
        names = np.array(self.classes)
        P = np.zeros((0, len(names))) if best.probabilities is None else best.probabilities
        decided = decision_rule(
            names,
            codes,
            P,
            np.arange(len(codes)),
            max_flagged=self.options.max_flagged,
            costs=self.options.costs,
            random_state=random_state,
        )
        if len(codes):
            called = None if decided.verdicts is None else names[decided.verdicts]
            figures = measure(names[codes], P, names, predictions=called, random_state=random_state)
            description.append(f"judged on {len(codes):,} texts held out by their hash, which were then learned, too")
        return self._fitted(kept, best.calibration, figures, description, decided)

    def _judged(self, model: TextClassifier, best: _Trial, codes: NDArray[np.int64]) -> HeldOutTexts:
        """What the report shows: the verdicts on held-out texts by the model that had not learned them."""
        assert best.probabilities is not None
        verdicts = np.asarray(model.runtime_.decide(best.probabilities))
        judge = TextModel(self._unjudged(best, best.calibration))
        mistakes = surest_mistakes(self.fleet, judge, self.held_places, codes, best.probabilities, verdicts)
        return HeldOutTexts(codes, best.probabilities, verdicts, mistakes)

    def _view(self) -> View:
        features = self.job.features
        return dataclasses.replace(features.view(), vectorizer=features.vectorizer(self.terms))

    def _unjudged(self, trial: _Trial, calibration: Calibration) -> model_file.Contents:
        """The file of a trial by which held-out texts are judged: the most likely class, no figures."""
        view = self._view()
        form = trial.form._replace(blocks=(Block(view.name, self._weighting(trial.model)),))
        return text_file(form, [view], self.classes, link_of(form, calibration)).compact()

    def _fitted(
        self,
        trial: _Trial,
        calibration: Calibration,
        figures: dict[str, Any],
        description: list[str],
        decided: Rule,
    ) -> TextClassifier:
        """The text model of a trial, as `TextClassifier.fit` would leave it."""
        features, model_type = self.job.features, trial.model.model_type(trial.setting)
        model = TextClassifier(
            model_type.name,
            ngram_range=features.ngram_range,
            analyzer=features.analyzer,
            min_df=features.min_df,
            n_features=features.n_features,
            deobfuscate=features.deobfuscate,
            stop_words=features.stop_words,
            class_weight=self.options.class_weight,
            costs=self.options.costs,
            max_flagged=self.options.max_flagged,
        )
        model.classes_ = np.array(self.classes)
        view = self._view()
        model.views_, model.vectorizer_ = [view], view.vectorizer
        model.model_types_, model.title_ = [model_type], model_type.describe()
        model.blocks_ = (Block(view.name, self._weighting(trial.model)),)
        model.combination_ = Combination(np.ones(1), np.zeros(len(trial.form.b)), link=calibration)
        model.estimator_ = trial.form.estimator
        model.calibration_, model.rule_ = calibration, decided.rule
        model.cost_matrix_, model.threshold_ = decided.costs, decided.threshold
        model.groups_ = np.broadcast_to(np.intp(0), self.statistics.rows)  # as many as there are texts
        model.figures_, model.description_ = figures, description
        model._serve(trial.form._replace(blocks=model.blocks_))
        return model
