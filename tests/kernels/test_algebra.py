"""The algebra of kernels, Mercer's test, feature maps and their approximations."""

import numpy as np
import pytest
import scipy.sparse as sp

from tallywise import kernels
from tallywise.kernels import Nystroem, RandomFourierFeatures, check_feature_map, check_kernel
from tests.reference import kernel as reference

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(23, 5)), RNG.normal(size=(31, 5))

NAMED = [
    (kernels.Linear(), lambda x, z: float(x @ z)),
    (kernels.Polynomial(3, 0.5, 2.0), lambda x, z: reference.polynomial(x, z, 0.5, 2.0, 3)),
    (kernels.Polynomial(5, 0.5, 1.0), lambda x, z: reference.polynomial(x, z, 0.5, 1.0, 5)),
    (kernels.MonomialSum(3), lambda x, z: reference.monomial_sum(x, z, 3)),
    (kernels.Gaussian(gamma=0.3), lambda x, z: reference.gaussian(x, z, 0.3)),
    (kernels.Gaussian(sigma=2.0), lambda x, z: reference.gaussian(x, z, 1 / 8)),
    (kernels.RationalQuadratic(0.3, 2.0), lambda x, z: (1 + 0.3 * float((x - z) @ (x - z)) / 2.0) ** -2.0),
    (kernels.RationalQuadratic(0.3, 0.7), lambda x, z: (1 + 0.3 * float((x - z) @ (x - z)) / 0.7) ** -0.7),
    (kernels.Laplacian(0.3), lambda x, z: reference.laplacian(x, z, 0.3)),
    (kernels.Sigmoid(0.2, -0.5), lambda x, z: reference.sigmoid(x, z, 0.2, -0.5)),
    (kernels.Cosine(), reference.cosine),
]


@pytest.mark.parametrize(("kernel", "formula"), NAMED, ids=lambda k: repr(k) if isinstance(k, kernels.Kernel) else "")
def test_each_kernel_is_its_formula_dense_sparse_and_single(kernel, formula):
    expected = reference.gram(formula, X, Z)
    scale = np.abs(expected).max()
    assert np.allclose(kernel(X, Z), expected, atol=1e-13 * scale, rtol=1e-12)
    assert np.allclose(kernel(sp.csr_array(X), sp.csr_array(Z)), expected, atol=1e-13 * scale, rtol=1e-12)
    single = kernel(X.astype(np.float32), Z.astype(np.float32))
    assert np.allclose(single, expected, atol=1e-5 * scale)


@pytest.mark.parametrize("density", [0.02, 0.2, 0.9])
def test_sparse_blocks_equal_dense_ones_across_tile_borders(density):
    A = sp.random_array((301, 400), density=density, rng=np.random.default_rng(1), format="csr")
    B = sp.random_array((517, 400), density=density, rng=np.random.default_rng(2), format="csr")
    k = kernels.Gaussian(gamma=0.1)
    squares = (A.toarray() ** 2).sum(1)[:, None] + (B.toarray() ** 2).sum(1) - 2 * (A @ B.T).toarray()
    expected = np.exp(-0.1 * np.maximum(squares, 0))
    assert np.allclose(k(A, B), expected, atol=1e-13)
    assert np.allclose(k(A.toarray(), B.toarray()), expected, atol=1e-13)
    assert np.allclose(k(A.toarray(), B), expected, atol=1e-13)


def test_sums_products_and_scalings_follow_the_algebra():
    a, b, c = kernels.Gaussian(gamma=0.2), kernels.Polynomial(2), kernels.Laplacian(0.1)
    assert np.allclose((a + b)(X, Z), a(X, Z) + b(X, Z))
    assert np.allclose((a * b + 3 * a)(X, Z), a(X, Z) * b(X, Z) + 3 * a(X, Z))
    assert np.allclose((a + c)(X, Z), a(X, Z) + c(X, Z))
    assert np.allclose(((a + c) * 2.0)(X, Z), 2 * (a(X, Z) + c(X, Z)))
    for k in (b.normalised, (b + c).normalised, (2 * b).normalised):
        assert np.allclose(np.diag(k(X)), 1)
        assert check_kernel(k, X)
    assert repr(2 * (a + b)) == ("2 * (Gaussian(gamma=0.2) + Polynomial(degree=2.0, gamma=1.0, coef0=1.0))")
    assert a == kernels.Gaussian(gamma=0.2)
    assert a != b


