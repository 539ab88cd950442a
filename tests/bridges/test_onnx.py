"""Models as ONNX graphs: the answers of onnxruntime are ours, on all of a test set."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from benchmarks import datasets
from tallywise import (
    SVC,
    BernoulliNB,
    ComplementNB,
    CountVectorizer,
    ElasticNet,
    HashingVectorizer,
    Lasso,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MultinomialNB,
    Perceptron,
    Ridge,
    TextClassifier,
    TfidfVectorizer,
)
from tallywise.bridges import to_onnx

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def session(model):
    found = to_onnx(model)
    onnx.checker.check_model(found, full_check=False)
    return onnxruntime.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session, X, at=64):
    """Outputs by name, a few rows at a time."""
    (given,), names = session.get_inputs(), [output.name for output in session.get_outputs()]
    parts = [session.run(None, {given.name: X[k : k + at]}) for k in range(0, len(X), at)]
    return {name: np.concatenate(column) for name, column in zip(names, zip(*parts, strict=True), strict=True)}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(baseline=1),
        LinearSVC(),
        Perceptron(),
        MultinomialNB(),
        ComplementNB(),
        BernoulliNB(binarize=3.0),
    ],
    ids=str,
)
def test_linear_classifiers_answer_alike(model, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    for labels in (y, np.array(["a", "b", "c"])[y]):
        model = model.set_params(baseline="b" if labels.dtype.kind == "U" else 1) if _has_baseline(model) else model
        found = run(session(model.fit(X, labels)), X)
        np.testing.assert_array_equal(found["label"], model.predict(X))
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-9)
        else:
            np.testing.assert_allclose(found["scores"].squeeze(), model.decision_function(X), atol=1e-9)


def _has_baseline(model):
    return getattr(model, "baseline", None) is not None


@pytest.mark.parametrize("model", [Ridge(), Lasso(), ElasticNet(), LinearRegression(), LinearSVR()], ids=str)
def test_linear_regressors_answer_alike(model):
    X, y = datasets.wine("red")
    model.fit(X[:800], y[:800])
    np.testing.assert_allclose(run(session(model), X)["prediction"], model.predict(X), atol=1e-9)


def agrees(model, texts):
    found = run(session(model), np.array(texts, dtype=object), at=16)
    np.testing.assert_array_equal(found["label"], model.predict(texts))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(texts), atol=1e-5)


ODD = [
    "",
    " ",
    "\n\t",
    "日本語 テキスト",
    "ÀÉÎ ñandú STRASSE Straße",
    "a",
    "a  b\u00a0c\u2003d",
    "x" * 500,
    "!?!?!? ...",
    "🙂 ok",
]


def test_the_default_text_model_answers_alike_on_all_of_a_test_set():
    texts, labels = datasets.sms()
    model = TextClassifier(cv=3).fit(texts[:2000], labels[:2000])
    assert len(model.runtime_.meta["views"]) >= 2
    agrees(model.runtime_, [*texts[2000:], *ODD])


def test_a_default_text_model_of_many_classes_answers_alike():
    texts, labels = datasets.banking("train")
    few = np.isin(labels, np.unique(labels)[:12])
    model = TextClassifier(cv=3).fit(np.array(texts, dtype=object)[few].tolist(), labels[few])
    agrees(model.runtime_, [*datasets.banking("test")[0][:500], *ODD])


@pytest.mark.parametrize("options", [{"max_flagged": {"ham": 0.01}}, {"costs": {("ham", "spam"): 10.0}}], ids=str)
def test_thresholds_and_costs_are_part_of_the_graph(options):
    texts, labels = datasets.sms()
    model = TextClassifier("multinomial_nb", cv=3, **options).fit(texts[:2000], labels[:2000])
    agrees(model.runtime_, texts[2000:4000])


def test_grades_answer_alike():
    texts, stars = datasets.clothing()
    model = TextClassifier("ordinal", cv=2).fit(texts[:1500], stars[:1500])
    agrees(model.runtime_, texts[1500:1800])


def test_pipelines_answer_alike():
    texts, labels = datasets.sms()
    for vectoriser in (TfidfVectorizer(min_df=2, stop_words="english"), CountVectorizer(lowercase=False, binary=True)):
        pipeline = make_pipeline(vectoriser, LogisticRegression()).fit(texts[:1000], labels[:1000])
        agrees(pipeline, [*texts[1000:2000], *ODD])


REFUSED = {
    "hashes": make_pipeline(HashingVectorizer(n_features=64, alternate_sign=False), LogisticRegression()),
    "deobfuscate": make_pipeline(CountVectorizer(deobfuscate=True), LogisticRegression()),
    "analyzer='char'": make_pipeline(CountVectorizer(analyzer="char"), LogisticRegression()),
    "stop words": make_pipeline(CountVectorizer(stop_words="english", ngram_range=(1, 2)), LogisticRegression()),
}


@pytest.mark.parametrize("part", REFUSED)
def test_what_the_graph_cannot_express_is_refused_by_name(part):
    model = REFUSED[part].fit(["win a prize", "lunch at noon"], ["spam", "ham"])
    with pytest.raises(ValueError, match=part):
        to_onnx(model)


def test_other_models_are_refused_by_name():
    with pytest.raises(TypeError, match="Got SVC"):
        to_onnx(SVC().fit([[0.0], [1.0]], [0, 1]))
