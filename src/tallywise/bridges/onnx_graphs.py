"""Linear models and text models as ONNX graphs, with the standard operators and those that onnxruntime adds for texts.

Words: texts are lowered (StringNormalizer), cut by a regular expression (com.microsoft.Tokenizer), and n-grams of the
tokens counted (TfIdfVectorizer, as counts). Characters within words: each word gets a space on both sides, is cut into
characters, and n-grams are counted in the row of all of them, where a filler between words, which no term has, keeps
n-grams from reaching across. Everything behind the counts is arithmetic in double precision.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tallywise import linear
from tallywise.bridges._linear_scores import linear_scores
from tallywise.models.decision_rule import plain
from tallywise.models.text_schema import TermWeighting, TextModelFile, Tokenisation, ViewTerms
from tallywise.models.text_serving import TextModel

Array = NDArray[np.float64]
_OPSET, _MICROSOFT_OPSET, _IR = 20, 1, 9
_FILLER = "\ue000"  # of private use: what no term has
_WORD = r"\p{L}\p{N}_"
_SPACE = r"\s\p{Z}\x0b\x1c-\x1f\x85"
_REGRESSORS = (
    linear.ElasticNet,
    linear.ElasticNetCV,
    linear.Lasso,
    linear.LassoCV,
    linear.LinearRegression,
    linear.LinearSVR,
    linear.MinimaxConcaveRegression,
    linear.Ridge,
    linear.RidgeCV,
)


def to_onnx(model: Any, *, locale: str = "C.UTF-8") -> Any:
    """Convert a model to ONNX, for onnxruntime.

    Parameters
    ----------
    model : estimator, TextModel, TextClassifier or Pipeline
        A linear classifier or regressor of tallywise, a naive Bayes model with a linear rule, a text model, or a
        pipeline that `save_pipeline` takes.
    locale : str, default='C.UTF-8'
        Of onnxruntime's StringNormalizer, which lowers texts: a locale of Unicode that the machine has which runs the
        model ('en_US.UTF-8' elsewhere than on Linux).

    Returns
    -------
    onnx.ModelProto
        With the input ``X`` (float64, one row a sample) or ``texts`` (strings, one a text), and the outputs ``label``
        and ``probabilities`` (a column a class), ``scores`` where the model has no probabilities, or ``prediction`` of
        a regressor.

    Raises
    ------
    ValueError
        When the graph cannot express a part of the model; the message names it.
    ImportError
        Without the package onnx: ``pip install tallywise[onnx]``.

    Notes
    -----
    The operators for texts are onnxruntime's own. They lower letters one by one (not the few that become two, such as
    the Turkish dotted capital I), and count into rows with a column for each term: a row of a large model takes
    megabytes, so score texts in small batches.

    Examples
    --------
    >>> from tallywise import LogisticRegression
    >>> from tallywise.bridges import to_onnx
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    >>> [output.name for output in to_onnx(model).graph.output]  # doctest: +SKIP
    ['label', 'probabilities']
    """
    if isinstance(model, Pipeline):
        from tallywise.bridges.pipelines import pipeline_model

        model = pipeline_model(model)
    model = getattr(model, "runtime_", model)
    graph = _Graph()
    if isinstance(model, TextModel):
        _text_model(graph, model.file, locale)
    elif isinstance(model, _REGRESSORS):
        _regressor(graph, model)
    else:
        _classifier(graph, model)
    return graph.model()


class _Graph:
    """A graph under construction: nodes, constants by name, inputs and outputs."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            msg = "to_onnx needs the package onnx: pip install 'tallywise[onnx]'."
            raise ImportError(msg) from None
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._number = itertools.count()

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """A tensor that is part of the model."""
        name = f"constant_{next(self._number)}"
        array = np.asarray(value, dtype=dtype)
        if array.dtype == object:
            flat: Any = [str(item).encode() for item in array.ravel()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, flat)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self.constants.append(tensor)
        return name

    def double(self, value: str) -> str:
        """Numbers in double precision."""
        return self.add("Cast", value, to=self.onnx.TensorProto.DOUBLE)

    def add(self, kind: str, *inputs: str, out: str = "", domain: str = "", **attributes: Any) -> str:
        """A node; the name of its output comes back."""
        out = out or f"value_{next(self._number)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [out], domain=domain, **attributes))
        return out

    def take(self, name: str, kind: str, shape: Sequence[Any]) -> str:
        """An input."""
        self.inputs.append(self._info(name, kind, shape))
        return name

    def give(self, value: str, name: str, kind: str, shape: Sequence[Any]) -> None:
        """Make a value an output."""
        self.add("Identity", value, out=name)
        self.outputs.append(self._info(name, kind, shape))

    def _info(self, name: str, kind: str, shape: Sequence[Any]) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), shape)

    def model(self) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "tallywise", self.inputs, self.outputs, self.constants)
        domains = {node.domain for node in self.nodes}
        versions = {"": _OPSET, "com.microsoft": _MICROSOFT_OPSET}
        opsets = [helper.make_opsetid(domain, versions[domain]) for domain in sorted(domains | {""})]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="tallywise", ir_version=_IR)
        if model.ByteSize() > (1 << 31) - 1:
            _refuse(f"a model of {model.ByteSize():,} bytes: ONNX files hold less than 2 GB")
        return model


