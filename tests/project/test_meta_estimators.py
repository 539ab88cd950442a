"""Our estimators as parts of scikit-learn's meta-estimators: each fits, predicts and agrees with what it is made of."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.semi_supervised import SelfTrainingClassifier

import tallywise as t

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
DIABETES_X, DIABETES_Y = (part[:150] for part in load_diabetes(return_X_y=True, scaled=True))

CLASSIFIERS = {
    "logistic": t.LogisticRegression(),
    "linear_svc": t.LinearSVC(),
    "svc": t.SVC(probability=True),
    "neighbours": t.KNeighborsClassifier(),
    "gaussian": t.GaussianNB(),
    "multinomial": t.MultinomialNB(),
    "perceptron": t.Perceptron(max_iter=50),
}
REGRESSORS = {
    "least_squares": t.LinearRegression(),
    "ridge": t.Ridge(alpha=0.1),
    "lasso": t.Lasso(alpha=0.1),
    "linear_svr": t.LinearSVR(C=100.0, max_iter=10_000),
    "svr": t.SVR(C=100.0),
    "neighbours": t.KNeighborsRegressor(),
    "kernel_ridge": t.KernelRidge(alpha=0.1, kernel="rbf"),
}
WITH_PROBABILITIES = [name for name, model in CLASSIFIERS.items() if hasattr(model, "predict_proba")]
LINEAR = ["logistic", "linear_svc", "perceptron"]
WEIGHTED = [name for name in CLASSIFIERS if name not in ("neighbours",)]
classifiers = pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
regressors = pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
probabilistic = pytest.mark.parametrize("name", WITH_PROBABILITIES)
# Perceptron and Bayes need not be good on iris; the others are.
GOOD = 0.55

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@classifiers
def test_searches_find_what_cross_validation_of_each_candidate_finds(model):
    name = next(n for n in ("C", "alpha", "n_neighbors", "var_smoothing") if n in model.get_params())
    values = [1, 5] if name == "n_neighbors" else [0.01, 1.0] if name != "alpha" else [1e-3, 0.1]
    search = GridSearchCV(model, {name: values}, cv=3).fit(IRIS_X, IRIS_Y)
    means = [cross_val_score(clone(model).set_params(**{name: v}), IRIS_X, IRIS_Y, cv=3).mean() for v in values]
    assert search.cv_results_["mean_test_score"] == pytest.approx(means)
    assert search.best_score_ == pytest.approx(max(means))
    drawn = RandomizedSearchCV(model, {name: values}, n_iter=2, cv=3, random_state=0).fit(IRIS_X, IRIS_Y)
    assert drawn.best_score_ == pytest.approx(max(means))


@classifiers
def test_a_pipeline_is_its_steps_one_after_the_other(model):
    pipe = make_pipeline(MinMaxScaler(), model).fit(IRIS_X, IRIS_Y)
    scaled = MinMaxScaler().fit_transform(IRIS_X)
    assert np.array_equal(pipe.predict(IRIS_X), clone(model).fit(scaled, IRIS_Y).predict(scaled))
    assert np.array_equal(pipe.classes_, [0, 1, 2])


@probabilistic
def test_voting_averages_our_probabilities(name):
    parts = [(name, CLASSIFIERS[name]), ("bayes", t.GaussianNB())]
    vote = VotingClassifier(parts, voting="soft").fit(IRIS_X, IRIS_Y)
    each = [clone(part).fit(IRIS_X, IRIS_Y).predict_proba(IRIS_X) for _, part in parts]
    assert vote.predict_proba(IRIS_X) == pytest.approx(np.mean(each, axis=0))


@classifiers
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_gives_probabilities_that_add_up_to_one(model, method):
    calibrated = CalibratedClassifierCV(model, method=method, cv=3).fit(IRIS_X, IRIS_Y)
    assert calibrated.predict_proba(IRIS_X).sum(axis=1) == pytest.approx(np.ones(len(IRIS_X)))
    assert calibrated.score(IRIS_X, IRIS_Y) > GOOD


@classifiers
def test_stacking_bagging_and_reductions_to_two_classes_learn(model):
    stack = StackingClassifier([("one", model), ("two", t.GaussianNB())], final_estimator=t.LogisticRegression(), cv=3)
    assert stack.fit(IRIS_X, IRIS_Y).score(IRIS_X, IRIS_Y) > GOOD
    for meta in (
        BaggingClassifier(model, n_estimators=3, max_features=3, random_state=0),
        OneVsRestClassifier(model),
        OneVsOneClassifier(model),
        OutputCodeClassifier(model, code_size=3, random_state=0),
    ):
        assert meta.fit(IRIS_X, IRIS_Y).score(IRIS_X, IRIS_Y) > GOOD


@pytest.mark.parametrize("name", WEIGHTED)
def test_boosting_passes_weights_that_count(name):
    boosted = AdaBoostClassifier(CLASSIFIERS[name], n_estimators=3, random_state=0).fit(IRIS_X, IRIS_Y)
    assert boosted.score(IRIS_X, IRIS_Y) > GOOD


@probabilistic
def test_self_training_uses_rows_without_labels(name):
    y = IRIS_Y.copy()
    y[np.arange(len(y)) % 3 > 0] = -1
    model = SelfTrainingClassifier(CLASSIFIERS[name], threshold=0.6).fit(IRIS_X, y)
    assert (model.transduction_ >= 0).sum() > (y >= 0).sum()
    assert model.score(IRIS_X, IRIS_Y) > GOOD


@classifiers
def test_several_outputs_are_one_model_each(model):
    Y = np.column_stack([IRIS_Y, IRIS_Y == 1])
    several = MultiOutputClassifier(model).fit(IRIS_X, Y)
    assert np.array_equal(several.predict(IRIS_X)[:, 1], clone(model).fit(IRIS_X, Y[:, 1]).predict(IRIS_X))
    chain = ClassifierChain(model, order=[0, 1]).fit(IRIS_X, Y)
    assert np.array_equal(chain.predict(IRIS_X)[:, 0], clone(model).fit(IRIS_X, Y[:, 0]).predict(IRIS_X))


@pytest.mark.parametrize("name", LINEAR)
def test_features_are_selected_by_our_weights(name):
    model = CLASSIFIERS[name]
    chosen = RFE(model, n_features_to_select=2).fit(IRIS_X, IRIS_Y)
    assert chosen.support_.sum() == 2
    norms = np.linalg.norm(clone(model).fit(IRIS_X, IRIS_Y).coef_, axis=0, ord=1)
    kept = SelectFromModel(model, threshold="median").fit(IRIS_X, IRIS_Y).get_support()
    assert np.array_equal(kept, norms >= np.median(norms))
    forward = SequentialFeatureSelector(model, n_features_to_select=2, cv=3).fit(IRIS_X, IRIS_Y)
    assert forward.get_support().sum() == 2


@probabilistic
def test_a_threshold_of_one_half_changes_nothing_for_two_classes(name):
    X, y = IRIS_X[50:], IRIS_Y[50:]
    fixed = FixedThresholdClassifier(CLASSIFIERS[name], threshold=0.5, response_method="predict_proba", pos_label=2)
    plain = clone(CLASSIFIERS[name]).fit(X, y)
    assert np.array_equal(fixed.fit(X, y).predict(X), plain.classes_[(plain.predict_proba(X)[:, 1] >= 0.5).astype(int)])


@classifiers
def test_inspection_sees_that_petals_matter_more_than_a_column_of_noise(model):
    noise = np.random.default_rng(0).uniform(0, 1, (len(IRIS_X), 1))
    X = np.hstack([IRIS_X, noise])
    fitted = clone(model).fit(X, IRIS_Y)
    importance = permutation_importance(fitted, X, IRIS_Y, n_repeats=3, random_state=0).importances_mean
    assert importance[2:4].max() > importance[4]
    method = "predict_proba" if hasattr(fitted, "predict_proba") else "decision_function"
    curve = partial_dependence(fitted, X, [2], response_method=method, grid_resolution=5, kind="average")
    assert curve["average"].shape == (3, 5)


@regressors
def test_meta_regressors_learn_with_our_regressors(model):
    X, y = DIABETES_X, DIABETES_Y
    alone = clone(model).fit(X, y).predict(X)
    other = t.Ridge(alpha=1.0)
    vote = VotingRegressor([("one", model), ("two", other)]).fit(X, y)
    assert vote.predict(X) == pytest.approx((alone + clone(other).fit(X, y).predict(X)) / 2)
    for meta in (
        StackingRegressor([("one", model), ("two", other)], final_estimator=t.Ridge(), cv=3),
        BaggingRegressor(model, n_estimators=3, random_state=0),
        AdaBoostRegressor(model, n_estimators=3, random_state=0),
    ):
        assert meta.fit(X, y).score(X, y) > 0.1
    Y = np.column_stack([y, -y])
    assert MultiOutputRegressor(model).fit(X, Y).predict(X)[:, 0] == pytest.approx(alone)
    assert RegressorChain(model, order=[0, 1]).fit(X, Y).predict(X)[:, 0] == pytest.approx(alone)
    importance = permutation_importance(clone(model).fit(X, y), X, y, n_repeats=2, random_state=0).importances_mean
    assert np.argmax(importance) in (
        2,
        4,
        8,
    )  # body mass, cholesterol, triglycerides
    assert partial_dependence(clone(model).fit(X, y), X, [2], grid_resolution=5)["average"].shape == (1, 5)


def test_text_steps_work_inside_unions_searches_and_learning_curves():
    spam = [f"cheap pills offer {k % 7}" for k in range(30)]
    ham = [f"see you at noon {k % 5}" for k in range(30)]
    texts, labels = spam + ham, ["spam"] * 30 + ["ham"] * 30
    union = FeatureUnion([("words", t.TfidfVectorizer()), ("characters", t.CountVectorizer(analyzer="char_wb"))])
    pipe = make_pipeline(union, t.LinearSVC())
    search = GridSearchCV(
        pipe, {"featureunion__words__ngram_range": [(1, 1), (1, 2)], "linearsvc__C": [0.1, 1.0]}, cv=3
    )
    assert search.fit(texts, labels).best_score_ == 1.0
    assert (cross_val_predict(pipe, texts, labels, cv=3) == labels).all()
    sizes, _, scores = learning_curve(pipe, texts, labels, cv=3, train_sizes=[0.5, 1.0], shuffle=True, random_state=0)
    assert scores[-1].mean() == 1.0
    assert len(sizes) == 2
