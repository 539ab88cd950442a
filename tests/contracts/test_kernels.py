"""Laws that every kernel of the registry keeps, a newcomer included."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

from tallywise import _native, kernels

X = np.random.default_rng(0).normal(size=(23, 5))


def _public():
    """Every public kernel of vectors that needs no argument, with its parameters filled in from the data."""
    for name in kernels.__all__:
        maker = getattr(kernels, name)
        if not (inspect.isclass(maker) and issubclass(maker, kernels.Kernel) and maker is not kernels.Kernel):
            continue
        needs = [p for p in inspect.signature(maker).parameters.values() if p.default is p.empty]
        if not needs and name not in ("Precomputed", "Spectrum"):
            yield maker().resolve(X)


PUBLIC = list(_public())
each = pytest.mark.parametrize("kernel", PUBLIC, ids=repr)


def test_every_registered_kernel_has_a_public_class():
    steps = {step[0] for kernel in PUBLIC for step in kernel.steps() or []}
    assert set(_native.kernel_names()) == steps


@each
def test_a_kernel_is_symmetric_and_knows_its_own_diagonal(kernel):
    K = kernel(X)
    scale = np.abs(K).max()
    assert np.allclose(K, K.T, atol=1e-12 * scale)
    assert np.allclose([kernel(X[i : i + 1])[0, 0] for i in range(len(X))], np.diag(K), atol=1e-12 * scale)


@each
def test_layout_and_precision_do_not_change_a_kernel(kernel):
    K = kernel(X)
    scale = np.abs(K).max()
    assert np.allclose(kernel(sp.csr_array(X)), K, atol=1e-12 * scale)
    assert np.allclose(kernel(np.asfortranarray(X)), K, atol=1e-12 * scale)
    assert np.allclose(kernel(X.astype(np.float32)), K, atol=1e-5 * scale)


@each
def test_what_calls_itself_valid_passes_mercers_test(kernel):
    if kernel.valid:
        assert kernels.check_kernel(kernel, X)
        assert kernels.check_kernel(2 * kernel + kernel.normalised, X)
