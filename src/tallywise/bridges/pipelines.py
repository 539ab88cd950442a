"""scikit-learn pipelines of texts as model files: served without scikit-learn, with equal answers."""

import os
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import text as sklearn_text
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from tallywise.bridges._linear_scores import linear_scores
from tallywise.models.compression import ModelWeights, Scales
from tallywise.models.decision_rule import plain
from tallywise.models.text_schema import (
    LONGEST_NGRAM,
    Link,
    ModelFacts,
    TermWeighting,
    TextModelFile,
    Tokenisation,
    ViewTerms,
)
from tallywise.models.text_serving import TextModel
from tallywise.naive_bayes import BernoulliNB
from tallywise.text._analysis import has_marks, least_length

_PLAIN = (str, int, float, bool)


class _Weighting(NamedTuple):
    """How the counts of one vectoriser become features."""

    tf: str
    norm: str
    scale: NDArray[np.float64]


def save_pipeline(pipeline: Any, path: str | os.PathLike[str]) -> int:
    """Save a pipeline of a vectoriser and a linear or naive Bayes classifier as a model file.

    `tallywise.load` reads it without scikit-learn, and ``tally classify``, ``explain``, ``serve`` take it as they take
    a model of their own. Predictions are those of the pipeline, and so are probabilities where its classifier has them.
    `LinearSVC` and `Perceptron` have none: the file then gives the logistic function (or softmax) of their scores,
    which is not calibrated.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted: `CountVectorizer`, `TfidfVectorizer` or `HashingVectorizer`, or a `FeatureUnion` of these;
        `TfidfTransformer`, if wanted; and a classifier of tallywise with a linear rule.
    path : path
        Where to write.

    Returns
    -------
    int
        Bytes written.

    Raises
    ------
    ValueError
        When the pipeline has a part that the file cannot express; the message names it.

    Examples
    --------
    >>> import os, tempfile, tallywise
    >>> from sklearn.pipeline import make_pipeline
    >>> from tallywise.bridges import save_pipeline
    >>> texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    >>> pipeline = make_pipeline(tallywise.CountVectorizer(), tallywise.MultinomialNB()).fit(texts, labels)
    >>> path = os.path.join(tempfile.mkdtemp(), "m.tally")
    >>> size = save_pipeline(pipeline, path)
    >>> tallywise.load(path).predict(["a prize at last"]).tolist()
    ['spam']
    """
    return pipeline_model(pipeline).save(path)


def pipeline_model(pipeline: Any) -> TextModel:
    """The serve side of a pipeline."""
    if not isinstance(pipeline, Pipeline):
        msg = f"A scikit-learn Pipeline is needed. Got {type(pipeline).__name__}."
        raise TypeError(msg)
    check_is_fitted(pipeline)
    steps = [step for _, step in pipeline.steps if step is not None and step != "passthrough"]
    if len(steps) < 2:
        _refuse(f"a pipeline of {len(steps)} steps (a vectoriser and a classifier are needed)")
    first, *between, classifier = steps
    transformers = _vectorisers(first)
    if len(between) > 1 or (between and not isinstance(between[0], sklearn_text.TfidfTransformer)):
        _refuse(f"{' and '.join(type(step).__name__ for step in between)} before the classifier")
    tfidf = between[0] if between else None
    if tfidf is not None and len(transformers) > 1:
        _refuse("TfidfTransformer after a FeatureUnion: its norm is over all features together")
    form = linear_scores(classifier)
    names = _names(transformers)
    weightings = [_weighting(vectoriser, tfidf) for vectoriser in transformers]
    if isinstance(classifier, BernoulliNB):
        weightings = [_presence(classifier, weighting) for weighting in weightings]
    file = TextModelFile(
        _labels(classifier.classes_),
        [ViewTerms(_tokenisation(n, v), *_terms(v)) for n, v in zip(names, transformers, strict=True)],
        [TermWeighting(v, how.tf, how.norm, 1.0) for v, how in enumerate(weightings)],
        Scales(np.concatenate([weighting.scale for weighting in weightings])),
        ModelWeights(np.ascontiguousarray(form.w.T)),
        np.ascontiguousarray(form.b),
        Link(form.link),
        form.thresholds,
        facts=ModelFacts(
            "pipeline",
            "pipeline of " + ", ".join(type(step).__name__ for step in steps),
            description=() if form.probabilities else ("its probabilities are not calibrated",),
        ),
    )
    return TextModel(file, "the pipeline")  # what cannot be served is not written


def _vectorisers(step: Any) -> list[Any]:
    if isinstance(step, FeatureUnion):
        if step.transformer_weights:
            _refuse("FeatureUnion with transformer_weights")
        return [found for _, one in step.transformer_list if one != "drop" for found in _vectorisers(one)]
    kinds = (sklearn_text.CountVectorizer, sklearn_text.HashingVectorizer)
    if not isinstance(step, kinds):
        _refuse(f"{type(step).__name__} (a CountVectorizer, TfidfVectorizer or HashingVectorizer comes first)")
    return [step]


