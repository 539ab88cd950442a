"""Pickles of estimators: another release warns, and what is missing is named."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import tallywise
from reliability.calls import estimators
from tallywise import SVC, CountVectorizer, KNeighborsClassifier, MultinomialNB, TextClassifier, TfidfVectorizer

X, Y = np.abs(np.random.default_rng(0).normal(size=(30, 4))), np.arange(30) % 2
NAMES = sorted(estimators())


def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(tallywise, name)().fit(X, Y)


def dense(found):
    return found.toarray() if sp.issparse(found) else np.asarray(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_comes_back_whole(name):
    model = fitted(name)
    for back in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert not [key for key in vars(back) if "tallywise" in key]
        for verb in ("predict", "transform"):
            if hasattr(model, verb):
                answer, expected = getattr(back, verb)(X), getattr(model, verb)(X)
                np.testing.assert_array_equal(dense(answer), dense(expected))


@pytest.mark.parametrize("model", [SVC(), MultinomialNB(), KNeighborsClassifier()], ids=str)
def test_a_pickle_of_another_release_warns_with_both(model, monkeypatch):
    monkeypatch.setattr(tallywise, "__version__", "0.1.9")
    data = pickle.dumps(model.fit(X, Y))
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"is of tallywise 0\.1\.9, and this is .* Fit the model again"):
        pickle.loads(data)


def test_a_pickle_of_a_text_model_warns_too(monkeypatch):
    model = TextClassifier("multinomial_nb", cv=2).fit(["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5)
    monkeypatch.setattr(tallywise, "__version__", "0.1.9")
    data = pickle.dumps(model)
    monkeypatch.undo()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert pickle.loads(data).predict(["a prize"]).tolist() == ["spam"]
    assert any("TextClassifier is of tallywise 0.1.9" in str(one.message) for one in said)


@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_that_lacks_something_is_refused_with_its_name(name):
    model = fitted(name)
    _, _, state, *_ = model.__reduce_ex__(4)
    for missing in [key for key in state if key != "_tallywise"]:
        part = {key: value for key, value in state.items() if key != missing}
        with pytest.raises(ValueError, match=rf"lacks '{missing}'.* Fit the model again"):
            type(model).__new__(type(model)).__setstate__(part)


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer])
def test_pickles_of_vectorizers_are_stamped_likewise(kind):
    model = kind().fit(["win a prize", "lunch at noon"])
    assert (pickle.loads(pickle.dumps(model)).transform(["a prize"]) != model.transform(["a prize"])).nnz == 0
    _, _, state, *_ = model.__reduce_ex__(4)
    del state["ngram_range"]
    with pytest.raises(ValueError, match="lacks 'ngram_range'"):
        kind.__new__(kind).__setstate__(state)
