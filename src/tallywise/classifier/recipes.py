"""The models that a text classifier can be made of: a list. A family joins by an entry here.

An entry turns weighted counts and class codes into a `Form`: weights and biases whose products with a text are its
scores, or rows to remember and what each of them says. That is all the rest of the package, the model file and the
serve side ever see of a model.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _threads
from tallywise.classifier.weighting import log_count_ratio
from tallywise.runtime import memory_of

Array = NDArray[np.float64]


class Form(NamedTuple):
    """Scores z = x W + b: one column for two classes (or ordered ones), else one a class.

    A model that remembers rows has them in `memory`, and no W.
    """

    W: Array  # shape (p, columns)
    b: Array
    thresholds: Array = np.empty(0)
    estimator: Any = None
    memory: "Memory | None" = None

    def scores(self, X: Any) -> Array:
        """Scores of the rows of X."""
        z: Array = (X @ self.W if self.memory is None else self.memory.scores(X)) + self.b
        return z

    def spread(self, present: NDArray[Any], K: int) -> "Form":
        """Form of K classes from one of those present: an absent class scores what the others do on average."""
        share = np.full((len(present), K), 1 / len(present))
        share[:, present] = np.eye(len(present))
        if self.W.shape[1] == 1:
            share = np.diff(share, axis=0) / 2
        return self._replace(W=self.W @ share, b=self.b @ share)


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
        return memory_of(self.meta, self.arrays).scores(_arrays.rows(X.astype(np.float64)), _threads.count())


@dataclass(frozen=True)
class Recipe:
    """A model by name: how counts are weighted, how it is fitted, and the settings worth trying."""

    name: str
    title: str
    weighting: str
    fit: Callable[..., Form]  # (X, codes, classes, n_jobs, class_weight, **setting)
    grid: tuple[dict[str, Any], ...] = ({},)
    fits: Callable[[NDArray[Any], int], bool] = field(default=lambda classes, n: True)  # (classes, rows): worth trying?
    learns: bool = False  # can it learn and forget after fit?
    gaps: bool = False  # does it know what to do about classes that the rows lack?

    def __reduce__(self) -> Any:
        return named, (self.name,)

    def describe(self, setting: dict[str, Any]) -> str:
        """Title and setting, for people."""
        return ", ".join([self.title, *(f"{name} = {value:g}" for name, value in setting.items())])


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

    model = LogisticRegression(tol=1e-3, **setting)
    model.fit(X, codes, sample_weight=_row_weights(class_weight, codes, classes))
    return _linear(model.coef_, model.intercept_, model)


def _svm(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    from tallywise.linear import LinearSVC

    model = LinearSVC(tol=1e-3, n_jobs=n_jobs, **setting)
    model.fit(X, codes, sample_weight=_row_weights(class_weight, codes, classes))
    return _linear(model.coef_, model.intercept_, model)


def _nb_svm(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    """A linear SVM on presence scaled by log-count ratios; the ratios are folded into its weights."""
    r = log_count_ratio(X, codes == 1)
    scaled = X.copy()
    scaled.data = scaled.data * r[X.indices]
    form = _svm(scaled, codes, classes, n_jobs, class_weight, **setting)
    return form._replace(W=form.W * r[:, None])


def _ordinal(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    """One score cut by thresholds. A level that these rows lack gets no width: its two thresholds are one."""
    from tallywise.linear import OrdinalRegression

    model = OrdinalRegression(tol=1e-3, n_jobs=n_jobs, **setting)
    model.fit(X, codes, sample_weight=_row_weights(class_weight, codes, classes))
    cuts = np.concatenate([model.thresholds_[:1] - 50.0, model.thresholds_, model.thresholds_[-1:] + 50.0])
    below = np.searchsorted(model.classes_, np.arange(len(classes) - 1), side="right")
    return Form(np.reshape(model.coef_, (-1, 1)).astype(float), np.zeros(1), cuts[below], model)


def _nearest(X: Any, codes: Any, classes: Any, n_jobs: Any, class_weight: Any, **setting: Any) -> Form:
    """Votes of the nearest neighbours by cosine, each by how alike it is."""
    from tallywise.neighbors import KNeighborsClassifier

    k = min(setting["n_neighbors"], len(codes))
    model = KNeighborsClassifier(n_neighbors=k, metric="cosine", weights=_alike, algorithm="brute").fit(X, codes)
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


def ordered(classes: NDArray[Any]) -> bool:
    """Whether labels look like grades on one scale: three to ten whole numbers in a row."""
    listed = classes.tolist()
    try:
        numbers = [int(label) for label in listed if float(label) == int(float(label))]
    except (TypeError, ValueError):
        return False
    return 3 <= len(listed) <= 10 and sorted(numbers) == list(range(min(numbers), min(numbers) + len(listed)))


def _several(classes: NDArray[Any], n: int) -> bool:
    return len(classes) > 2


def _two(classes: NDArray[Any], n: int) -> bool:
    return len(classes) == 2


def _grades(classes: NDArray[Any], n: int) -> bool:
    """Grades whose order among the labels is that of the numbers ("10" stands before "2")."""
    return ordered(classes) and bool(np.all(np.diff(classes.astype(float)) > 0))


def _any(classes: NDArray[Any], n: int) -> bool:
    return True


def _few_rows(classes: NDArray[Any], n: int) -> bool:
    return n <= 20_000


def _small_pair(classes: NDArray[Any], n: int) -> bool:
    return len(classes) == 2 and n <= 5_000


_SVM_CS = ({"C": 1.0}, {"C": 0.1}, {"C": 10.0})
_RATIO_CS = ({"C": 0.1}, {"C": 0.01}, {"C": 1.0})
_GRADE_L2S = ({"l2": 0.3}, {"l2": 1.0}, {"l2": 0.1})
_ALPHAS = ({"alpha": 0.1}, {"alpha": 0.01}, {"alpha": 1.0})

_NEIGHBORS = ({"n_neighbors": 15}, {"n_neighbors": 5}, {"n_neighbors": 40})
_GAUSSIANS = ({"C": 10.0, "gamma": 0.5},)

# name, title, weighting, fit, settings, which tasks it fits, whether it learns on line
RECIPES = [
    Recipe("multinomial_nb", "multinomial naive Bayes", "counts", _naive_bayes("MultinomialNB"), _ALPHAS, _any, True),
    Recipe("complement_nb", "complement naive Bayes", "counts", _naive_bayes("ComplementNB"), _ALPHAS, _several, True),
    Recipe("bernoulli_nb", "Bernoulli naive Bayes", "presence", _naive_bayes("BernoulliNB"), _ALPHAS, _two, True),
    Recipe("logistic", "logistic regression, L2", "tf-idf", _logistic, ({"C": 10.0}, {"C": 1.0})),
    Recipe("linear_svm", "linear SVM", "tf-idf", _svm, _SVM_CS),
    Recipe("nb_svm", "linear SVM on log-count ratios", "presence", _nb_svm, _RATIO_CS, _two),
    Recipe("ordinal", "ordered logistic regression", "tf-idf", _ordinal, _GRADE_L2S, _grades, gaps=True),
    Recipe("nearest", "nearest neighbours, cosine", "tf-idf", _nearest, _NEIGHBORS, _few_rows, gaps=True),
    Recipe("gaussian_svm", "support vector machine, Gaussian", "tf-idf", _gaussian, _GAUSSIANS, _small_pair, gaps=True),
]
