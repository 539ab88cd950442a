"""Every naive Bayes model over an event of the registry, found by itself, and data that each of them can read."""

from functools import cache

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import get_tags

from benchmarks import datasets
from tallywise import _native, naive_bayes
from tallywise.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB

PUBLIC = [getattr(naive_bayes, name) for name in naive_bayes.__all__]
CLASSES = [model for model in PUBLIC if getattr(model, "_event", None) is not None]
# Options that change the arithmetic. A newcomer with such an option may add itself here.
VARIANTS = [
    MultinomialNB(prior="tokens"),
    MultinomialNB(prior="tokens", prior_smoothing=2.5),
    MultinomialNB(fit_prior=False),
    ComplementNB(norm=True),
    BernoulliNB(binarize=None),
    GaussianNB(shared_variance=True),
    GaussianNB(prior_smoothing=1.0),
]


def reads_sparse(model):
    """Whether a model, or a class of models, takes sparse rows."""
    return _native.event_traits(model._event).reads_sparse


def smoothed(model, alpha):
    """The model, or one of the class, with this smoothing."""
    model = model() if isinstance(model, type) else model
    return model.set_params(**{model._smoothing_name: alpha})


def state(model):
    """All that a model remembers, as bytes."""
    sums = model._sums
    carry = np.zeros_like(sums.value) if sums.carry is None else sums.carry
    return b"".join(a.tobytes() for a in (np.ascontiguousarray(sums.value), np.ascontiguousarray(carry), sums.totals))


@cache
def sms(vectorizer=CountVectorizer, n=1500, **options):
    """Messages as a matrix of terms, with their labels."""
    texts, y = datasets.sms()
    return vectorizer(**options).fit_transform(texts[:n]), y[:n]


def real_rows(model):
    """Some hundred real rows that the model is made for."""
    if reads_sparse(model):
        return sms(n=120, binary=getattr(model, "binarize", 0) is None)
    if get_tags(model).input_tags.categorical:
        X, y = datasets.categorical("car")
        return OrdinalEncoder().fit_transform(X).astype(int)[4::9], np.where(y[4::9] == "unacc", "no", "yes")
    X, y = datasets.wine()
    return X[:150], y[:150] > 5


def refitted(model, X, y, alpha):
    """Labels and log-probabilities by refitting for each row."""
    labels, own = [], []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        smoothed(model, alpha).fit(X[rest], y[rest])
        joint = model.predict_joint_log_proba(X[[i]])[0]
        top = joint.max()
        labels.append(model.classes_[joint.argmax()] if np.isfinite(top) else None)
        own.append(
            joint[np.searchsorted(model.classes_, y[i])] - top - np.log(np.exp(joint - top).sum())
            if np.isfinite(top)
            else -np.inf
        )
    return labels, np.array(own)


def assert_leaves_one_out(model, X, y, alphas):
    """Leaving one out says what refitting for each row does."""
    found = model.leave_one_out(X, y, alphas=alphas)
    for k, alpha in enumerate(alphas):
        labels, own = refitted(model, X, y, alpha)
        assert np.array_equal(found.labels[k], labels)
        np.testing.assert_allclose(found.log_probability[k], own, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.log_loss[k], -own.mean(), rtol=1e-9)
        np.testing.assert_allclose(found.accuracy[k], (np.array(labels) == y).mean())
