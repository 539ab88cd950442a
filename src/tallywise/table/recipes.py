"""The models that a table can be learned by: a list. A family joins by an entry here.

An entry fits a `Problem` and gives a `Fitted`: a design, and either weights of its features or rows to remember. That
is all the rest of the package, the model file and the serve side ever see of a model.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tallywise.classifier.recipes import Form
from tallywise.classifier.recipes import named as text_recipe
from tallywise.table.data import Problem, Rows, TableData
from tallywise.table.encoding import DateCode, Design, NumberCode
from tallywise.table.memory import Memory
from tallywise.table.pairs import choose_pairs

Array = NDArray[np.float64]


class Fitted(NamedTuple):
    """Scores z = x W + b of the features of a design, or of what is remembered."""

    design: Design
    form: Form
    memory: Memory | None = None

    def scores(self, data: TableData, rows: Rows) -> Array:
        """Scores of rows."""
        if self.memory is not None:
            return self.memory.scores(self.design.dense(data.of_rows(rows), len(rows))) + self.form.b
        z: Array = data.matrix(self.design, rows) @ self.form.W + self.form.b
        return z

    def shifted(self, offsets: Array) -> "Fitted":
        """The same with offsets added to its scores."""
        return self._replace(form=self.form.shifted(offsets))


@dataclass(frozen=True)
class Recipe:
    """A model by name: its tasks, how it is fitted, and the settings worth trying, each a line of values."""

    name: str
    title: str
    tasks: tuple[str, ...]
    fit: Callable[..., Fitted]  # (problem, **setting)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    start: dict[str, Any] = field(default_factory=dict)
    rank: int = 0  # how much the model can learn: what does no better is beaten by what is simpler
    most_rows: int = 10**9
    text: bool = True  # does it take columns of texts?
    bends: bool = False  # is it another recipe of the list where there are no numbers or dates to bend?

    def suits(self, task: str, rows: int, kinds: Collection[str]) -> bool:
        """Whether it is worth trying on so many rows of columns of these kinds."""
        possible = (self.text or "text" not in kinds) and (not self.bends or bool({"number", "date"} & {*kinds}))
        return task in self.tasks and rows <= self.most_rows and possible

    def lines(self, data: TableData) -> dict[str, tuple[Any, ...]]:
        """The settings worth trying: views of numbers only where there are some."""
        return {name: line for name, line in self.grid.items() if name != "view" or data.has_numbers}

    def describe(self, setting: dict[str, Any]) -> str:
        """Title and setting, for people."""
        shown = [f"{name} = {value if isinstance(value, str) else f'{value:g}'}" for name, value in setting.items()]
        return ", ".join([self.title, *shown])


def named(name: str) -> Recipe:
    """The recipe of that name."""
    found = next((recipe for recipe in RECIPES if recipe.name == name), None)
    if found is None:
        msg = f"There is no model {name!r}. Known: 'auto', {', '.join(repr(recipe.name) for recipe in RECIPES)}."
        raise ValueError(msg)
    return found


# --- classes ---


def _linear(problem: Problem, X: Any, name: str, **setting: Any) -> Form:
    """A linear model of the text model's list, on rows that may lack some of the classes."""
    recipe, data = text_recipe(name), problem.data
    classes, codes = data.target.classes, problem.codes
    present = np.unique(codes)
    if len(present) == 1:
        b = np.array([2.0 * present[0] - 1.0]) if len(classes) == 2 else np.eye(len(classes))[present[0]]
        return Form(np.zeros((X.shape[1], len(b))), b)
    if len(present) == len(classes) or recipe.gaps:
        return recipe.fit(X, codes, classes, data.n_jobs, data.class_weight, **setting)
    known = np.searchsorted(present, codes)
    return recipe.fit(X, known, classes[present], data.n_jobs, data.class_weight, **setting).spread(
        present, len(classes)
    )


def _by_name(name: str, view: str) -> Callable[..., Fitted]:
    def fit(problem: Problem, **setting: Any) -> Fitted:
        def make() -> Form:
            return _linear(problem, problem.features(view), name, **setting)

        return Fitted(problem.design(view), problem.kept((name, view, *setting.values()), make))

    return fit