def _names(transformers: list[Any]) -> list[str]:
    kinds = ["words" if vectoriser.analyzer == "word" else "characters" for vectoriser in transformers]
    return [kind if kinds.index(kind) == k else f"{kind}_{k}" for k, kind in enumerate(kinds)]


def _tokenisation(name: str, v: Any) -> Tokenisation:
    """How the model file says that texts are cut."""
    for part in ("preprocessor", "tokenizer", "strip_accents", "unknown"):
        if getattr(v, part, None) is not None and not (part == "tokenizer" and v.analyzer != "word"):
            _refuse(f"{type(v).__name__} with a {part}")
    if v.input != "content":
        _refuse(f"{type(v).__name__} with input={v.input!r}: the served model takes texts, not files")
    if v.analyzer not in ("word", "char", "char_wb"):
        _refuse(f"{type(v).__name__} with an analyzer of its own")
    if v.ngram_range[1] > LONGEST_NGRAM:
        _refuse(f"n-grams of more than {LONGEST_NGRAM}")
    words = v.analyzer == "word"
    marks = words and has_marks(v.token_pattern)
    least = 1 if marks or not words else least_length(v.token_pattern)
    if least is None:
        _refuse(f"{type(v).__name__} with token_pattern={v.token_pattern!r}")
    hashed = isinstance(v, sklearn_text.HashingVectorizer)
    if hashed and v.alternate_sign:
        _refuse("HashingVectorizer with alternate_sign=True: served counts have no signs")
    return Tokenisation(
        v.analyzer,
        (int(v.ngram_range[0]), int(v.ngram_range[1])),
        lower=bool(v.lowercase),
        least=least,
        marks=marks,
        deobfuscate=bool(getattr(v, "deobfuscate", False)),
        stop_words=tuple(sorted(v.get_stop_words() or [])) if words else (),
        n_features=int(v.n_features) if hashed else None,
        name=name,
    )


def _terms(vectoriser: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Terms in the order of their columns, as UTF-8, and where each begins; empty where they are hashes."""
    if isinstance(vectoriser, sklearn_text.HashingVectorizer):
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    columns = vectoriser.vocabulary_
    if not all(isinstance(column, Integral) for column in columns.values()):
        _refuse("a vocabulary whose columns are not numbers")
    terms = sorted(columns, key=columns.__getitem__)
    if not all(isinstance(term, str) for term in terms):
        _refuse("a vocabulary of terms that are not texts")
    if [columns[term] for term in terms] != [*range(len(terms))]:
        _refuse("a vocabulary whose columns are not 0, 1, 2 and so on, each once")
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def _weighting(vectoriser: Any, tfidf: Any) -> _Weighting:
    """How the counts of a vectoriser become features."""
    p = vectoriser.n_features if isinstance(vectoriser, sklearn_text.HashingVectorizer) else len(vectoriser.vocabulary_)
    tf, norm, scale = "presence" if vectoriser.binary else "count", None, np.ones(p)
    if isinstance(vectoriser, sklearn_text.HashingVectorizer):
        norm = vectoriser.norm
    for step in _tfidf_steps(vectoriser, tfidf):
        if norm is not None:
            _refuse("a norm before TfidfTransformer")
        tf = "log" if step.sublinear_tf and tf == "count" else tf
        norm = step.norm
        scale = np.asarray(step.idf_, dtype=np.float64) if step.use_idf else scale
    if norm not in (None, "l2"):
        _refuse(f"norm={norm!r}: 'l2' and None are known to the file")
    if not np.isfinite(scale).all():
        _refuse("terms of infinite idf (smooth_idf=False, and terms that no text has)")
    return _Weighting(tf, norm or "none", scale)


def _tfidf_steps(vectoriser: Any, tfidf: Any) -> Iterator[Any]:
    if isinstance(vectoriser, sklearn_text.TfidfVectorizer):
        yield vectoriser._tfidf
    if tfidf is not None:
        yield tfidf


def _presence(classifier: BernoulliNB, weighting: _Weighting) -> _Weighting:
    """Bernoulli features: whether a value exceeds a threshold; for a threshold of 0, whether a term is there."""
    if classifier.binarize is None:
        if weighting.tf != "presence" or weighting.norm != "none" or (weighting.scale != 1).any():
            _refuse("BernoulliNB(binarize=None) on features that are not 0 or 1")
    elif classifier.binarize != 0 or (weighting.scale <= 0).any():
        _refuse(f"BernoulliNB with binarize={classifier.binarize:g}: 0 is known to the file")
    return _Weighting("presence", "none", np.ones(len(weighting.scale)))


def _labels(classes: NDArray[Any]) -> list[Any]:
    labels = [plain(label) for label in classes]
    if not all(isinstance(label, _PLAIN) for label in labels):
        _refuse(f"labels of the kind {type(labels[0]).__name__}: texts and numbers are known to the file")
    return labels


def _refuse(part: str) -> NoReturn:
    msg = f"A model file cannot express {part}. Serve the pipeline with scikit-learn, or change that part."
    raise ValueError(msg)
