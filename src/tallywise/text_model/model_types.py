"""The models that a text classifier can be made of: a list. A model type joins by an entry here.

An entry turns weighted counts and class codes into a `Form`: weights and biases whose products with a text are its
scores, or rows to store and what each of them says. That is all the rest of the package, the model file and the serve
side ever see of a model. Settings are fixed: on 22 data sets, searching for C costs half the CPU and gains nothing at
full size, and once lost 21 points.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation.metrics import ordinal_levels
from tallywise.text_model import fits
from tallywise.text_model.fits import FitData, HeldOutProblem
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelType:
    """A model by name: which views it sees, how counts are weighted, and how it is fitted."""

    name: str
    title: str
    weighting: str
    fitted: Callable[..., Form]  # (FitData, **setting)
    setting: dict[str, Any]
    views: tuple[str, ...] = ("words",)  # those that the texts are cut into; where none is, all that there are
    rank: int = 0  # how much the model can learn
    effort: float = 1.0  # passes over the entries of X, for each column of scores
    fits: Callable[[NDArray[Any], int], bool] = field(default=lambda classes, n: True)  # (classes, rows): worth trying?
    learns: bool = False  # can it learn and forget after fit?
    gaps: bool = False  # does it know what to do about classes that the rows lack?
    one_score: bool = False  # does it have one column of scores however many classes there are?
    adds: bool = True  # are its scores a linear form that can be part of a sum?
    merged: bool = False  # does it learn the same from equal columns merged into one?
    held_out: Callable[..., Array] | None = None  # (HeldOutProblem, **setting): scores of all folds in one call

    def __reduce__(self) -> Any:
        return named, (self.name,)

    def describe(self, setting: dict[str, Any] | None = None) -> str:
        """Title and setting, human-readable."""
        given = self.setting if setting is None else setting
        return ", ".join([self.title, *(f"{name} = {value:g}" for name, value in given.items())])

    def fit(self, problem: FitData, **setting: Any) -> Form:
        """Fit on rows that may lack some of the classes."""
        given = {**self.setting, **setting}
        K, present = len(problem.classes), np.unique(problem.codes)
        if problem.sets is not None or len(present) == K or (self.gaps and len(present) > 1):
            return self.fitted(problem, **given)
        if len(present) == 1:  # that class is the answer to everything
            b = np.array([2.0 * present[0] - 1.0]) if K == 2 else np.eye(K)[present[0]]
            return Form(np.zeros((problem.X.shape[1], len(b))), b)
        known = problem._replace(codes=np.searchsorted(present, problem.codes), classes=problem.classes[present])
        return self.fitted(known, **given).spread(present, K)

    def scores_held_out(self, task: HeldOutProblem) -> Array:
        """Scores of the rows in some fold, by one native call."""
        assert self.held_out is not None
        return self.held_out(task, **self.setting)


def named(name: str) -> ModelType:
    """The model type of that name."""
    found = next((model_type for model_type in MODEL_TYPES if model_type.name == name), None)
    if found is None:
        known = ", ".join(repr(model_type.name) for model_type in MODEL_TYPES)
        msg = f"There is no model {name!r}. Known: 'auto', {known}."
        raise ValueError(msg)
    return found


def _several(classes: NDArray[Any], n: int) -> bool:
    return len(classes) > 2


def _two(classes: NDArray[Any], n: int) -> bool:
    return len(classes) == 2


def _ordinal(classes: NDArray[Any], n: int) -> bool:
    """Ordinal labels whose order is that of the numbers ("10" stands before "2")."""
    levels = ordinal_levels(classes)
    return levels is not None and bool(np.all(np.diff(levels) > 0))


def _few_rows(classes: NDArray[Any], n: int) -> bool:
    return n <= 5_000


def _small_pair(classes: NDArray[Any], n: int) -> bool:
    return len(classes) == 2 and n <= 1_000


_BOTH = ("words", "characters")
_WITH_BOTH: dict[str, Any] = {"weighting": "tf-idf", "views": _BOTH, "rank": 2, "merged": True}
_BAYES: dict[str, Any] = {"setting": {"alpha": 0.1}, "learns": True, "effort": 0.2}
_SVM: dict[str, Any] = {"effort": 3, "held_out": fits.held_out_svm}

MODEL_TYPES = [
    ModelType("multinomial_nb", "multinomial naive Bayes", "counts", fits.naive_bayes("MultinomialNB"), **_BAYES),
    ModelType(
        "complement_nb", "complement naive Bayes", "counts", fits.naive_bayes("ComplementNB"), fits=_several, **_BAYES
    ),
    ModelType(
        "bernoulli_nb", "Bernoulli naive Bayes", "presence", fits.naive_bayes("BernoulliNB"), fits=_two, **_BAYES
    ),
    ModelType(
        "linear_svm",
        "linear SVM on words and characters",
        fitted=fits.svm,
        setting={"C": 1.0},
        **_SVM,
        **_WITH_BOTH,
    ),
    ModelType("word_svm", "linear SVM on words", "tf-idf", fits.svm, setting={"C": 1.0}, rank=1, merged=True, **_SVM),
    ModelType(
        "logistic",
        "logistic regression on words and characters",
        fitted=fits.logistic,
        setting={"C": 10.0},
        effort=40,
        **_WITH_BOTH,
    ),
    ModelType(
        "nb_svm",
        "linear SVM on log-count ratios of words",
        "presence",
        fits.nb_svm,
        setting={"C": 0.1},
        rank=1,
        effort=8,
        merged=True,
        held_out=fits.held_out_nb_svm,
    ),
    ModelType(
        "ordinal",
        "ordered logistic regression on words and characters",
        fitted=fits.ordinal,
        setting={"l2": 0.3},
        effort=80,
        fits=_ordinal,
        gaps=True,
        one_score=True,
        adds=False,
        **_WITH_BOTH,
    ),
    ModelType(
        "nearest",
        "nearest neighbours by cosine",
        "tf-idf",
        fits.nearest,
        setting={"n_neighbors": 15},
        effort=100,
        fits=_few_rows,
        gaps=True,
        adds=False,
    ),
    ModelType(
        "gaussian_svm",
        "support vector machine with a Gaussian kernel",
        "tf-idf",
        fits.gaussian_svm,
        setting={"C": 10.0, "gamma": 0.5},
        rank=3,
        effort=400,
        fits=_small_pair,
        gaps=True,
        adds=False,
    ),
]
# What 'auto' adds up. Mean change of accuracy in points / log loss x 100 on eight sets with 300 rows, 1,000 and all:
# the first alone -.4/+.7, -.4/+.7, -.3/+1.0; with multinomial naive Bayes as a third -.4/+2.6, -.2/+1.1, -.1/-.2; with
# an SVM on words as a third 0/-.1, 0/-.1, 0/-.1.
DEFAULT = ("linear_svm", "nb_svm")
REFERENCE = "multinomial_nb"  # what is shown beside it, and where time allows nothing else the model