@pytest.mark.parametrize("make", [lambda: kernels.Gaussian(gamma=-1), lambda: kernels.Gaussian(gamma=np.nan),
                                  lambda: kernels.Gaussian(sigma=0), lambda: kernels.Gaussian(gamma="wide"),
                                  lambda: -1 * kernels.Linear(), lambda: kernels.MonomialSum(1.5),
                                  lambda: kernels.Polynomial(-1), lambda: kernels.Spectrum(0),
                                  lambda: kernels.as_kernel("nonsense")])  # fmt: skip
def test_impossible_parameters_are_refused_by_name(make):
    with pytest.raises(ValueError, match=r"must be|Unknown kernel"):
        make()


def test_a_long_expression_is_refused_not_overflowed():
    k = kernels.Linear()
    for _ in range(1200):
        k = k + kernels.Linear()
    with pytest.raises((ValueError, RecursionError), match=r"1000 steps|recursion"):
        k(X)


@pytest.mark.parametrize("k", [kernels.Linear(), kernels.Polynomial(3, 0.5, 2.0), kernels.Polynomial(2, 1.0, 0.0),
                               kernels.MonomialSum(3), kernels.Cosine(), kernels.Linear() * kernels.Polynomial(2),
                               2 * kernels.Linear() + kernels.Cosine(), kernels.Polynomial(2).normalised],
                         ids=repr)  # fmt: skip
def test_explicit_maps_give_the_kernel(k):
    assert check_feature_map(k, k.features, X)


def test_monomial_sum_counts_ordered_repeats():
    """S2: the map 1, x_i, x_i x_j, x_i x_j x_k over all orders has the kernel 1 + s + s^2 + s^3."""

    def phi(A):
        two = np.einsum("ni,nj->nij", A, A).reshape(len(A), -1)
        three = np.einsum("ni,nj,nk->nijk", A, A, A).reshape(len(A), -1)
        return np.hstack([np.ones((len(A), 1)), A, two, three])

    assert check_feature_map(kernels.MonomialSum(3), phi, X)
    assert not check_feature_map(kernels.MonomialSum(2), phi, X)


def test_infinite_and_huge_maps_are_refused():
    with pytest.raises(ValueError, match="no finite feature map"):
        kernels.Gaussian(gamma=1.0).features(X)
    with pytest.raises(ValueError, match="too many to write out"):
        kernels.Polynomial(10).features(np.ones((10, 30)))


def test_mercer_failure_comes_with_a_witness():
    found = check_kernel(kernels.Sigmoid(1.0, -1.0), X)
    assert not found
    assert found.witness @ kernels.Sigmoid(1.0, -1.0)(X) @ found.witness == pytest.approx(found.value)
    assert found.value < 0
    lopsided = check_kernel(lambda A, B: A @ np.triu(np.ones((5, 5))) @ B.T, X)
    assert not lopsided
    assert "differ" in lopsided.reason
    assert not check_kernel(lambda A, B: np.full((len(A), len(B)), np.nan), X)
    assert not check_kernel("precomputed", np.array([[0.0, 1], [1, 0]]))
    with pytest.raises(ValueError, match="square"):
        check_kernel("precomputed", np.ones((2, 3)))


@pytest.mark.parametrize("k", [k for k, _ in NAMED if k.valid], ids=repr)
def test_valid_kernels_pass_mercers_test_even_with_repeated_points(k):
    assert check_kernel(k, np.vstack([X, X[:5], np.zeros((2, 5))]))


