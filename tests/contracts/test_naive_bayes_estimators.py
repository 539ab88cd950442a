"""scikit-learn's own checks over every naive Bayes estimator, with no expected failure."""

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.contracts.event_models import PUBLIC, VARIANTS

ESTIMATORS = [model() for model in PUBLIC if issubclass(model, BaseEstimator)]


@parametrize_with_checks([*ESTIMATORS, *VARIANTS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
