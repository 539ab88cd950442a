"""The models that a text classifier can be made of: a list. A family joins by an entry here.

An entry turns weighted counts and class codes into a `Form`: weights and biases whose products with a text are its
scores, or rows to remember and what each of them says. That is all the rest of the package, the model file and the
serve side ever see of a model.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _native, _threads
from tallywise.classifier.weighting import Weighting
from tallywise.errors import ConcentrationWarning
from tallywise.evaluation.metrics import grades
from tallywise.models.text_schema import StoredTexts

Array = NDArray[np.float64]
Start = NDArray[np.float32] | None  # dual variables, one for each row and machine
_ROWS_ADDED = 1 << 16  # rows of weights that are added at once


class Block(NamedTuple):
    """The terms of a view as features: how their counts are weighted."""

    view: str
    weighting: Weighting


class Form(NamedTuple):
    """Scores z = x W + b: one column for two classes (or ordered ones), else one a class.

    x has the features of the `blocks`, one after the other. A model that remembers rows has them in `memory`, and no W.
    """

    W: Array  # shape (p, columns)
    b: Array
    thresholds: Array = np.empty(0)
    estimator: Any = None
    memory: "Memory | None" = None
    blocks: tuple[Block, ...] = ()

    def scores(self, X: Any) -> Array:
        """Scores of the rows of X."""
        z: Array = (X @ self.W if self.memory is None else self.memory.scores(X)) + self.b
        return z

    def shifted(self, offsets: Array) -> "Form":
        """The form with offsets added to its scores."""
        return self._replace(b=self.b + offsets)

    def adjusted(self, mixing: Array | None, offsets: Array) -> "Form":
        """The form with its scores mixed by a matrix, if there is one, and offsets added to them."""
        if mixing is None:
            return self.shifted(offsets)
        memory = self.memory
        if memory is not None:
            memory = memory._replace(arrays=memory.arrays | {"memory_A": memory.arrays["memory_A"] @ mixing})
        return self._replace(W=self.W @ mixing, b=self.b @ mixing + offsets, memory=memory)

    def spread(self, present: NDArray[Any], K: int) -> "Form":
        """Form of K classes from one of those present: an absent class scores what the others do on average."""
        share = np.full((len(present), K), 1 / len(present))
        share[:, present] = np.eye(len(present))
        if self.W.shape[1] == 1:
            share = np.diff(share, axis=0) / 2
        return self._replace(W=self.W @ share, b=self.b @ share)


def added(forms: Sequence[Form], weights: Sequence[float]) -> Form:
    """The weighted sum of linear forms: one form over the blocks of all of them, each block once."""
    places: dict[int, tuple[Block, int]] = {}  # of each block the first row
    rows = 0
    for form in forms:
        for block in form.blocks:
            if id(block.weighting) not in places:
                places[id(block.weighting)] = (block, rows)
                rows += len(block.weighting.scale)
    W = np.zeros((rows, forms[0].W.shape[1]))  # filled in place: of many terms and classes, the largest array there is
    for form, weight in zip(forms, weights, strict=True):
        begin = 0
        for block in form.blocks:
            size, place = len(block.weighting.scale), places[id(block.weighting)][1]
            for first in range(0, size, _ROWS_ADDED):
                last = min(first + _ROWS_ADDED, size)
                W[place + first : place + last] += weight * form.W[begin + first : begin + last]
            begin += size
    b = np.sum([weight * form.b for form, weight in zip(forms, weights, strict=True)], axis=0)
    blocks = tuple(block for block, _ in places.values())
    return Form(W, b, estimator=[form.estimator for form in forms], blocks=blocks)


class Memory(NamedTuple):
    """Rows that a model remembers, as `cpp/core/serve/row_memory.hpp` takes them."""

    kind: str  # nearest, or gaussian
    number: float  # k, or gamma
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, kind: str, number: float, X: Any, A: Array) -> "Memory":
        """Of the rows of X that say anything: those with an entry in A, one row of it a row of X."""
        used = np.flatnonzero(np.abs(A).max(axis=1, initial=0.0))
        columns = X[used].tocsc()
        columns.sort_indices()
        arrays = {
            "memory_starts": columns.indptr.astype(np.int64),
            "memory_rows": columns.indices.astype(np.int32),
            "memory_values": columns.data.astype(np.float64),
            "memory_A": np.ascontiguousarray(A[used], dtype=np.float64),
        }
        return cls(kind, number, arrays)

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        return {"kind": self.kind, "number": self.number}

    def scores(self, X: Any) -> Array:
        """Scores of the rows of X, without biases."""
        return (
            StoredTexts.read(self.meta, self.arrays)
            .native()
            .scores(_arrays.rows(X.astype(np.float64)), _threads.count())
        )


class Validation(NamedTuple):
    """What all folds of a recipe are judged on."""

    X: Any
    codes: Any
    fold: NDArray[np.int32]  # of each row; -1 for none
    classes: NDArray[Any]
    n_jobs: int | None
    class_weight: Any
    blocks: NDArray[np.int64]  # where the blocks of columns begin that have length 1
    start: Start  # dual variables by fold


@dataclass(frozen=True)
class Recipe:
    """A model by name: which views it sees, how counts are weighted, how it is fitted, and the settings worth trying.

    The grid is a line along which one parameter rises, wide enough that the best is never at an end; the search begins
    at `start` and walks downhill.
    """

    name: str
    title: str
    weighting: str
    fit: Callable[..., Form]  # (X, codes, classes, n_jobs, class_weight, **setting)
    grid: tuple[dict[str, Any], ...] = ({},)
    start: int = 0
    views: tuple[str, ...] = ("words",)  # those that the texts are cut into; where none is, all that there are
    rank: int = 0  # how much the model can learn: what does no better is beaten by what is simpler
    effort: float = 1.0  # passes over the entries of X, for each column of scores
    fits: Callable[[NDArray[Any], int], bool] = field(default=lambda classes, n: True)  # (classes, rows): worth trying?
    learns: bool = False  # can it learn and forget after fit?
    gaps: bool = False  # does it know what to do about classes that the rows lack?
    one_score: bool = False  # does it have one column of scores however many classes there are?
    adds: bool = True  # are its scores a linear form that can be part of a sum?
    merged: bool = False  # does it learn the same from equal columns merged into one?
    # (Validation, **setting): scores of all rows in one call, and dual variables by fold
    held_out: Callable[..., tuple[Array, NDArray[np.float32]]] | None = None

    def __reduce__(self) -> Any:
        return named, (self.name,)

    def describe(self, setting: dict[str, Any]) -> str:
        """Title and setting, for people."""
        return ", ".join([self.title, *(f"{name} = {value:g}" for name, value in setting.items())])


@dataclass(frozen=True)
class Part:
    """A model in a sum, and its weight."""

    recipe: Recipe
    setting: dict[str, Any]
    weight: float


@dataclass(frozen=True)
class Sum:
    """A weighted sum of linear models, which is one linear model over all their features."""

    parts: tuple[Part, ...]
    name = "sum"
    rank = 9
    learns = False
    thresholds = np.empty(0)

    @property
    def title(self) -> str:
        """What is added up, for people."""
        return "sum of " + " and ".join(part.recipe.title for part in self.parts)

    def describe(self, setting: dict[str, Any]) -> str:
        """What is added up, with settings and shares."""
        return "sum of " + " and ".join(part.recipe.describe(part.setting) for part in self.parts)


def named(name: str) -> Recipe:
    """The recipe of that name."""
    found = next((recipe for recipe in RECIPES if recipe.name == name), None)
    if found is None:
        msg = f"There is no model {name!r}. Known: 'auto', {', '.join(repr(recipe.name) for recipe in RECIPES)}."
        raise ValueError(msg)
    return found


def _linear(W: Any, b: Any, estimator: Any) -> Form:
    """Form of K rows of weights; two rows become their difference, so that two classes always have one score."""
    W, b = np.atleast_2d(np.asarray(W, dtype=float)), np.atleast_1d(np.asarray(b, dtype=float))
    if len(W) == 2:
        W, b = W[1:] - W[:1], b[1:] - b[:1]
    return Form(np.ascontiguousarray(W.T), b, estimator=estimator)


def _naive_bayes(name: str) -> Callable[..., Form]:
    def fit(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
        from tallywise import naive_bayes

        model = getattr(naive_bayes, name)(**setting)
        model.fit(X, codes, sample_weight=_row_weights(class_weight, codes, classes))
        return naive_bayes_form(model)

    return fit


def naive_bayes_form(model: Any) -> Form:
    """Form of a fitted naive Bayes model."""
    W, b = model.to_linear()
    return _linear(W, b, model)


def _logistic(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    from tallywise.linear import LogisticRegression

    model = LogisticRegression(tol=_TOL, n_jobs=n_jobs, **setting)
    model.fit(X, codes, sample_weight=_row_weights(class_weight, codes, classes))
    return _linear(model.coef_, model.intercept_, model)


def _svm(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, *, C: float) -> Form:
    from tallywise.linear import LinearSVC

    tol = _tolerance(X.shape[0])
    model = LinearSVC(tol=tol, n_jobs=n_jobs, C=C)
    problem = _margins(X, codes, classes, class_weight, C)
    W, model.intercept_, *_ = _native.margin_classes(*problem, _options(n_jobs, tol, X.shape[0]))
    model.classes_ = np.arange(len(classes))
    form = _linear(W, model.intercept_, model)
    model.coef_ = form.W.T  # one array for both: the largest that a model has
    return form


def _held_out_svm(task: Validation, *, C: float) -> tuple[Array, NDArray[np.float32]]:
    problem = _margins(task.X, task.codes, task.classes, task.class_weight, C)
    options = _options(task.n_jobs, _RACE_TOL, task.X.shape[0])
    return _native.held_out_margins(*problem, task.fold, options, blocks=task.blocks, start=task.start)


def _nb_svm(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, *, C: float) -> Form:
    """A linear SVM on features scaled by log-count ratios, one ratio and one machine a class, interpolated.

    The weights of a machine are drawn towards their mean size, which alone would make it naive Bayes; ratios and
    interpolation are folded into the weights of the form.
    """
    problem = _margins(X, codes, classes, class_weight, C)
    threads = 1 if X.nnz > _MOST_COPIED else n_jobs  # each has a copy of X, scaled
    n = X.shape[0]
    return Form(*_native.ratio_margins(*problem, _OWN_SHARE, _options(threads, _tolerance(n), n)))


def _held_out_nb_svm(task: Validation, *, C: float) -> tuple[Array, NDArray[np.float32]]:
    problem = _margins(task.X, task.codes, task.classes, task.class_weight, C)
    options = _options(task.n_jobs, _RACE_TOL, task.X.shape[0])
    return _native.held_out_ratio_margins(*problem, _OWN_SHARE, task.fold, options, task.start)


def _margins(X: Any, codes: Any, classes: Any, class_weight: Any, C: float) -> tuple[Any, Any, Array, Array]:
    """Rows, codes, weights of rows and of classes as the native machines take them: one class against the rest."""
    weights = _row_weights(class_weight, codes, classes)
    s = np.full(len(codes), C) if weights is None else C * weights
    problems = 1 if len(classes) == 2 else len(classes)
    return _arrays.rows(X), np.ascontiguousarray(codes, dtype=np.int64), s, np.ones((problems, 2))


def _tolerance(n: int) -> float:
    """Relative gap of a fit on n rows that is to last."""
    return _TOL if n <= _MANY_ROWS else _RACE_TOL


def _options(n_jobs: Any, tol: float, n: int) -> _native.MarginOptions:
    """How the native machines go about n rows."""
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


def _ordinal(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    """One score cut by thresholds. A level that these rows lack gets no width: its two thresholds are one."""
    from tallywise.linear import OrdinalRegression

    model = OrdinalRegression(tol=_TOL, n_jobs=n_jobs, **setting)
    model.fit(X, codes, sample_weight=_row_weights(class_weight, codes, classes))
    cuts = np.concatenate([model.thresholds_[:1] - 50.0, model.thresholds_, model.thresholds_[-1:] + 50.0])
    below = np.searchsorted(model.classes_, np.arange(len(classes) - 1), side="right")
    return Form(np.reshape(model.coef_, (-1, 1)).astype(float), np.zeros(1), cuts[below], model)


def _nearest(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    """Votes of the nearest neighbours by cosine, each by how alike it is."""
    from tallywise.neighbors import KNeighborsClassifier

    k = min(setting["n_neighbors"], len(codes))
    model = KNeighborsClassifier(n_neighbors=k, metric="cosine", weights=_alike, algorithm="brute")
    with warnings.catch_warnings():  # whether neighbours say enough is what the comparison finds out
        warnings.simplefilter("ignore", ConcentrationWarning)
        model.fit(X, codes)
    votes = np.eye(len(classes))[codes]
    row_weights = _row_weights(class_weight, codes, classes)
    votes = votes if row_weights is None else votes * row_weights[:, None]
    A = votes[:, 1:] - votes[:, :1] if len(classes) == 2 else votes
    return _remembering(Memory.of("nearest", float(k), X, A), model)


def _alike(distances: Array) -> Array:
    return 1.0 - distances


def _gaussian(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    """A support vector machine with a Gaussian kernel; for more than two classes, one against the rest each."""
    from tallywise.kernels import SVC

    weights = _row_weights(class_weight, codes, classes)
    columns = [1] if len(classes) == 2 else range(len(classes))
    A, b, models = np.zeros((X.shape[0], len(columns))), np.full(len(columns), -1.0), []
    for column, k in enumerate(columns):
        if not np.any(codes == k):
            continue  # a class that these rows lack
        models.append(SVC(kernel="rbf", **setting).fit(X, codes == k, sample_weight=weights))
        A[models[-1].support_, column] = models[-1].dual_coef_.toarray()[0]  # sparse, as X is
        b[column] = float(models[-1].intercept_[0])
    memory = Memory.of("gaussian", setting["gamma"], X, A)
    return _remembering(memory, models[0] if len(models) == 1 else models)._replace(b=b)


def _remembering(memory: Memory, estimator: Any) -> Form:
    columns = memory.arrays["memory_A"].shape[1]
    return Form(np.empty((0, columns)), np.zeros(columns), estimator=estimator, memory=memory)


def _row_weights(class_weight: Any, codes: NDArray[Any], classes: NDArray[Any]) -> Array | None:
    if class_weight is None:
        return None
    from sklearn.utils.class_weight import compute_class_weight

    if not isinstance(class_weight, str):
        class_weight = {k: class_weight.get(label, 1.0) for k, label in enumerate(classes.tolist())}
    weights = compute_class_weight(class_weight, classes=np.arange(len(classes)), y=codes)
    return np.asarray(weights[codes], dtype=np.float64)


def _several(classes: NDArray[Any], n: int) -> bool:
    return len(classes) > 2


def _two(classes: NDArray[Any], n: int) -> bool:
    return len(classes) == 2


def _grades(classes: NDArray[Any], n: int) -> bool:
    """Grades whose order among the labels is that of the numbers ("10" stands before "2")."""
    levels = grades(classes)
    return levels is not None and bool(np.all(np.diff(levels) > 0))


def _any(classes: NDArray[Any], n: int) -> bool:
    return True


def _few_rows(classes: NDArray[Any], n: int) -> bool:
    return n <= 5_000


def _small_pair(classes: NDArray[Any], n: int) -> bool:
    return len(classes) == 2 and n <= 1_000


def _line(name: str, *values: float) -> tuple[dict[str, Any], ...]:
    return tuple({name: value} for value in values)


_TOL = 1e-2  # relative gap: what is left of it changes no verdict that the folds could tell from luck
_RACE_TOL = 5e-2  # while models are compared; on intents, 1e-2 and 0.2 give the same errors within their spread
# Where rows are many, sweeps over them are what costs, and verdicts notice the first ones only: of 200,000 texts in 20
# classes, C = 10, machines of 34, 10 and 5 sweeps are right on 77.8, 77.9 and 77.8 % of new ones.
_MANY_ROWS, _MOST_SWEEPS = 50_000, 10
_MOST_COPIED = 1 << 26  # entries that every thread may have a copy of: 512 MB
_OWN_SHARE = 0.25  # Wang & Manning's interpolation: the share of a machine's own weights

_CS = _line("C", 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
_ALPHAS = _line("alpha", 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_GRADE_L2S = _line("l2", 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_NEIGHBORS = _line("n_neighbors", 1, 2, 5, 15, 40, 100, 250)
_GAUSSIANS = tuple({"C": c, "gamma": 0.5} for c in (0.1, 1.0, 10.0, 100.0))
_BOTH = ("words", "characters")


def _bayes(name: str, title: str, weighting: str, estimator: str, fits: Callable[..., bool]) -> Recipe:
    return Recipe(name, title, weighting, _naive_bayes(estimator), _ALPHAS, 4, fits=fits, learns=True, effort=0.2)


def _machine(name: str, title: str, views: tuple[str, ...] = ("words",), rank: int = 1) -> Recipe:
    return Recipe(
        name, title, "tf-idf", _svm, _CS, 6, views=views, rank=rank, effort=3, merged=True, held_out=_held_out_svm
    )


RECIPES = [
    _bayes("multinomial_nb", "multinomial naive Bayes", "counts", "MultinomialNB", _any),
    _bayes("complement_nb", "complement naive Bayes", "counts", "ComplementNB", _several),
    _bayes("bernoulli_nb", "Bernoulli naive Bayes", "presence", "BernoulliNB", _two),
    _machine("linear_svm", "words + characters, linear SVM", views=_BOTH, rank=2),
    _machine("word_svm", "words, linear SVM"),
    Recipe(
        "logistic",
        "words + characters, logistic regression",
        "tf-idf",
        _logistic,
        _CS,
        8,
        views=_BOTH,
        rank=2,
        effort=40,
        merged=True,
    ),
    Recipe(
        "nb_svm",
        "words, linear SVM on log-count ratios",
        "presence",
        _nb_svm,
        _CS,
        4,
        rank=1,
        effort=8,
        merged=True,
        held_out=_held_out_nb_svm,
    ),
    Recipe(
        "ordinal",
        "words + characters, ordered logistic regression",
        "tf-idf",
        _ordinal,
        _GRADE_L2S,
        3,
        views=_BOTH,
        rank=2,
        effort=80,
        fits=_grades,
        gaps=True,
        one_score=True,
        adds=False,
        merged=True,
    ),
    Recipe(
        "nearest",
        "nearest neighbours, cosine",
        "tf-idf",
        _nearest,
        _NEIGHBORS,
        3,
        effort=100,
        fits=_few_rows,
        gaps=True,
        adds=False,
    ),
    Recipe(
        "gaussian_svm",
        "support vector machine, Gaussian",
        "tf-idf",
        _gaussian,
        _GAUSSIANS,
        2,
        rank=3,
        effort=400,
        fits=_small_pair,
        gaps=True,
        adds=False,
    ),
]
