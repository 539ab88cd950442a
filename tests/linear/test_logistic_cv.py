"""Cross-validated logistic regression against a grid search by hand and scikit-learn's shapes."""

import signal

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallywise.linear import LogisticRegression, LogisticRegressionCV
from tests.samples import sample

QUIET = {"l1_ratios": (0,), "scoring": "accuracy", "use_legacy_attributes": False}


@parametrize_with_checks([LogisticRegressionCV(Cs=3, cv=3, max_iter=1000, **QUIET)])
def test_logistic_regression_cv_keeps_the_estimator_laws(estimator, check):
    check(estimator)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_separate_fits(classes, sparse):
    X, y = sample(n=90, classes=classes)
    X = sp.csr_matrix(X) if sparse else X
    Cs, ratios, cv = [10.0, 0.01, 0.5], (0.0, 1.0), StratifiedKFold(3)
    model = LogisticRegressionCV(
        Cs=Cs, l1_ratios=ratios, cv=cv, scoring="neg_log_loss", use_legacy_attributes=False, tol=1e-8, max_iter=1000
    ).fit(X, y)
    assert model.scores_.shape == (3, 2, 3)
    for r, ratio in enumerate(ratios):
        for c, C in enumerate(Cs):
            single = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-8, max_iter=1000)
            scores = cross_val_score(single, X, y, cv=cv, scoring="neg_log_loss")
            np.testing.assert_allclose(model.scores_[:, r, c], scores, atol=1e-4)
    r, c = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 3))
    assert (model.l1_ratio_, model.C_) == (ratios[r], Cs[c])
    refit = LogisticRegression(C=model.C_, l1_ratio=model.l1_ratio_, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), refit.predict_proba(X), atol=1e-3)
    assert model.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l1_ratios", [(0,), (0.0, 0.5)])
def test_attributes_have_scikit_learns_shapes(legacy, classes, l1_ratios):
    X, y = sample(n=90, classes=classes)
    options = {"Cs": 3, "cv": 3, "l1_ratios": l1_ratios, "scoring": "accuracy", "use_legacy_attributes": legacy}
    ours = LogisticRegressionCV(**options, max_iter=1000).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegressionCV(**options, solver="saga", max_iter=3000, tol=1e-3).fit(X, y)
    for name in ("coefs_paths_", "scores_", "n_iter_", "C_", "l1_ratio_", "Cs_", "l1_ratios_", "coef_", "intercept_"):
        mine, yours = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(yours), name
        if isinstance(mine, dict):
            assert list(mine) == list(yours)
            mine, yours = np.array(list(mine.values())), np.array(list(yours.values()))
        assert np.shape(mine) == np.shape(yours), name


def test_one_standard_error_prefers_the_stronger_penalty():
    X, y = sample(n=120, p=20)
    options = {
        "Cs": np.logspace(-3, 2, 31),
        "l1_ratios": (0,),
        "scoring": "neg_log_loss",
        "use_legacy_attributes": False,
    }
    best = LogisticRegressionCV(**options).fit(X, y)
    simple = LogisticRegressionCV(**options, selection="one_standard_error").fit(X, y)
    assert simple.C_ < best.C_
    mean, top = best.scores_[:, 0].mean(axis=0), best.scores_[:, 0].mean(axis=0).argmax()
    error = best.scores_[:, 0, top].std(ddof=1) / np.sqrt(5)
    chosen = int(np.flatnonzero(best.Cs_ == simple.C_)[0])
    assert mean[chosen] >= mean[top] - error
    assert np.all(mean[:chosen] < mean[top] - error)


def test_threads_change_nothing_and_progress_is_told():
    X, y = sample(n=90)
    told = []
    fits = []
    for jobs in (1, 2, 4):
        told.clear()
        model = LogisticRegressionCV(
            Cs=4, n_jobs=jobs, callback=lambda done, total: told.append((done, total)), **QUIET
        )
        fits.append(model.fit(X, y))
        assert told == [(done, 20) for done in range(1, 21)]
    assert len({fit.coef_.tobytes() + fit.coefs_paths_.tobytes() for fit in fits}) == 1


def test_a_fold_may_miss_a_class():
    X, y = sample(n=60)
    order = np.argsort(y)
    model = LogisticRegressionCV(
        Cs=2,
        cv=[(order[:40], order[40:]), (order[20:], order[:20])],
        scoring="neg_log_loss",
        **{k: v for k, v in QUIET.items() if k != "scoring"},
    ).fit(X, y)
    assert np.all(np.isfinite(model.scores_))


def test_without_refit_the_folds_best_fits_are_averaged():
    X, y = sample(n=90)
    model = LogisticRegressionCV(Cs=3, cv=3, refit=False, **QUIET).fit(X, y)
    best = model.scores_[:, 0].argmax(axis=1)
    mean = np.mean([model.coefs_paths_[f, 0, c] for f, c in enumerate(best)], axis=0)
    np.testing.assert_allclose(model.coef_, mean[:, :-1])
    assert model.certificate_ is None


def test_defaults_warn_as_scikit_learns_do():
    X, y = sample()
    with (
        pytest.warns(FutureWarning, match="l1_ratios"),
        pytest.warns(FutureWarning, match="scoring"),
        pytest.warns(FutureWarning, match="fitted attributes"),
    ):
        LogisticRegressionCV(Cs=2, cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"Cs": [-1.0]}, "'Cs' parameter of LogisticRegressionCV must be positive"),
        ({"Cs": 0}, "'Cs' parameter of LogisticRegressionCV must be"),
        ({"l1_ratios": [2]}, "between 0 and 1"),
        ({"l1_ratios": []}, "between 0 and 1"),
        ({"selection": "luck"}, "'selection' parameter"),
    ],
)
def test_bad_parameters_are_named(parameters, match):
    X, y = sample()
    with pytest.raises(ValueError, match=match):
        LogisticRegressionCV(**{**QUIET, **parameters}).fit(X, y)


@pytest.fixture
def heard_interrupts():
    """Ctrl-C raises, also where the tests were started in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_stops_the_grid(heard_interrupts):
    import _thread

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    told = []

    def interrupt(done, total):
        told.append(done)
        if done == 1:
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        LogisticRegressionCV(
            Cs=200, l1_ratios=(1,), cv=20, scoring="accuracy", use_legacy_attributes=False, callback=interrupt, n_jobs=2
        ).fit(X, y)
    assert len(told) < 20 * 200


def test_numbers_too_large_for_any_fit_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    X[0, 0] = 1e308
    with pytest.raises(ValueError, match="too large for this fit"):
        LogisticRegressionCV(Cs=3, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False).fit(X, y)