# --- models of numbers ---


def _regressor(graph: _Graph, model: Any) -> None:
    check_is_fitted(model)
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    W = np.atleast_2d(coef).astype(np.float64).T
    X = graph.take("X", "DOUBLE", ["n", len(W)])
    z = graph.add("Add", graph.add("MatMul", X, graph.constant(W)), graph.constant(model.intercept_))
    if coef.ndim == 1:
        z = graph.add("Reshape", z, graph.constant([-1], np.int64))
    graph.give(z, "prediction", "DOUBLE", ["n"] if coef.ndim == 1 else ["n", W.shape[1]])


def _classifier(graph: _Graph, model: Any) -> None:
    if is_regressor(model):
        _refuse(type(model).__name__)
    form = linear_scores(model)
    X = graph.take("X", "DOUBLE", ["n", form.w.shape[1]])
    if getattr(model, "binarize", None) is not None:
        X = graph.double(graph.add("Greater", X, graph.constant(float(model.binarize))))
    z = graph.add("Add", graph.add("MatMul", X, graph.constant(form.w.T)), graph.constant(form.b))
    classes = model.classes_.tolist()
    scores = z
    if form.link == "sigmoid":
        scores = graph.add("Concat", graph.add("Neg", z), z, axis=1)
    _labels(graph, graph.add("ArgMax", scores, axis=1, keepdims=0), classes)
    if form.probabilities:
        graph.give(_probabilities(graph, z, form.link), "probabilities", "DOUBLE", ["n", len(classes)])
    else:
        graph.give(z, "scores", "DOUBLE", ["n", len(form.b)])


def _probabilities(graph: _Graph, z: str, link: str, thresholds: Array | None = None) -> str:
    if link == "softmax":
        return graph.add("Softmax", z, axis=1)
    if link == "sigmoids":
        P = graph.add("Sigmoid", z)
        return graph.add("Div", P, graph.add("ReduceSum", P, graph.constant([1], np.int64), keepdims=1))
    if link == "sigmoid":
        return graph.add("Concat", graph.add("Sigmoid", graph.add("Neg", z)), graph.add("Sigmoid", z), axis=1)
    # P(class <= k) = sigmoid(t_k - z): differences of neighbours, from 0 to 1.
    assert thresholds is not None
    below = graph.add("Sigmoid", graph.add("Sub", graph.constant(thresholds[None]), z))
    zero = graph.add("Mul", z, graph.constant(0.0))
    rising = graph.add("Concat", zero, below, graph.add("Add", zero, graph.constant(1.0)), axis=1)
    K = len(thresholds) + 1
    upper = graph.add("Gather", rising, graph.constant(np.arange(1, K + 1), np.int64), axis=1)
    lower = graph.add("Gather", rising, graph.constant(np.arange(K), np.int64), axis=1)
    return graph.add("Max", graph.add("Sub", upper, lower), graph.constant(0.0))


def _labels(graph: _Graph, places: str, classes: list[Any]) -> None:
    whole = all(type(label) is int for label in classes)
    table = graph.constant(classes, np.int64 if whole else object)
    graph.give(graph.add("Gather", table, places, axis=0), "label", "INT64" if whole else "STRING", ["n"])


# --- models of texts ---


def _text_model(graph: _Graph, file: TextModelFile, locale: str) -> None:
    if file.label_thresholds is not None:
        _refuse(f"a {file.kind}")
    if file.stored is not None:
        _refuse("a model that remembers texts (nearest neighbours, or a Gaussian kernel)")
    for view in file.views:
        _refuse_view(view.tokenisation)
    lower = {view.tokenisation.lower for view in file.views}
    texts = graph.take("texts", "STRING", ["n"])
    read = {False: texts}
    if True in lower:
        read[True] = graph.add(
            "StringNormalizer", texts, case_change_action="LOWER", is_case_sensitive=1, locale=locale
        )
    counts = [_counts(graph, read[view.tokenisation.lower], view) for view in file.views]
    begin, z = 0, ""
    for block in file.blocks:
        end = begin + file.views[block.view].size
        x = _weighted(graph, counts[block.view], block, file.scales[begin:end])
        part = graph.add("MatMul", x, graph.constant(file.weights[begin:end]))
        z, begin = (graph.add("Add", z, part) if z else part), end
    z = graph.add("Add", z, graph.constant(file.b[None]))
    link = file.link
    if link.kind != "ordered":
        z = graph.add("Mul", z, graph.constant(float(link.scale)))
    if link.kind in ("sigmoid", "sigmoids"):
        z = graph.add("Add", z, graph.constant(float(link.shift)))
    P = _probabilities(graph, z, link.kind, file.thresholds)
    _labels(graph, _decision(graph, P, file), list(file.classes))
    graph.give(P, "probabilities", "DOUBLE", ["n", len(file.classes)])