def _pairs_logistic(problem: Problem, *, C: float, pairs: int) -> Fitted:
    """Curves, then products of the pairs of columns where their errors are not random."""
    first = _by_name("logistic", "curve")(problem, C=C).form
    z = problem.features("curve") @ first.W + first.b
    codes, K = problem.codes, len(problem.data.target.classes)
    P = expit(z) if z.shape[1] == 1 else softmax(z, axis=1)
    Y = (codes == 1)[:, None].astype(float) if z.shape[1] == 1 else np.eye(K)[codes]
    found = problem.last(("pairs", C), lambda: choose_pairs(problem, P - Y, np.maximum(P * (1 - P), 1e-6)))
    return _with_pairs(problem, found[:pairs], first, ("logistic", C), lambda X: _linear(problem, X, "logistic", C=C))


def _with_pairs(
    problem: Problem, chosen: list[tuple[str, str]], first: Form, key: tuple[Any, ...], fit: Callable[[Any], Form]
) -> Fitted:
    """Curves with pairs of columns; fitted once for all numbers of pairs that have the same ones chosen."""
    design = problem.with_pairs(problem.design("curve"), chosen)
    if not chosen:
        return Fitted(design, first)
    return Fitted(design, problem.kept((*key, *chosen), lambda: fit(problem.data.matrix(design, problem.rows))))


def _naive_bayes(view: str) -> Callable[..., Fitted]:
    """Numbers normal in each class (view squares) or in bins, categories by their counts; all independent."""

    def fit(problem: Problem, *, alpha: float) -> Fitted:
        from tallywise.naive_bayes import CategoricalNB, GaussianNB

        design, codes = problem.design(view), problem.codes
        K = len(problem.data.target.classes)
        W, b = np.zeros((design.width, K)), np.log(np.bincount(codes, minlength=K) + 0.5)
        slots = design.slots(problem.values, len(problem.rows))
        for (_, code), part, offset in zip(design.parts, slots, design.offsets, strict=False):
            counted = np.arange(part.columns.shape[1])
            number = code if isinstance(code, NumberCode) else code.day if isinstance(code, DateCode) else None
            if number is not None and view == "squares":
                model = GaussianNB().fit(part.values[:, :1], codes)
                mean, variance = np.zeros(K), np.ones(K)
                mean[model.classes_], variance[model.classes_] = model.theta_[:, 0], np.maximum(model.var_[:, 0], 1e-3)
                W[offset], W[offset + 1] = mean / variance, -0.5 / variance
                base = -0.5 * mean**2 / variance - 0.5 * np.log(variance)
                b += base
                W[offset + number.width - 1] = -base  # a number that is absent says nothing
                counted = counted[3:]
            for s in counted:
                low = int(part.columns[:, s].min())
                model = CategoricalNB(alpha=alpha).fit(part.columns[:, [s]] - low, codes)
                found = model.feature_log_prob_[0]
                block = W[low : low + found.shape[1]]
                block[:, model.classes_] += found.T
                absent = np.setdiff1d(np.arange(K), model.classes_)
                block[:, absent] += found.mean(axis=0)[:, None]
        if K == 2:
            W, b = W[:, 1:] - W[:, :1], b[1:] - b[:1]
        return Fitted(design, Form(np.ascontiguousarray(W), b))

    return fit


def _nearest_classes(problem: Problem, *, n_neighbors: int, view: str) -> Fitted:
    design = problem.design(view)
    K = len(problem.data.target.classes)
    memory = Memory("nearest", float(n_neighbors), _dense(problem, design), np.eye(K)[problem.codes], votes=True)
    return Fitted(design, Form(np.empty((0, memory.columns)), np.zeros(memory.columns)), memory)


def _gaussian_svm(problem: Problem, *, C: float, gamma: float, view: str) -> Fitted:
    """A support vector machine with a Gaussian kernel; for more than two classes, one against the rest each."""
    from tallywise.kernels import SVC

    design = problem.design(view)
    X, codes, K = _dense(problem, design), problem.codes, len(problem.data.target.classes)
    g = gamma / _spread(X)
    columns = [1] if K == 2 else range(K)
    A, b = np.zeros((len(X), len(columns))), np.full(len(columns), -1.0)
    for column, k in enumerate(columns):
        inside = codes == k
        if inside.all() or not inside.any():  # a class that these rows lack
            b[column] = 1.0 if inside.all() else -1.0
            continue
        model = SVC(kernel="rbf", C=C, gamma=g, tol=_LOOSE).fit(X, inside)
        A[model.support_, column] = model.dual_coef_[0]
        b[column] = float(model.intercept_[0])
    return _remembered(design, X, A, b, g)


