"""Classical machine learning for text: fast, explainable, with certificates and intervals.

Names are loaded when first used, so that ``import tallywise`` and the ``tally`` command load only what they
need.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Where each public name lives. The block below repeats it for type checkers; a test compares the two.
_HOMES = {
    "tallywise.classifier": ["MultiLabelTextClassifier", "TextClassifier"],
    "tallywise.errors": [
        "ConcentrationWarning",
        "DivergenceError",
        "ModelFileError",
        "NoPossibleClassError",
        "NotLearnedError",
        "NotSeparableError",
        "SeparationError",
        "SeparationWarning",
        "TallywiseError",
    ],
    "tallywise.evaluation": ["compare"],
    "tallywise.kernels": [
        "KernelLeastMeanSquares",
        "KernelPerceptron",
        "KernelRidge",
        "Nystroem",
        "RandomFourierFeatures",
        "SVC",
        "SVR",
    ],
    "tallywise.linear": [
        "ElasticNet",
        "ElasticNetCV",
        "Lasso",
        "LassoCV",
        "LeastMeanSquares",
        "LinearRegression",
        "LinearSVC",
        "LinearSVR",
        "LogisticPath",
        "LogisticRegression",
        "LogisticRegressionCV",
        "MinimaxConcaveRegression",
        "OrdinalRegression",
        "Perceptron",
        "Ridge",
        "RidgeCV",
        "enet_path",
        "lasso_path",
    ],
    "tallywise.models.label_set_serving": ["MultiLabelTextModel"],
    "tallywise.naive_bayes": [
        "BernoulliNB",
        "CategoricalNB",
        "ComplementNB",
        "GaussianNB",
        "JointBayes",
        "LeaveOneOutScores",
        "LinearRule",
        "MultinomialNB",
        "PoissonNB",
    ],
    "tallywise.neighbors": [
        "Concentration",
        "KNeighborsClassifier",
        "KNeighborsClassifierCV",
        "KNeighborsRegressor",
        "KNeighborsRegressorCV",
        "NearestNeighbors",
        "distance_concentration",
        "edge_length",
    ],
    "tallywise.patching": ["patch_sklearn", "unpatch_sklearn"],
    "tallywise.models.loading": ["load"],
    "tallywise.models.text_serving": ["TextModel"],
    "tallywise.table": ["TableModel", "TableRuntime"],
    "tallywise.text": ["Binner", "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"],
    "tallywise.topics": ["Beta", "Dirichlet", "HeldOut", "LatentDirichletAllocation", "TopicChoice", "choose_topics"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from tallywise.classifier import MultiLabelTextClassifier, TextClassifier
    from tallywise.errors import (
        ConcentrationWarning,
        DivergenceError,
        ModelFileError,
        NoPossibleClassError,
        NotLearnedError,
        NotSeparableError,
        SeparationError,
        SeparationWarning,
        TallywiseError,
    )
    from tallywise.evaluation import compare
    from tallywise.kernels import (
        SVC,
        SVR,
        KernelLeastMeanSquares,
        KernelPerceptron,
        KernelRidge,
        Nystroem,
        RandomFourierFeatures,
    )
    from tallywise.linear import (
        ElasticNet,
        ElasticNetCV,
        Lasso,
        LassoCV,
        LeastMeanSquares,
        LinearRegression,
        LinearSVC,
        LinearSVR,
        LogisticPath,
        LogisticRegression,
        LogisticRegressionCV,
        MinimaxConcaveRegression,
        OrdinalRegression,
        Perceptron,
        Ridge,
        RidgeCV,
        enet_path,
        lasso_path,
    )
    from tallywise.models.label_set_serving import MultiLabelTextModel
    from tallywise.models.loading import load
    from tallywise.models.text_serving import TextModel
    from tallywise.naive_bayes import (
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianNB,
        JointBayes,
        LeaveOneOutScores,
        LinearRule,
        MultinomialNB,
        PoissonNB,
    )
    from tallywise.neighbors import (
        Concentration,
        KNeighborsClassifier,
        KNeighborsClassifierCV,
        KNeighborsRegressor,
        KNeighborsRegressorCV,
        NearestNeighbors,
        distance_concentration,
        edge_length,
    )
    from tallywise.patching import patch_sklearn, unpatch_sklearn
    from tallywise.table import TableModel, TableRuntime
    from tallywise.text import Binner, CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
    from tallywise.topics import Beta, Dirichlet, HeldOut, LatentDirichletAllocation, TopicChoice, choose_topics

__all__ = [
    "SVC",
    "SVR",
    "BernoulliNB",
    "Beta",
    "Binner",
    "CategoricalNB",
    "ComplementNB",
    "Concentration",
    "ConcentrationWarning",
    "CountVectorizer",
    "Dirichlet",
    "DivergenceError",
    "ElasticNet",
    "ElasticNetCV",
    "GaussianNB",
    "HashingVectorizer",
    "HeldOut",
    "JointBayes",
    "KNeighborsClassifier",
    "KNeighborsClassifierCV",
    "KNeighborsRegressor",
    "KNeighborsRegressorCV",
    "KernelLeastMeanSquares",
    "KernelPerceptron",
    "KernelRidge",
    "Lasso",
    "LassoCV",
    "LatentDirichletAllocation",
    "LeastMeanSquares",
    "LeaveOneOutScores",
    "LinearRegression",
    "LinearRule",
    "LinearSVC",
    "LinearSVR",
    "LogisticPath",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MinimaxConcaveRegression",
    "ModelFileError",
    "MultiLabelTextClassifier",
    "MultiLabelTextModel",
    "MultinomialNB",
    "NearestNeighbors",
    "NoPossibleClassError",
    "NotLearnedError",
    "NotSeparableError",
    "Nystroem",
    "OrdinalRegression",
    "Perceptron",
    "PoissonNB",
    "RandomFourierFeatures",
    "Ridge",
    "RidgeCV",
    "SeparationError",
    "SeparationWarning",
    "TableModel",
    "TableRuntime",
    "TallywiseError",
    "TextClassifier",
    "TextModel",
    "TfidfTransformer",
    "TfidfVectorizer",
    "TopicChoice",
    "choose_topics",
    "compare",
    "distance_concentration",
    "edge_length",
    "enet_path",
    "lasso_path",
    "load",
    "patch_sklearn",
    "unpatch_sklearn",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        msg = f"module 'tallywise' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
