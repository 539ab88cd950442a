"""The Dirichlet and beta distributions, against SciPy and against their own samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from tallywise.topics import Beta, Dirichlet

alphas = st.lists(st.floats(0.05, 50), min_size=2, max_size=8)


@given(alphas, st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_density_and_moments_are_scipys(alpha, seed):
    ours, theirs = Dirichlet(alpha), stats.dirichlet(alpha)
    x = np.random.default_rng(seed).dirichlet(np.ones(len(alpha)), size=3)
    assert ours.log_density(x) == pytest.approx(theirs.logpdf(x.T), rel=1e-9, abs=1e-9)
    assert ours.density(x[0]) == pytest.approx(theirs.pdf(x[0]), rel=1e-9)
    assert ours.mean() == pytest.approx(theirs.mean())
    assert ours.variance() == pytest.approx(theirs.var())
    assert ours.covariance() == pytest.approx(theirs.cov())
    assert ours.entropy() == pytest.approx(theirs.entropy(), rel=1e-9, abs=1e-9)


def test_the_bigger_the_alphas_the_smaller_the_variance():
    small, big = Dirichlet([1, 2, 3]), Dirichlet([10, 20, 30])
    assert big.mean() == pytest.approx(small.mean())
    assert (big.variance() < small.variance()).all()


def test_samples_have_the_moments_of_the_distribution():
    d = Dirichlet([0.3, 1.0, 4.0])
    x = d.sample(200_000, random_state=1)
    assert x.sum(axis=1) == pytest.approx(1)
    assert x.mean(axis=0) == pytest.approx(d.mean(), abs=4e-3)
    assert np.cov(x.T) == pytest.approx(d.covariance(), abs=2e-3)
    assert np.log(x).mean(axis=0) == pytest.approx(d.mean_log(), abs=3e-2)
    assert -d.log_density(x).mean() == pytest.approx(d.entropy(), abs=2e-2)


def test_samples_with_tiny_alpha_stay_on_the_simplex():
    x = Dirichlet([1e-4] * 3).sample(1000, random_state=0)
    assert np.isfinite(x).all()
    assert x.sum(axis=1) == pytest.approx(1)
    # The density is all but gone from the inside: each corner has a third of it. Bounds at five standard errors.
    assert (x.max(axis=1) > 0.99).mean() > 0.99
    assert x.mean(axis=0) == pytest.approx(1 / 3, abs=5 * np.sqrt(2 / 9 / 1000))


def test_mode_has_no_denser_neighbour_and_is_refused_where_there_is_none():
    d = Dirichlet([2.0, 3.0, 5.0])
    mode = d.mode()
    near = mode + np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]]) * 1e-3
    assert (d.log_density(near) < d.log_density(mode)).all()
    with pytest.raises(ValueError, match="no mode inside the simplex"):
        Dirichlet([0.5, 2]).mode()


def test_divergence_is_the_mean_log_ratio_and_zero_only_for_equals():
    p, q = Dirichlet([1.5, 2, 3]), Dirichlet([2, 1, 2])
    x = p.sample(200_000, random_state=2)
    assert p.kl(q) == pytest.approx((p.log_density(x) - q.log_density(x)).mean(), abs=1e-2)
    assert p.kl(p) == pytest.approx(0, abs=1e-12)
    assert p.kl(q) > 0
    with pytest.raises(ValueError, match="one dimension"):
        p.kl(Dirichlet([1, 1]))


def test_fit_finds_the_alphas_that_made_the_data_at_the_top_of_the_likelihood():
    truth = Dirichlet([0.4, 2.0, 7.0])
    x = truth.sample(20_000, random_state=3)
    fitted = Dirichlet.fit(x)
    assert fitted.alpha == pytest.approx(truth.alpha, rel=0.05)
    best = fitted.log_density(x).sum()
    for k in range(3):
        for factor in (0.99, 1.01):
            moved = fitted.alpha.copy()
            moved[k] *= factor
            assert Dirichlet(moved).log_density(x).sum() < best


def test_fit_of_counts_finds_the_alphas_that_made_them():
    random = np.random.default_rng(4)
    truth = np.array([0.5, 1.0, 3.0])
    n = np.array([random.multinomial(50, t) for t in random.dirichlet(truth, size=5000)])
    assert Dirichlet.fit_counts(n).alpha == pytest.approx(truth, rel=0.08)


def test_dirichlet_multinomial_probability_is_scipys_and_sums_to_one():
    d = Dirichlet([0.7, 1.2, 2.0])
    counts = np.array([(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)])
    assert np.exp(d.log_likelihood(counts)).sum() == pytest.approx(1)
    expected = stats.dirichlet_multinomial(d.alpha, 4).logpmf(counts)
    assert d.log_likelihood(counts) == pytest.approx(expected)


@given(st.floats(0.1, 30), st.floats(0.1, 30))
@settings(max_examples=40, deadline=None)
def test_beta_is_scipys_and_a_dirichlet_of_two(a, b):
    ours, theirs = Beta(a, b), stats.beta(a, b)
    x = np.array([0.1, 0.5, 0.83])
    assert ours.log_density(x) == pytest.approx(theirs.logpdf(x), abs=1e-9)
    assert ours.log_density(0.3) == pytest.approx(Dirichlet([a, b]).log_density([0.3, 0.7]))
    assert ours.cdf(x) == pytest.approx(theirs.cdf(x))
    assert ours.interval(0.9) == pytest.approx(theirs.interval(0.9))
    assert (ours.mean(), ours.variance()) == pytest.approx((theirs.mean(), theirs.var()))
    assert ours.entropy() == pytest.approx(theirs.entropy(), abs=1e-9)


def test_beta_fits_and_samples_and_is_the_marginal():
    assert Dirichlet([2, 3, 5]).marginal(1) == Beta(3, 7)
    values = Beta(2, 5).sample(20_000, random_state=0)
    assert Beta.fit(values).alpha == pytest.approx([2, 5], rel=0.05)
    assert isinstance(Beta(2, 5).sample(random_state=0), float)
    assert quad(Beta(2, 5).density, 0, 1)[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("alpha", "cause"),
    [
        ([1.0], "at least two"),
        ([1, 0], "> 0. Got"),
        ([1, np.nan], "finite"),
        ([[1, 2]], "vector"),
        ([1, np.inf], "finite"),
    ],
)
def test_bad_alphas_are_refused_with_their_cause(alpha, cause):
    with pytest.raises(ValueError, match=cause):
        Dirichlet(alpha)


def test_bad_points_and_counts_are_refused_with_their_cause():
    d = Dirichlet([1, 2, 3])
    with pytest.raises(ValueError, match="sum to 1"):
        d.log_density([0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="3 coordinates"):
        d.log_density([0.5, 0.5])
    with pytest.raises(ValueError, match="not negative"):
        d.log_likelihood([1, -1, 0])
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        Beta(1, 2).log_density(1.5)
    with pytest.raises(ValueError, match="sum to 1"):
        Dirichlet.fit([[0.0, 1.0], [0.5, 0.5]])
    with pytest.raises(ValueError, match="differ"):
        Dirichlet.fit([[0.5, 0.5], [0.5, 0.5]])
