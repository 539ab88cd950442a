"""Kernel values beyond floating point are refused with the reason; no answer is a NaN."""

import numpy as np
import pytest

import tallywise as tw

MACHINES = {
    "SVC": (lambda: tw.SVC(kernel="poly", gamma=1e12), "decision_function"),
    "SVR": (lambda: tw.SVR(kernel="poly", gamma=1e12), "predict"),
    "KernelRidge": (lambda: tw.KernelRidge(kernel="poly", gamma=1e12), "predict"),
    "KernelPerceptron": (lambda: tw.KernelPerceptron(kernel="poly", gamma=1e12), "decision_function"),
    "Nystroem": (lambda: tw.Nystroem(kernel="poly", gamma=1e12, n_components=5), "transform"),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.filterwarnings("ignore")  # of NumPy, for products that overflow
def test_a_sample_whose_kernel_values_overflow_is_refused(name):
    make, verb = MACHINES[name]
    draw = np.random.default_rng(0)
    X = draw.normal(size=(20, 2))
    model = make().fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(getattr(model, verb)(X)).all()
    with pytest.raises(ValueError, match="beyond floating point"):
        getattr(model, verb)(1e113 * draw.normal(size=(9, 2)))
