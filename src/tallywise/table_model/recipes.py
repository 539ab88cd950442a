"""The models that a table can be learned by: a list. A family joins by an entry here.

An entry fits a `Problem` and gives a `Fitted`: a design, and either weights of its features or rows to remember. That
is all the rest of the package, the model file and the serve side ever see of a model.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from tallywise.table_model import class_fits, number_fits, stored_row_fits
from tallywise.table_model.fitted import Fitted
from tallywise.table_model.training_columns import TableData


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
    like: str = ""  # what those have in common of which one says how the others do
    bends: bool = False  # is it another recipe of the list where there are no numbers or dates to bend?

    def __reduce__(self) -> Any:
        """A recipe is pickled by its name: what fits it may be a function made in a function."""
        return named, (self.name,)

    def suits(self, task: str, rows: int, kinds: Collection[str], classes: int = 0) -> bool:
        """Whether it is worth trying on so many rows of columns of these kinds, for so many classes."""
        if self.name == "gaussian_logistic" and classes == 2 and rows <= _MACHINE_ROWS:
            return False  # landmarks stand for a machine that would be too large; this one is not
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


_CLASSES, _GRADES, _NUMBERS = ("classes", "grades"), ("grades",), ("numbers",)
_CS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_KERNEL_CS = (*_CS[4:], 3e3, 1e4, 3e4, 1e5)  # features of landmarks have unequal sizes: little penalty, and less
_KERNEL_ALPHAS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, *_ALPHAS[:7])
_SMALL = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
_NEAR = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, stored_row_fits.MOST_NEAR)
_GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_PAIRS = (4, 8, 16, 32)
_MACHINE_ROWS = 5_000  # that a Gaussian machine is fitted on
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
        class_fits.naive_bayes("squares"),
        {"alpha": (0.1, 1.0, 10.0)},
        {"alpha": 1.0},
        text=False,
        bends=True,
    ),
    Recipe(
        "binned_nb",
        "naive Bayes, numbers in bins",
        _CLASSES,
        class_fits.naive_bayes("bins"),
        {"alpha": (0.1, 1.0, 10.0)},
        {"alpha": 1.0},
        text=False,
    ),
    Recipe(
        "joint_bayes",
        "Bayes by counts of equal rows",
        _CLASSES,
        stored_row_fits.joint_bayes,
        {"alpha": (0.3, 1.0, 3.0)},
        {"alpha": 1.0},
        2,
        most_rows=30_000,
        text=False,
    ),
    Recipe(
        "logistic",
        "logistic regression",
        _CLASSES,
        class_fits.by_name("logistic", "plain"),
        _COST,
        {"C": 1.0},
        1,
        like="linear",
    ),
    Recipe(
        "linear_svm",
        "linear SVM",
        _CLASSES,
        class_fits.by_name("linear_svm", "plain"),
        _COST,
        {"C": 0.1},
        1,
        like="linear",
    ),
    Recipe(
        "ordinal",
        "ordered logistic regression",
        _GRADES,
        class_fits.by_name("ordinal", "plain"),
        {"l2": _SMALL},
        {"l2": 0.001},
        1,
        like="ordinal",
    ),
    Recipe(
        "curves",
        "curves, logistic regression",
        _CLASSES,
        class_fits.by_name("logistic", "curve"),
        _COST,
        {"C": 1.0},
        2,
        bends=True,
        like="curves",
    ),
    Recipe(
        "curve_svm",
        "curves, linear SVM",
        _CLASSES,
        class_fits.by_name("linear_svm", "curve"),
        _COST,
        {"C": 0.1},
        2,
        bends=True,
        like="curves",
    ),
    Recipe(
        "ordinal_curves",
        "curves, ordered logistic regression",
        _GRADES,
        class_fits.by_name("ordinal", "curve"),
        {"l2": _SMALL},
        {"l2": 0.001},
        2,
        bends=True,
        like="ordinal",
    ),
    Recipe(
        "pairs",
        "curves and pairs of columns, logistic regression",
        _CLASSES,
        class_fits.pairs_logistic,
        {"C": _CS, "pairs": _PAIRS},
        {"C": 1.0, "pairs": 16},
        3,
    ),
    Recipe(
        "nearest",
        "nearest neighbours",
        _CLASSES,
        stored_row_fits.nearest_classes,
        _LOCAL,
        {"n_neighbors": 12, "view": "ranks"},
        4,
        most_rows=30_000,
        text=False,
    ),
    Recipe(
        "gaussian_svm",
        "support vector machine, Gaussian",
        _CLASSES,
        stored_row_fits.gaussian_svm,
        _KERNEL,
        _KERNEL_START,
        4,
        most_rows=_MACHINE_ROWS,
        text=False,
        like="gaussian",
    ),
    Recipe(
        "gaussian_logistic",
        "logistic regression, Gaussian kernel to landmarks",
        _CLASSES,
        stored_row_fits.gaussian_logistic,
        {**_KERNEL, "C": _KERNEL_CS},
        {"C": 100.0, "gamma": 0.1, "view": "ranks"},
        4,
        text=False,
        like="gaussian",
    ),
    Recipe(
        "bayes_numbers",
        "naive Bayes, numbers and target in bins",
        _NUMBERS,
        stored_row_fits.bayes_numbers,
        {"share": (0.05, 0.1, 0.2, 0.5, 1.0)},
        {"share": 0.2},
        text=False,
    ),
    Recipe(
        "ridge",
        "ridge",
        _NUMBERS,
        number_fits.regression("plain", number_fits.ridge),
        _PENALTY,
        {"alpha": 1.0},
        1,
        like="squares",
    ),
    Recipe(
        "lasso",
        "lasso",
        _NUMBERS,
        number_fits.regression("plain", number_fits.lasso),
        {"alpha": _SMALL},
        {"alpha": 0.001},
        1,
        like="squares",
    ),
    Recipe(
        "elastic_net",
        "elastic net",
        _NUMBERS,
        number_fits.regression("plain", number_fits.elastic_net),
        {"alpha": _SMALL},
        {"alpha": 0.001},
        1,
        like="squares",
    ),
    Recipe(
        "linear_svr",
        "linear SVR",
        _NUMBERS,
        number_fits.regression("plain", number_fits.svr),
        _COST,
        {"C": 0.1},
        1,
        like="sizes",
    ),
    Recipe(
        "huber",
        "linear, Huber's loss",
        _NUMBERS,
        number_fits.regression("plain", number_fits.huber),
        _COST,
        {"C": 0.1},
        1,
        like="sizes",
    ),
    Recipe(
        "bins",
        "bins, ridge",
        _NUMBERS,
        number_fits.regression("bins", number_fits.ridge),
        _PENALTY,
        {"alpha": 1.0},
        2,
        bends=True,
        like="curves",
    ),
    Recipe(
        "curves_ridge",
        "curves, ridge",
        _NUMBERS,
        number_fits.regression("curve", number_fits.ridge),
        _PENALTY,
        {"alpha": 1.0},
        2,
        bends=True,
        like="curves",
    ),
    Recipe(
        "curve_svr",
        "curves, linear SVR",
        _NUMBERS,
        number_fits.regression("curve", number_fits.svr),
        _COST,
        {"C": 0.1},
        2,
        bends=True,
        like="curves",
    ),
    Recipe(
        "pairs_ridge",
        "curves and pairs of columns, ridge",
        _NUMBERS,
        number_fits.pairs_ridge,
        {"alpha": _ALPHAS, "pairs": _PAIRS},
        {"alpha": 3.0, "pairs": 16},
        3,
    ),
    Recipe(
        "nearest_mean",
        "nearest neighbours",
        _NUMBERS,
        stored_row_fits.nearest_numbers,
        _LOCAL,
        {"n_neighbors": 12, "view": "ranks"},
        4,
        most_rows=30_000,
        text=False,
    ),
    Recipe(
        "gaussian_svr",
        "support vector regression, Gaussian",
        _NUMBERS,
        stored_row_fits.gaussian_svr,
        _KERNEL,
        _KERNEL_START,
        4,
        most_rows=_MACHINE_ROWS,
        text=False,
        like="gaussian",
    ),
    Recipe(
        "gaussian_ridge",
        "ridge, Gaussian kernel to landmarks",
        _NUMBERS,
        stored_row_fits.gaussian_ridge,
        {"alpha": _KERNEL_ALPHAS, "gamma": _GAMMAS, "view": _VIEWS},
        {"alpha": 0.1, "gamma": 0.1, "view": "ranks"},
        4,
        text=False,
        like="gaussian",
    ),
    Recipe(
        "kernel_ridge",
        "kernel ridge, Gaussian",
        _NUMBERS,
        stored_row_fits.kernel_ridge,
        {"alpha": _KERNEL_ALPHAS, "gamma": _GAMMAS, "view": _VIEWS},
        {"alpha": 0.3, "gamma": 0.3, "view": "ranks"},
        4,
        most_rows=1_000,
        text=False,
        like="gaussian",
    ),
]