def _remembered(design: Design, X: Array, A: Array, b: Array, gamma: float) -> Fitted:
    used = np.flatnonzero(np.abs(A).max(axis=1))
    memory = Memory("gaussian", gamma, X[used], A[used])
    return Fitted(design, Form(np.empty((0, A.shape[1])), b), memory)


def _landmarks(problem: Problem, gamma: float, view: str) -> tuple[Design, Any, Array]:
    """A Gaussian kernel to some rows drawn at random, and the features that it gives: its work is linear in rows.

    About sqrt(n) log n of n rows do as well as all of them (Rudi, Camoriano & Rosasco 2015, Less is more, NeurIPS).
    """
    from tallywise.kernels import Nystroem

    def make() -> tuple[Design, Any, Array]:
        design = problem.design(view)
        X = _dense(problem, design)
        most = min(_LANDMARKS, math.ceil(math.sqrt(len(X)) * math.log(len(X) + 1)), len(X))
        kernel = Nystroem(gamma=gamma / _spread(X), n_components=most, random_state=0).fit(X)
        return design, kernel, kernel.transform(X)

    found: tuple[Design, Any, Array] = problem.last(("landmarks", gamma, view), make)
    return found


def _of_landmarks(design: Design, kernel: Any, W: Array, b: Array) -> Fitted:
    """The same as a sum over landmarks."""
    A = kernel.normalization_.T @ W
    memory = Memory("gaussian", kernel.gamma, kernel.components_, A)
    return Fitted(design, Form(np.empty((0, A.shape[1])), b), memory)


def _gaussian_logistic(problem: Problem, *, C: float, gamma: float, view: str) -> Fitted:
    design, kernel, features = _landmarks(problem, gamma, view)
    form = _linear(problem, features, "logistic", C=C)
    return _of_landmarks(design, kernel, form.W, form.b)


def _gaussian_ridge(problem: Problem, *, alpha: float, gamma: float, view: str) -> Fitted:
    design, kernel, features = _landmarks(problem, gamma, view)
    form = _regress(problem, features, _ridge, alpha=alpha)
    return _of_landmarks(design, kernel, form.W, form.b)


def _dense(problem: Problem, design: Design) -> Array:
    return design.dense(problem.values, len(problem.rows))


def _spread(X: Array) -> float:
    """Sum of the variances of the columns: half the mean squared distance of two rows."""
    return float(X.var(axis=0).sum()) or 1.0


# --- numbers ---


def _regression(view: str, make: Callable[..., Any]) -> Callable[..., Fitted]:
    def fit(problem: Problem, **setting: Any) -> Fitted:
        return Fitted(problem.design(view), _regress(problem, problem.features(view), make, **setting))

    return fit


def _regress(problem: Problem, X: Any, make: Callable[..., Any], **setting: Any) -> Form:
    """A linear model of the standardised target, in the units of the target."""
    mean, scale = _units(problem.y)
    model = make(problem.data, len(problem.y), **setting).fit(X, (problem.y - mean) / scale)
    w = np.asarray(model.coef_, dtype=float).reshape(-1, 1)
    return Form(np.ascontiguousarray(scale * w), mean + scale * np.reshape(np.asarray(model.intercept_, float), 1))


def _units(y: Array) -> tuple[float, float]:
    return float(y.mean()), float(y.std()) or 1.0


def _ridge(data: TableData, n: int, *, alpha: float) -> Any:
    from tallywise.linear import Ridge

    return Ridge(alpha=alpha, tol=1e-4)


def _lasso(data: TableData, n: int, *, alpha: float) -> Any:
    from tallywise.linear import Lasso

    return Lasso(alpha=alpha, tol=1e-3, max_iter=10_000)


def _elastic_net(data: TableData, n: int, *, alpha: float) -> Any:
    from tallywise.linear import ElasticNet

    return ElasticNet(alpha=alpha, l1_ratio=0.5, tol=1e-3, max_iter=10_000)


def _svr(data: TableData, n: int, *, C: float) -> Any:
    from tallywise.linear import LinearSVR

    return LinearSVR(C=C, epsilon=0.0, tol=_LOOSE, max_iter=10_000, n_jobs=data.n_jobs)


def _huber(data: TableData, n: int, *, C: float) -> Any:
    from tallywise.linear import LinearSVR

    return LinearSVR(C=C, loss="huber", epsilon=HUBER / 2, tol=_LOOSE, max_iter=10_000, n_jobs=data.n_jobs)


