"""Ordinal regression against statsmodels, the likelihood written out, and its certificates."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise import _native
from tallywise.linear import OrdinalRegression
from tests.reference.margins import DISTRIBUTIONS, ordinal_log_likelihood

LINKS = _native.ordinal_links()
links = pytest.mark.parametrize("link", LINKS)


@links
@given(v=st.floats(-8, 8), width=st.floats(1e-3, 10))
def test_interval_losses_are_minus_log_probability_with_right_derivatives(link, v, width):
    u = v + width
    here = _native.ordinal_at(link, u, v)
    F = DISTRIBUTIONS[link]
    p = F.cdf(u) - F.cdf(v)
    if p > 1e-6:
        assert here["value"] == pytest.approx(-np.log(p), rel=1e-6, abs=1e-9)
    h = 1e-5 * min(width, 1.0)
    up, down = _native.ordinal_at(link, u + h, v), _native.ordinal_at(link, u - h, v)
    size = 1 + abs(here["hessian"][0]) * h
    assert (up["value"] - down["value"]) / (2 * h) == pytest.approx(here["gradient"][0], rel=1e-4, abs=1e-4 * size)
    assert (up["gradient"][0] - down["gradient"][0]) / (2 * h) == pytest.approx(here["hessian"][0], rel=1e-3, abs=1e-3)
    assert (up["gradient"][1] - down["gradient"][1]) / (2 * h) == pytest.approx(here["hessian"][1], rel=1e-3, abs=1e-3)
    a, b, c = here["hessian"]
    assert a >= 0
    assert c >= 0
    assert a * c - b * b >= -1e-9 * (a * c + 1)


@links
@pytest.mark.parametrize("ends", [(0.3, -np.inf), (np.inf, -0.7), (0.4, -0.2), (-30.0, -35.0), (40.0, 35.0)])
def test_fenchel_young_is_an_equality_at_the_gradient(link, ends):
    u, v = ends
    if link == "cloglog" and v > 10:
        return  # a loss of exp(35)
    here = _native.ordinal_at(link, u, v)
    a, b = here["gradient"]
    product = (a * u if np.isfinite(u) else 0.0) + (b * v if np.isfinite(v) else 0.0)
    assert here["value"] + here["conjugate"] == pytest.approx(product, rel=1e-9, abs=1e-9)


@parametrize_with_checks([OrdinalRegression(l2=1.0), OrdinalRegression("probit", l2=0.1, l1=0.1)])
def test_ordinal_regression_keeps_the_estimator_laws(estimator, check):
    check(estimator)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("colour", ["red", "white"])
def test_wine_fit_is_that_of_statsmodels(link, colour):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, y = datasets.wine(colour)
    X = (X - X.mean(0)) / X.std(0)
    p = X.shape[1]
    model = OrdinalRegression(link).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = OrderedModel(y, X, distr=link).fit(method="newton", disp=0, maxiter=100)
    assert model.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-8)
    np.testing.assert_allclose(model.coef_, theirs.params[:p], atol=1e-5)
    np.testing.assert_allclose(model.summary().std_err[:p], theirs.bse[:p], atol=1e-5)
    cuts = np.cumsum(np.concatenate([[theirs.params[p]], np.exp(theirs.params[p + 1 :])]))
    np.testing.assert_allclose(model.thresholds_, cuts, atol=1e-4)
    assert model.certificate_.relative_gap < 1e-10


def sample(n=400, p=6, levels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    z = X @ np.array([1.0, -1.0, 0.5, 0, 0, 0][:p]) + rng.logistic(size=n)
    return X, np.digitize(z, np.quantile(z, np.linspace(0, 1, levels + 1)[1:-1]))


@links
@pytest.mark.parametrize("strength", [{}, {"l2": 2.0}, {"l1": 20.0}, {"l1": 20.0, "l2": 1.0}])
def test_certificate_encloses_the_optimum(link, strength):
    X, y = sample()
    model = OrdinalRegression(link, tol=1e-9, **strength).fit(X, y)
    l1, l2 = strength.get("l1", 0.0), strength.get("l2", 0.0)

    def objective(w, cuts):
        penalty = l1 * np.abs(w).sum() + 0.5 * l2 * w @ w
        return penalty - ordinal_log_likelihood(link, X, y, w, cuts)

    best = objective(model.coef_, model.thresholds_)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-10)
    assert model.certificate_.relative_gap <= 1e-9
    rng = np.random.default_rng(1)
    for size in (1e-4, 1e-2):
        w = model.coef_ + size * rng.standard_normal(len(model.coef_))
        cuts = model.thresholds_ + size * rng.standard_normal(len(model.thresholds_))
        assert objective(w, cuts) >= model.certificate_.dual
    if l1:
        assert np.count_nonzero(model.coef_) < len(model.coef_)


@links
def test_sparse_and_dense_agree_and_threads_do_not_matter(link):
    X, y = sample()
    X[np.abs(X) < 0.7] = 0
    options = dict(link=link, l2=0.5)
    dense = OrdinalRegression(**options).fit(X, y)
    sparse = OrdinalRegression(**options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-8)
    for threads in (2, 8):
        again = OrdinalRegression(**options, n_jobs=threads).fit(X, y)
        one = OrdinalRegression(**options, n_jobs=1).fit(X, y)
        assert again.coef_.tobytes() == one.coef_.tobytes()


@links
def test_wide_text_is_solved_by_conjugate_gradients_to_the_same_optimum(link):
    rng = np.random.default_rng(0)
    X = sp.random(300, 2500, density=0.02, format="csr", random_state=0)
    z = X @ rng.standard_normal(2500) + 0.3 * rng.logistic(size=300)
    y = np.digitize(z, np.quantile(z, [0.2, 0.5, 0.8]))
    model = OrdinalRegression(link, l2=0.5, tol=1e-8).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    value = -ordinal_log_likelihood(link, X, y, model.coef_, model.thresholds_) + 0.25 * model.coef_ @ model.coef_
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    assert np.all(np.diff(model.thresholds_) > 0)
    one = OrdinalRegression(link, l2=0.5, n_jobs=1).fit(X, y)
    two = OrdinalRegression(link, l2=0.5, n_jobs=2).fit(X, y)
    assert one.coef_.tobytes() == two.coef_.tobytes()


def test_weights_are_counts():
    X, y = sample(100)
    s = np.random.default_rng(0).integers(0, 4, 100)
    weighted = OrdinalRegression().fit(X, y, s)
    repeated = OrdinalRegression().fit(X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-6)


def test_probabilities_are_differences_of_cumulative_ones():
    X, y = sample()
    model = OrdinalRegression().fit(X, y)
    proba, below = model.predict_proba(X), model.predict_cumulative(X)
    np.testing.assert_allclose(proba.cumsum(axis=1), below, atol=1e-12)
    np.testing.assert_allclose(below[:, -1], 1)
    chosen = np.log(proba[np.arange(len(y)), y]).sum()
    assert chosen == pytest.approx(model.log_likelihood_, rel=1e-9)


def test_levels_follow_the_order_given():
    X, codes = sample(levels=3)
    names = np.array(["low", "mid", "high"])
    named = OrdinalRegression(levels=names).fit(X, names[codes])
    plain = OrdinalRegression().fit(X, codes)
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    assert named.predict(X).tolist() == names[plain.predict(X)].tolist()
    with pytest.raises(ValueError, match="no sample has"):
        OrdinalRegression(levels=["low", "mid", "high", "top"]).fit(X, names[codes])
    with pytest.raises(ValueError, match="besides"):
        OrdinalRegression(levels=["low", "mid"]).fit(X, names[codes])


def test_brant_test_keeps_true_proportional_odds_and_finds_broken_ones():
    X, y = sample(3000, 3, seed=2)
    model = OrdinalRegression().fit(X, y)
    assert model.brant_test(X, y).p_value > 0.01
    rng = np.random.default_rng(0)
    broken = np.where(rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0])), 1 + (rng.random(3000) < 0.5), 0)
    found = OrdinalRegression().fit(X, broken).brant_test(X, broken)
    assert found.p_value < 1e-6
    assert np.argmin(found.feature_p_value) == 0
    assert found.df == 3
    assert [line.split()[0] for line in str(found).splitlines()] == ["chi2", "overall", "x0", "x1", "x2"]


def test_brant_test_description_when_a_level_is_separated():
    X, y = sample(300, 3, seed=2)
    X[:, 0] += 100 * (y == y.max())
    with pytest.raises(ValueError, match="does not converge, so there is no test"):
        OrdinalRegression(l2=0.01).fit(X, y).brant_test(X, y)


def test_a_summary_reads_as_a_table():
    X, y = sample(500, 3, seed=2)
    found = OrdinalRegression().fit(X, y).summary()
    low, high = found.interval
    assert np.all((low < found.estimate) & (found.estimate < high))
    assert np.all((found.p_value < 0.05) == (low * high > 0))
    lines = str(found).splitlines()
    assert lines[0].endswith("500 samples")
    assert [line.split("  ")[0].strip() for line in lines[2:]] == found.names


def test_separated_levels_without_a_penalty_are_said():
    X = np.arange(12.0)[:, None]
    y = np.repeat([0, 1, 2], 4)
    with pytest.warns(ConvergenceWarning, match="set l2 above 0"):
        OrdinalRegression(max_iter=30).fit(X, y)
    assert OrdinalRegression(l2=0.1).fit(X, y).score(X, y) == 1.0


def test_wide_data_without_a_penalty_are_refused():
    X = sp.random(20, 6000, density=0.01, format="csr", random_state=0)
    with pytest.raises(ValueError, match="at most 5000 weights"):
        OrdinalRegression().fit(X, np.arange(20) % 3)


def test_penalised_fits_have_no_standard_errors():
    X, y = sample()
    with pytest.raises(ValueError, match="without a penalty"):
        OrdinalRegression(l2=1.0).fit(X, y).summary()


def test_a_text_model_of_stars_cuts_one_score():
    from tallywise import TextClassifier

    rng = np.random.default_rng(0)
    stars = rng.integers(1, 5, 400)
    words = np.array([["awful", "poor"], ["poor", "fair"], ["fair", "good"], ["good", "superb"]])
    texts = [" ".join(rng.choice(words[star - 1], 5)) for star in stars]
    model = TextClassifier(model="ordinal").fit(texts, stars)
    assert any("ordinal" in line for line in model.description_)
    assert model.predict(["awful awful", "superb superb superb"]).tolist() == [1, 4]
    np.testing.assert_allclose(model.predict_proba(texts[:20]).sum(axis=1), 1, atol=1e-9)


def test_a_level_that_a_fold_lacks_has_no_width():
    from tallywise.text_model.fits import FitData
    from tallywise.text_model.model_types import named

    X, y = sample(levels=4)
    kept = y != 2
    form = named("ordinal").fit(FitData(sp.csr_matrix(X[kept]), y[kept], np.arange(5)), l2=1.0)
    assert len(form.thresholds) == 4
    assert form.thresholds[1] == form.thresholds[2]
    assert np.all(np.diff(form.thresholds) >= 0)
    assert form.thresholds[3] > form.scores(X).max()
