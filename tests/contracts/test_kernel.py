"""scikit-learn's laws over the estimators of the kernel family."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallywise.kernels import (
    SVC,
    SVR,
    KernelLeastMeanSquares,
    KernelPerceptron,
    KernelRidge,
    Nystroem,
    RandomFourierFeatures,
)

WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
REASON = "gamma='scale' is made of the rows, whatever their weights, as in scikit-learn"


def where_scikit_learn_differs(estimator):
    """Weights are repeats at a fixed gamma (below); the default follows scikit-learn, which lists the same checks."""
    return dict.fromkeys(WEIGHTS, REASON) if repr(estimator) in ("SVC()", "SVR()") else {}


@pytest.mark.filterwarnings("ignore")  # the checks feed data that deserve warnings, and look at what is raised
@parametrize_with_checks(
    [
        SVC(),
        SVC(gamma=0.1),
        SVC(kernel="precomputed"),
        SVC(kernel="linear", probability=True),  # scores of pairs ('ovo') are not what these checks take scores to be
        SVR(),
        SVR(gamma=0.1),
        KernelRidge(),
        KernelRidge(kernel="rbf", solver="cg"),
        KernelLeastMeanSquares(max_iter=50),
        KernelPerceptron(max_iter=20),
        Nystroem(n_components=5),
        RandomFourierFeatures(n_components=10),
    ],
    expected_failed_checks=where_scikit_learn_differs,
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)