def _pairs_ridge(problem: Problem, *, alpha: float, pairs: int) -> Fitted:
    first = _regress(problem, problem.features("curve"), _ridge, alpha=alpha)
    rest = (problem.features("curve") @ first.W + first.b)[:, 0] - problem.y
    size = float(rest.std()) or 1.0
    H = np.ones((len(rest), 1))
    found = problem.last(("pairs", alpha), lambda: choose_pairs(problem, rest[:, None] / size, H))
    return _with_pairs(
        problem, found[:pairs], first, ("ridge", alpha), lambda X: _regress(problem, X, _ridge, alpha=alpha)
    )


def _nearest_numbers(problem: Problem, *, n_neighbors: int, view: str) -> Fitted:
    design = problem.design(view)
    memory = Memory("nearest", float(n_neighbors), _dense(problem, design), problem.y[:, None])
    return Fitted(design, Form(np.empty((0, 1)), np.zeros(1)), memory)


def _kernel_regression(problem: Problem, gamma: float, view: str, make: Callable[[float], Any]) -> Fitted:
    design = problem.design(view)
    X, (mean, scale) = _dense(problem, design), _units(problem.y)
    g = gamma / _spread(X)
    model = make(g).fit(X, (problem.y - mean) / scale)
    A, b = np.zeros((len(X), 1)), 0.0
    if hasattr(model, "support_"):
        A[model.support_, 0], b = np.ravel(model.dual_coef_), float(np.ravel(model.intercept_)[0])
    else:
        A[:, 0] = model.dual_coef_
    return _remembered(design, X, scale * A, np.array([mean + scale * b]), g)


def _gaussian_svr(problem: Problem, *, C: float, gamma: float, view: str) -> Fitted:
    from tallywise.kernels import SVR

    return _kernel_regression(problem, gamma, view, lambda g: SVR(C=C, gamma=g, epsilon=0.1, tol=_LOOSE))


def _kernel_ridge(problem: Problem, *, alpha: float, gamma: float, view: str) -> Fitted:
    from tallywise.kernels import KernelRidge

    return _kernel_regression(problem, gamma, view, lambda g: KernelRidge(alpha=alpha, kernel="rbf", gamma=g))


HUBER = 1.345  # standard deviations at which the loss turns linear: 95 % efficient for normal errors
_LANDMARKS = 300
_LOOSE = 1e-2  # relative gap, as for texts: what is left of it is less than the folds could tell from luck
_CLASSES, _GRADES, _NUMBERS = ("classes", "grades"), ("grades",), ("numbers",)
_CS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_KERNEL_CS = (*_CS[4:], 3e3, 1e4, 3e4, 1e5)  # features of landmarks have unequal sizes: little penalty, and less
_KERNEL_ALPHAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, *_ALPHAS[:7])
_SMALL = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
_NEAR = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120)
_GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_PAIRS = (4, 8, 16, 32)
_VIEWS = ("plain", "ranks")
_COST = {"C": _CS}
_PENALTY = {"alpha": _ALPHAS}
_LOCAL = {"n_neighbors": _NEAR, "view": _VIEWS}
_KERNEL = {"C": _CS, "gamma": _GAMMAS, "view": _VIEWS}
_KERNEL_START = {"C": 3.0, "gamma": 0.3, "view": "ranks"}

