"""Naive Bayes from shards by sums over their texts: no more in memory than the model, however many texts there are."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import naive_bayes
from tallywise.evaluation import Calibration, calibrate, measure
from tallywise.models import model_file
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError
from tallywise.scale.checkpoints import Checkpoints
from tallywise.scale.counting import count_shards
from tallywise.scale.engines import Engine, Fleet
from tallywise.scale.jobs import Job, Report
from tallywise.scale.models import ClassOptions, ShardModel
from tallywise.scale.report import HeldOutTexts, surest_mistakes
from tallywise.scale.result import Training
from tallywise.scale.statistics import with_columns
from tallywise.selection import Combination
from tallywise.text_model import Form, TextClassifier
from tallywise.text_model.contents import link_of, text_file
from tallywise.text_model.fits import naive_bayes_form
from tallywise.text_model.forms import Block
from tallywise.text_model.rules import Rule, decision_rule
from tallywise.text_model.views import View
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]


@dataclass
class _Trial:
    """A model with one setting, fitted to what is not held out."""

    model: ShardModel
    setting: dict[str, Any]
    form: Form
    seconds: float
    calibration: Calibration = Calibration(1.0, 0.0)  # noqa: RUF009
    probabilities: Array | None = None
    error: float = np.nan
    log_loss: float = np.nan

    @property
    def title(self) -> str:
        return self.model.model_type(self.setting).describe()


class SumsTraining:
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
        random_state: int,
        began: float,
    ) -> Training:
        """Count, compare settings on the held-out texts, learn these as well."""
        self._count()
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
            self.fleet.bytes_moved,
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
            form = self._naive_bayes(model, setting, on_all)
            found.append(_Trial(model, setting, form, time.perf_counter() - start))
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

    def _refit(self, best: _Trial) -> _Trial:
        """The best, with the held-out texts learned as well."""
        start = time.perf_counter()
        form = self._naive_bayes(best.model, best.setting, True)
        return dataclasses.replace(best, form=form, seconds=time.perf_counter() - start)

    # --- judging ---

    def _judge(self, trials: list[_Trial]) -> NDArray[np.int64]:
        codes = np.empty(0, dtype=np.int64)
        for trial in trials:
            ordered = trial.form.thresholds.size > 0
            data = model_file.to_bytes(*self._unjudged(trial, Calibration(1.0, 0.0)))
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