def test_spectrum_kernel_counts_shared_substrings():
    k = kernels.Spectrum(2)
    assert np.array_equal(k(["abab", "ab", "x"], ["ab", "bab"]), [[2, 3], [1, 1], [0, 0]])
    assert check_feature_map(k, k.features, ["to be", "or not", "to be", ""])
    assert check_kernel(kernels.Spectrum((1, 3)).normalised, ["spam", "ham", "spam and ham"])
    with pytest.raises(ValueError, match="compares texts"):
        k([1, 2])


def test_nystroem_error_bound_holds_and_shrinks():
    A = np.random.default_rng(3).normal(size=(200, 3))
    K = kernels.Gaussian(gamma=0.3)(A)
    last = np.inf
    for components in (5, 20, 100):
        fitted = Nystroem(gamma=0.3, n_components=components, random_state=0).fit(A)
        F = fitted.transform(A)
        rest = K - F @ F.T
        assert np.abs(rest).max() <= fitted.error_bound_ + 1e-9
        assert np.linalg.norm(rest, 2) <= fitted.trace_error_ + 1e-9
        assert fitted.error_bound_ < last
        last = fitted.error_bound_


def test_nystroem_equals_scikit_learn():
    from sklearn.kernel_approximation import Nystroem as Theirs

    ours = Nystroem(gamma=0.3, n_components=8, random_state=1).fit(X)
    theirs = Theirs(gamma=0.3, n_components=8, random_state=1).fit(X)
    assert np.allclose(ours.transform(Z), theirs.transform(Z))
    assert np.array_equal(ours.component_indices_, theirs.component_indices_)


@pytest.mark.parametrize("components", [4, 12])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_nystroem_from_kernel_values_equals_nystroem_from_points(components, container):
    A = np.random.default_rng(4).normal(size=(12, 3))
    k = kernels.Gaussian(gamma=0.3)
    points = Nystroem(kernel=k, n_components=components, random_state=0).fit(A)
    values = Nystroem(kernel="precomputed", n_components=components, random_state=0).fit(container(k(A)))
    new = A[:5] + 0.1
    assert np.allclose(values.transform(container(k(new, A))), points.transform(new))
    assert values.error_bound_ == pytest.approx(points.error_bound_, abs=1e-9)
    assert values.trace_error_ == pytest.approx(points.trace_error_, abs=1e-9)
    assert values.__sklearn_tags__().input_tags.pairwise
    assert not points.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="square matrix"):
        Nystroem(kernel="precomputed", n_components=2).fit(k(new, A))


def test_nystroem_calls_a_function_once_for_each_pair_of_landmarks():
    A = np.random.default_rng(4).normal(size=(12, 3))
    calls = []

    def gaussian(x, z, width):
        calls.append(1)
        return np.exp(-np.sum((x - z) ** 2) / width)

    own = Nystroem(kernel=gaussian, kernel_params={"width": 2.0}, n_components=5, random_state=0).fit(A)
    assert len(calls) == 5 * 6 / 2
    assert own.error_bound_ is None
    assert np.allclose(own.transform(A), Nystroem(gamma=0.5, n_components=5, random_state=0).fit(A).transform(A))
    with pytest.raises(ValueError, match="Don't pass gamma"):
        Nystroem(kernel=gaussian, gamma=1.0, n_components=5).fit(A)


def test_random_fourier_features_stay_within_their_bound():
    A = np.random.default_rng(3).normal(size=(100, 3))
    fitted = RandomFourierFeatures(gamma=0.4, n_components=2000, random_state=0).fit(A)
    F = fitted.transform(A)
    assert np.allclose(np.diag(F @ F.T), 1)
    assert np.abs(F @ F.T - kernels.Gaussian(gamma=0.4)(A)).max() <= fitted.error_bound_
    assert np.allclose(fitted.transform(sp.csr_array(A)), F)