RECIPES = [
    Recipe(
        "gaussian_nb",
        "naive Bayes, normal numbers",
        _CLASSES,
        _naive_bayes("squares"),
        {"alpha": (0.1, 1.0, 10.0)},
        {"alpha": 1.0},
        text=False,
        bends=True,
    ),
    Recipe(
        "binned_nb",
        "naive Bayes, numbers in bins",
        _CLASSES,
        _naive_bayes("bins"),
        {"alpha": (0.1, 1.0, 10.0)},
        {"alpha": 1.0},
        text=False,
    ),
    Recipe("logistic", "logistic regression", _CLASSES, _by_name("logistic", "plain"), _COST, {"C": 1.0}, 1),
    Recipe("linear_svm", "linear SVM", _CLASSES, _by_name("linear_svm", "plain"), _COST, {"C": 0.1}, 1),
    Recipe(
        "ordinal",
        "ordered logistic regression",
        _GRADES,
        _by_name("ordinal", "plain"),
        {"l2": _SMALL},
        {"l2": 0.001},
        1,
    ),
    Recipe(
        "curves",
        "curves, logistic regression",
        _CLASSES,
        _by_name("logistic", "curve"),
        _COST,
        {"C": 1.0},
        2,
        bends=True,
    ),
    Recipe(
        "curve_svm", "curves, linear SVM", _CLASSES, _by_name("linear_svm", "curve"), _COST, {"C": 0.1}, 2, bends=True
    ),
    Recipe(
        "ordinal_curves",
        "curves, ordered logistic regression",
        _GRADES,
        _by_name("ordinal", "curve"),
        {"l2": _SMALL},
        {"l2": 0.001},
        2,
        bends=True,
    ),
    Recipe(
        "pairs",
        "curves and pairs of columns, logistic regression",
        _CLASSES,
        _pairs_logistic,
        {"C": _CS, "pairs": _PAIRS},
        {"C": 1.0, "pairs": 16},
        3,
    ),
    Recipe(
        "nearest",
        "nearest neighbours",
        _CLASSES,
        _nearest_classes,
        _LOCAL,
        {"n_neighbors": 12, "view": "ranks"},
        2,
        most_rows=30_000,
        text=False,
    ),
    Recipe(
        "gaussian_svm",
        "support vector machine, Gaussian",
        _CLASSES,
        _gaussian_svm,
        _KERNEL,
        _KERNEL_START,
        4,
        most_rows=5_000,
        text=False,
    ),
    Recipe(
        "gaussian_logistic",
        "logistic regression, Gaussian kernel to landmarks",
        _CLASSES,
        _gaussian_logistic,
        {**_KERNEL, "C": _KERNEL_CS},
        {"C": 100.0, "gamma": 0.1, "view": "ranks"},
        4,
        text=False,
    ),
    Recipe("ridge", "ridge", _NUMBERS, _regression("plain", _ridge), _PENALTY, {"alpha": 1.0}, 1),
    Recipe("lasso", "lasso", _NUMBERS, _regression("plain", _lasso), {"alpha": _SMALL}, {"alpha": 0.001}, 1),
    Recipe(
        "elastic_net",
        "elastic net",
        _NUMBERS,
        _regression("plain", _elastic_net),
        {"alpha": _SMALL},
        {"alpha": 0.001},
        1,
    ),
    Recipe("linear_svr", "linear SVR", _NUMBERS, _regression("plain", _svr), _COST, {"C": 0.1}, 1),
    Recipe("huber", "linear, Huber's loss", _NUMBERS, _regression("plain", _huber), _COST, {"C": 0.1}, 1),
    Recipe("bins", "bins, ridge", _NUMBERS, _regression("bins", _ridge), _PENALTY, {"alpha": 1.0}, 2, bends=True),
    Recipe(
        "curves_ridge", "curves, ridge", _NUMBERS, _regression("curve", _ridge), _PENALTY, {"alpha": 1.0}, 2, bends=True
    ),
    Recipe("curve_svr", "curves, linear SVR", _NUMBERS, _regression("curve", _svr), _COST, {"C": 0.1}, 2, bends=True),
    Recipe(
        "pairs_ridge",
        "curves and pairs of columns, ridge",
        _NUMBERS,
        _pairs_ridge,
        {"alpha": _ALPHAS, "pairs": _PAIRS},
        {"alpha": 3.0, "pairs": 16},
        3,
    ),
    Recipe(
        "nearest_mean",
        "nearest neighbours",
        _NUMBERS,
        _nearest_numbers,
        _LOCAL,
        {"n_neighbors": 12, "view": "ranks"},
        2,
        most_rows=30_000,
        text=False,
    ),
    Recipe(
        "gaussian_svr",
        "support vector regression, Gaussian",
        _NUMBERS,
        _gaussian_svr,
        _KERNEL,
        _KERNEL_START,
        4,
        most_rows=5_000,
        text=False,
    ),
    Recipe(
        "gaussian_ridge",
        "ridge, Gaussian kernel to landmarks",
        _NUMBERS,
        _gaussian_ridge,
        {"alpha": _KERNEL_ALPHAS, "gamma": _GAMMAS, "view": _VIEWS},
        {"alpha": 0.1, "gamma": 0.1, "view": "ranks"},
        4,
        text=False,
    ),
    Recipe(
        "kernel_ridge",
        "kernel ridge, Gaussian",
        _NUMBERS,
        _kernel_ridge,
        {"alpha": _KERNEL_ALPHAS, "gamma": _GAMMAS, "view": _VIEWS},
        {"alpha": 0.3, "gamma": 0.3, "view": "ranks"},
        4,
        most_rows=1_000,
        text=False,
    ),
]
