"""`regress`: ridge regression of numbers on texts, from shards."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline

from tallywise._certificate import Certificate
from tallywise.linear import Ridge
from tallywise.scale import newton
from tallywise.scale.checkpoints import Checkpoints, fingerprint
from tallywise.scale.counting import count_shards, planned
from tallywise.scale.engines import Fleet, started
from tallywise.scale.jobs import Features, Path_, Report
from tallywise.scale.shard_fits import Fits
from tallywise.scale.statistics import Statistics, encoded_terms
from tallywise.scale.worker import ShardProblem, Worker
from tallywise.text import TfidfTransformer
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Regression:
    """What a regression over shards has brought.

    Attributes
    ----------
    model : Pipeline
        A vectorizer, `TfidfTransformer` and `Ridge`, fitted: it predicts numbers for texts.
    alpha : float
        The penalty kept.
    rmse, r2 : float
        Of the held-out texts, by the model that had not learned them; NaN where none were held out.
    trials : list of (float, float)
        Penalties and the root mean squared error of each on held-out texts.
    certificate : Certificate
        Primal and dual value over all shards.
    """

    model: Pipeline
    alpha: float
    rmse: float
    r2: float
    trials: list[tuple[float, float]]
    certificate: Certificate
    rows: int
    shards: list[str]
    skipped: dict[str, str]
    workers: str
    bytes_moved: int
    seconds: float


def regress(
    shards: Path_ | Iterable[Path_],
    *,
    alpha: float | Sequence[float] = (10.0, 1.0, 0.1),
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
    stop_words: Any = None,
    held_out: float | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    skip_bad: bool = False,
    resume: Path_ | None = None,
    progress: Report | None = None,
) -> Regression:
    """Ridge regression of a number on tf-idf weighted texts that no memory need hold.

    Minimises ``sum (y - x'w - b)^2 + alpha |w|^2`` over the rows of all shards, as `Ridge` does over those of a matrix.

    Parameters
    ----------
    shards : path, glob, or list of them
        What `tallywise.reading.find_shards` takes.
    alpha : float or sequence of float
        The penalty; of several, the one with the least error on held-out texts.
    ray, workers, text, label, format, ngram_range, analyzer, min_df, max_features, n_features, stop_words, held_out
        As for `train`; the labels are numbers.
    tol, max_iter, skip_bad, resume, progress
        As for `train`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.scale import regress
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         rows = ["a good day,4.5", "a bad day,1.5", "good good,5", "so bad,1"] * 20
    ...         _ = pathlib.Path(folder, f"{k}.csv").write_text(chr(10).join(["text,stars", *rows]))
    ...     made = regress(folder + "/*.csv", text="text", label="stars", alpha=1.0, workers=1)
    >>> made.rows, made.model.predict(["a bad day"]).round(1).tolist()
    (240, [1.5])
    """
    began = time.perf_counter()
    alphas = [float(one) for one in np.atleast_1d(alpha)]
    if not alphas or not all(0 < one < np.inf for one in alphas):
        msg = f"alpha must be a positive number, or several. Got {alpha!r}."
        raise ValueError(msg)
    job, sizes = planned(
        shards,
        Features((ngram_range[0], ngram_range[1]), analyzer, min_df, max_features, n_features, False, stop_words),
        text=text,
        label=label,
        format=format,
        held_out=held_out,
        skip_bad=skip_bad,
        keep_rows=n_features is not None,
        numbers=True,
    )
    report = progress or (lambda _: None)
    with started(Worker, job, sizes, ray, workers) as (engine, fleet):
        checkpoints = Checkpoints(resume, fingerprint(job, sizes))
        statistics, done = count_shards(job, fleet, checkpoints, report)
        run = _RegressionTraining(statistics, fleet, checkpoints, Fits(job, fleet, report, tol, max_iter))
        trials = [run.fit(one, on_all=False) for one in alphas] if run.held else []
        judged = [run.judge(solution) for solution in trials]
        best = min(range(len(alphas)), key=lambda k: judged[k][0]) if run.held else 0
        solution = run.fit(alphas[best], on_all=True)
        rmse, r2 = judged[best] if run.held else (np.nan, np.nan)
        return Regression(
            run.pipeline(solution, alphas[best]),
            alphas[best],
            rmse,
            r2,
            [(one, error) for one, (error, _) in zip(alphas, judged, strict=False)],
            solution.certificate,
            statistics.rows,
            list(job.shards),
            job.skipped(done),
            job.workers(engine.title),
            fleet.bytes_moved,
            time.perf_counter() - began,
        )


class _RegressionTraining:
    """One regression: the columns that all its fits share, and the workers."""

    def __init__(self, statistics: Statistics, fleet: Fleet, checkpoints: Checkpoints, fits: Fits) -> None:
        self.statistics, self.fleet, self.checkpoints, self.fits = statistics, fleet, checkpoints, fits
        self.features = fits.job.features
        self.held = sum(statistics.held_labels.values())
        self.terms: list[str] = []
        order = np.arange(self.features.n_features or 0)
        if self.features.n_features is None:
            self.terms, order = statistics.chosen_terms()
        self.weighting = Weighting.of_frequencies("tf-idf", statistics.rows, statistics.documents[order])
        self.before: newton.Solution | None = None

    def fit(self, alpha: float, on_all: bool) -> newton.Solution:
        blob, offsets = encoded_terms(self.terms)
        tf, norm, scale = self.weighting.tf, self.weighting.norm, self.weighting.scale
        self.problem = ShardProblem("ridge", blob, offsets, tf, norm, scale, (), "squared_error", held_out_too=on_all)
        self.before = self.fits.solve(
            self.problem,
            alpha,  # both halves of the objective are halved
            1,
            np.zeros(1),
            float(self.statistics.rows - (0 if on_all else self.held)),
            before=self.before,
            checkpoint=self.checkpoints.named(f"ridge {alpha!r} {on_all} {self.fits.tol}"),
            title=f"ridge regression, alpha = {alpha:g}",
        )
        return self.before

    def judge(self, solution: newton.Solution) -> tuple[float, float]:
        """Root mean squared error on the held-out texts, and the share of their variance that is explained."""
        point = newton.named(self.problem, solution.W)
        answers = self.fleet.ask("held_predictions", self.problem, point, solution.b)
        pairs = [shard for worker in answers for shard in worker]
        y, z = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
        error, spread = float(np.square(y - z).mean()), float(y.var())
        return float(np.sqrt(error)), 1 - error / spread if spread > 0 else np.nan

    def pipeline(self, solution: newton.Solution, alpha: float) -> Pipeline:
        """The fitted estimators, as they would be left by their own `fit`."""
        vectorizer = self.features.vectorizer(self.terms)
        weighting: Any = TfidfTransformer(sublinear_tf=True)
        weighting.idf_, weighting.n_features_in_ = self.weighting.scale, len(self.weighting.scale)
        ridge: Any = Ridge(alpha=alpha, tol=self.fits.tol)
        ridge.coef_, ridge.intercept_ = solution.W[:, 0].copy(), float(solution.b[0])
        ridge.n_features_in_ = len(self.weighting.scale)
        ridge.n_iter_, ridge.certificate_ = solution.certificate.iterations, solution.certificate
        return make_pipeline(vectorizer, weighting, ridge)
