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


@pytest.mark.filterwarnings("ignore")  # the checks feed data that deserve warnings, and look at what is raised
@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="precomputed"),
        SVC(kernel="linear", probability=True),  # scores of pairs ('ovo') are not what these checks take scores to be
        SVR(),
        KernelRidge(),
        KernelRidge(kernel="rbf", solver="cg"),
        KernelLeastMeanSquares(max_iter=50),
        KernelPerceptron(max_iter=20),
        Nystroem(n_components=5),
        RandomFourierFeatures(n_components=10),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)