def _refuse_view(how: Tokenisation) -> None:
    if how.n_features is not None:
        _refuse("columns that are hashes of terms (n_features)")
    if how.deobfuscate:
        _refuse("deobfuscate=True")
    if how.strip_markup:
        _refuse("texts with HTML, whose tags and entities it leaves out")
    if how.stop_words and how.ngram_range[1] > 1:
        _refuse("stop words with n-grams of words, which reach across them")
    if how.units == "char":
        _refuse("n-grams of characters across words (analyzer='char'); 'char_wb' can be expressed")


def _counts(graph: _Graph, texts: str, view: ViewTerms) -> str:
    """How often each term of a view is in each text."""
    how, offsets = view.tokenisation, view.offsets
    words = how.units == "word"
    data = bytes(view.text)
    terms = [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(offsets.tolist())]
    # A filler behind each text: onnxruntime wants a token in every row.
    closed = graph.add("StringConcat", texts, graph.constant(f" {_FILLER}", object))
    if not words:
        pattern = rf"[^{_SPACE}]+"
    elif how.marks:
        pattern = rf"[{_WORD}]+|[^{_WORD}{_SPACE}]"
    else:
        pattern = rf"[{_WORD}]{{{how.least},}}|{_FILLER}"
    tokens = _tokenizer(graph, closed, tokenexp=pattern)
    if not words:
        space = graph.constant(" ", object)
        filler = graph.constant(_FILLER, object)
        spaced = graph.add("StringConcat", graph.add("StringConcat", space, tokens), space)
        spaced = graph.add("Where", graph.add("Equal", tokens, filler), filler, spaced)
        characters = _tokenizer(graph, spaced, separators=[""])
        tokens = graph.add("Reshape", characters, graph.constant([0, -1], np.int64))
    return _ngrams(graph, tokens, [term.split(" ") if words else list(term) for term in terms])


def _tokenizer(graph: _Graph, texts: str, **how: Any) -> str:
    return graph.add("Tokenizer", texts, domain="com.microsoft", mark=0, mincharnum=1, pad_value=_FILLER, **how)


def _ngrams(graph: _Graph, tokens: str, terms: list[list[str]]) -> str:
    longest = max(map(len, terms))
    by_length: list[list[int]] = [[] for _ in range(longest)]
    for column, term in enumerate(terms):
        by_length[len(term) - 1].append(column)
    pool = [token for columns in by_length for column in columns for token in terms[column]]
    starts = np.cumsum([0, *(n * len(columns) for n, columns in enumerate(by_length, 1))])[:-1]
    counts = graph.add(
        "TfIdfVectorizer",
        tokens,
        mode="TF",
        min_gram_length=1,
        max_gram_length=longest,
        max_skip_count=0,
        ngram_counts=starts.tolist(),
        ngram_indexes=[column for columns in by_length for column in columns],
        pool_strings=pool,
    )
    return graph.double(counts)


def _weighted(graph: _Graph, counts: str, block: TermWeighting, scale: Array) -> str:
    """x_j = tf(c_j) scale_j, divided by the norm."""
    one = graph.constant(1.0)
    x = counts
    if block.tf == "presence":
        x = graph.add("Min", counts, one)
    elif block.tf == "log":
        # 1 + log c where c > 0, and else 0: c is a whole number.
        x = graph.add("Add", graph.add("Min", counts, one), graph.add("Log", graph.add("Max", counts, one)))
    if (scale != 1).any():
        x = graph.add("Mul", x, graph.constant(scale[None]))
    if block.norm == "l2":
        square = graph.add("ReduceSumSquare", x, graph.constant([1], np.int64), keepdims=1)
        length = graph.add("Sqrt", square)
        x = graph.add("Div", x, graph.add("Where", graph.add("Greater", square, graph.constant(0.0)), length, one))
    return x


def _decision(graph: _Graph, P: str, file: TextModelFile) -> str:
    """Places of the verdicts, by the rule of the model."""
    rule, classes = file.rule, list(file.classes)
    if rule.kind == "costs":
        costs = graph.add("MatMul", P, graph.constant(rule.costs))
        return graph.add("ArgMin", costs, axis=1, keepdims=0)
    if rule.kind == "threshold":
        # The flagged class counts as 2 from the threshold on, and as -1 below it.
        k = classes.index(plain(rule.label))
        own = graph.constant((np.arange(len(classes)) == k)[None], bool)
        flagged = graph.add("GreaterOrEqual", P, graph.constant(rule.threshold))
        instead = graph.add("Where", flagged, graph.constant(2.0), graph.constant(-1.0))
        P = graph.add("Where", own, instead, P)
    return graph.add("ArgMax", P, axis=1, keepdims=0)


def _refuse(part: str) -> NoReturn:
    msg = f"An ONNX graph cannot express {part}."
    raise ValueError(msg)
