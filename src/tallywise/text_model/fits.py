"""How each model type of texts is fitted: weighted counts and class codes to a `Form`."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _native, _threads
from tallywise.errors import ConcentrationWarning
from tallywise.text_model.forms import Form, Memory

Array = NDArray[np.float64]

_TOL = 1e-2  # relative gap: what is left of it changes no prediction that the folds could tell from chance
_HELD_OUT_TOL = 5e-2  # in cross-validation; on intents, 1e-2 and 0.2 give the same errors within their spread
# Where rows are many, sweeps over them are what costs, and predictions notice the first ones only: of 200,000 texts in
# 20 classes, C = 10, SVMs of 34, 10 and 5 sweeps are right on 77.8, 77.9 and 77.8 % of new ones.
_MANY_ROWS, _MOST_SWEEPS = 50_000, 10
_MOST_COPIED = 1 << 26  # entries that every thread may have a copy of: 512 MB
_OWN_SHARE = 0.25  # Wang & Manning's interpolation, their value: the share of an SVM's own weights


class FitData(NamedTuple):
    """What a fit learns from: rows of features, and the class of each (or with `sets`, its set of labels)."""

    X: Any
    codes: NDArray[Any]
    classes: NDArray[Any]
    n_jobs: int | None = None
    class_weight: Any = None
    sets: NDArray[np.uint8] | None = None  # one row of 0 and 1 per code, one column per label


class HeldOutProblem(NamedTuple):
    """A problem with the fold of each row (-1 for none), and where the blocks of columns begin that have length 1."""

    problem: FitData
    fold: NDArray[np.int32]
    blocks: NDArray[np.int64]


def naive_bayes(name: str) -> Callable[..., Form]:
    """The fit of a naive Bayes model with the class of that name."""

    def fit(problem: FitData, **setting: Any) -> Form:
        from tallywise import naive_bayes

        model = getattr(naive_bayes, name)(**setting)
        model.fit(problem.X, problem.codes, sample_weight=_row_weights(problem))
        return naive_bayes_form(model)

    return fit


def naive_bayes_form(model: Any) -> Form:
    """Form of a fitted naive Bayes model."""
    W, b = model.to_linear()
    return _linear(W, b, model)


def logistic(problem: FitData, **setting: Any) -> Form:
    """Logistic regression, one softmax over all classes."""
    from tallywise.linear import LogisticRegression

    model = LogisticRegression(tol=_TOL, n_jobs=problem.n_jobs, **setting)
    model.fit(problem.X, problem.codes, sample_weight=_row_weights(problem))
    return _linear(model.coef_, model.intercept_, model)


def svm(problem: FitData, *, C: float) -> Form:
    """A linear SVM with squared hinge loss, one class (or label) against the rest."""
    from tallywise.linear import LinearSVC

    n = problem.X.shape[0]
    tol = _tolerance(n)
    model = LinearSVC(tol=tol, n_jobs=problem.n_jobs, C=C)
    W, model.intercept_, *_ = _native.margin_classes(
        *_margins(problem, C), _options(problem.n_jobs, tol, n), problem.sets
    )
    if problem.sets is not None:
        return Form(np.ascontiguousarray(W.T), model.intercept_, estimator=model)
    model.classes_ = np.arange(len(problem.classes))
    form = _linear(W, model.intercept_, model)
    model.coef_ = form.W.T  # one array for both: the largest that a model has
    return form


def held_out_svm(task: HeldOutProblem, *, C: float) -> Array:
    """Held-out scores of `svm`, all folds in one call."""
    problem = task.problem
    options = _options(problem.n_jobs, _HELD_OUT_TOL, problem.X.shape[0])
    found = _native.held_out_margins(*_margins(problem, C), task.fold, options, problem.sets, task.blocks)[0]
    return np.asarray(found[task.fold >= 0])


def nb_svm(problem: FitData, *, C: float) -> Form:
    """A linear SVM on features scaled by log-count ratios, one ratio and one SVM per class, interpolated.

    The weights of an SVM are drawn towards their mean size, which alone would make it naive Bayes; ratios and
    interpolation are folded into the weights of the form.
    """
    if problem.sets is not None:
        forms = [nb_svm(one, C=C) for one in _labels_alone(problem)]
        return Form(np.hstack([form.W for form in forms]), np.concatenate([form.b for form in forms]))
    threads = 1 if problem.X.nnz > _MOST_COPIED else problem.n_jobs  # each has a copy of X, scaled
    n = problem.X.shape[0]
    return Form(*_native.ratio_margins(*_margins(problem, C), _OWN_SHARE, _options(threads, _tolerance(n), n)))


def held_out_nb_svm(task: HeldOutProblem, *, C: float) -> Array:
    """Held-out scores of `nb_svm`, all folds in one call."""
    problem = task.problem
    if problem.sets is not None:
        alone = (held_out_nb_svm(task._replace(problem=one), C=C) for one in _labels_alone(problem))
        return np.hstack(list(alone))
    options = _options(problem.n_jobs, _HELD_OUT_TOL, problem.X.shape[0])
    found = _native.held_out_ratio_margins(*_margins(problem, C), _OWN_SHARE, task.fold, options)[0]
    return np.asarray(found[task.fold >= 0])


def _labels_alone(problem: FitData) -> Iterator[FitData]:
    """The problem of each label: the texts that have it against the rest."""
    assert problem.sets is not None
    for column in problem.sets.T:
        yield problem._replace(codes=column[problem.codes].astype(np.int64), classes=np.arange(2), sets=None)


def ordinal(problem: FitData, **setting: Any) -> Form:
    """One score cut by thresholds. A level that these rows lack gets no width: its two thresholds are one."""
    from tallywise.linear import OrdinalRegression

    model = OrdinalRegression(tol=_TOL, n_jobs=problem.n_jobs, **setting)
    model.fit(problem.X, problem.codes, sample_weight=_row_weights(problem))
    cuts = np.concatenate([model.thresholds_[:1] - 50.0, model.thresholds_, model.thresholds_[-1:] + 50.0])
    below = np.searchsorted(model.classes_, np.arange(len(problem.classes) - 1), side="right")
    return Form(np.reshape(model.coef_, (-1, 1)).astype(float), np.zeros(1), cuts[below], model)


def nearest(problem: FitData, **setting: Any) -> Form:
    """Votes of the nearest neighbours by cosine, each by how alike it is."""
    from tallywise.neighbors import KNeighborsClassifier

    X, codes, K = problem.X, problem.codes, len(problem.classes)
    k = min(setting["n_neighbors"], len(codes))
    model = KNeighborsClassifier(n_neighbors=k, metric="cosine", weights=_alike, algorithm="brute")
    with warnings.catch_warnings():  # whether neighbours say enough is what held-out rows find out
        warnings.simplefilter("ignore", ConcentrationWarning)
        model.fit(X, codes)
    votes = np.eye(K)[codes]
    row_weights = _row_weights(problem)
    votes = votes if row_weights is None else votes * row_weights[:, None]
    A = votes[:, 1:] - votes[:, :1] if K == 2 else votes
    return _storing(Memory.of("nearest", float(k), X, A), model)


def _alike(distances: Array) -> Array:
    return 1.0 - distances


def gaussian_svm(problem: FitData, **setting: Any) -> Form:
    """A support vector machine with a Gaussian kernel; for more than two classes, one against the rest each."""
    from tallywise.kernels import SVC

    X, codes, K = problem.X, problem.codes, len(problem.classes)
    weights = _row_weights(problem)
    columns = [1] if K == 2 else range(K)
    A, b, models = np.zeros((X.shape[0], len(columns))), np.full(len(columns), -1.0), []
    for column, k in enumerate(columns):
        if not np.any(codes == k):
            continue  # a class that these rows lack
        models.append(SVC(kernel="rbf", **setting).fit(X, codes == k, sample_weight=weights))
        A[models[-1].support_, column] = models[-1].dual_coef_.toarray()[0]  # sparse, as X is
        b[column] = float(models[-1].intercept_[0])
    memory = Memory.of("gaussian", setting["gamma"], X, A)
    return _storing(memory, models[0] if len(models) == 1 else models)._replace(b=b)


def _storing(memory: Memory, estimator: Any) -> Form:
    columns = memory.arrays["memory_A"].shape[1]
    return Form(np.empty((0, columns)), np.zeros(columns), estimator=estimator, memory=memory)


def _linear(W: Any, b: Any, estimator: Any) -> Form:
    """Form of K rows of weights; two rows become their difference, so that two classes always have one score."""
    W, b = np.atleast_2d(np.asarray(W, dtype=float)), np.atleast_1d(np.asarray(b, dtype=float))
    if len(W) == 2:
        W, b = W[1:] - W[:1], b[1:] - b[:1]
    return Form(np.ascontiguousarray(W.T), b, estimator=estimator)


def _margins(problem: FitData, C: float) -> tuple[Any, Any, Array, Array]:
    """Rows, codes, weights of rows and of classes as the native solvers take them: one class against the rest."""
    weights = _row_weights(problem)
    s = np.full(len(problem.codes), C) if weights is None else C * weights
    columns = 1 if len(problem.classes) == 2 else len(problem.classes)
    if problem.sets is not None:
        columns = problem.sets.shape[1]
    return _arrays.rows(problem.X), np.ascontiguousarray(problem.codes, dtype=np.int64), s, np.ones((columns, 2))


def _tolerance(n: int) -> float:
    """Relative gap of a fit on n rows that is to last."""
    return _TOL if n <= _MANY_ROWS else _HELD_OUT_TOL


def _options(n_jobs: Any, tol: float, n: int) -> _native.MarginOptions:
    """How the native solvers go about n rows."""
    return _native.MarginOptions(
        loss="squared_hinge",
        epsilon=0.0,
        intercept_scale=1.0,
        free_intercept=False,
        tol=tol,
        max_iter=1000 if n <= _MANY_ROWS else _MOST_SWEEPS,
        seed=0,
        threads=_threads.count(n_jobs),
        quick=tol >= 1e-3,
    )


def _row_weights(problem: FitData) -> Array | None:
    class_weight, codes, classes = problem.class_weight, problem.codes, problem.classes
    if class_weight is None:
        return None
    from sklearn.utils.class_weight import compute_class_weight

    if not isinstance(class_weight, str):
        class_weight = {k: class_weight.get(label, 1.0) for k, label in enumerate(classes.tolist())}
    weights = compute_class_weight(class_weight, classes=np.arange(len(classes)), y=codes)
    return np.asarray(weights[codes], dtype=np.float64)
