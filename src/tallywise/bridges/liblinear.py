"""Model files of LIBLINEAR, the text format of its ``train`` and ``save_model``."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

from tallywise.bridges._svm_text_file import Array, Header, invalid, read, reals, shown, whole_labels, write
from tallywise.linear import LinearSVC, LinearSVR, LogisticRegression

# LIBLINEAR's name of what was minimised: our class, and the parameters that say the same.
_SOLVERS: dict[str, tuple[type, dict[str, Any]]] = {
    "L2R_LR": (LogisticRegression, {"solver": "liblinear"}),
    "L2R_LR_DUAL": (LogisticRegression, {"solver": "liblinear"}),
    "L1R_LR": (LogisticRegression, {"solver": "liblinear", "l1_ratio": 1.0}),
    "L2R_L2LOSS_SVC": (LinearSVC, {}),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"loss": "hinge"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {"penalty": "l1"}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {"loss": "epsilon_insensitive"}),
}
_MOST_FEATURES = (1 << 31) - 1


def read_liblinear(path: str | os.PathLike[str]) -> Any:
    """Read a model file of LIBLINEAR as a fitted estimator.

    Decision values, predictions and probabilities are LIBLINEAR's. What the file does not say (C, tolerances) has its
    default value.

    Parameters
    ----------
    path : path
        A file written by LIBLINEAR's ``train`` or ``save_model``.

    Returns
    -------
    LogisticRegression, LinearSVC, LinearSVR or OneVsRestClassifier
        Logistic regression with more than two classes is one model for each class against the rest in LIBLINEAR, and
        so a `OneVsRestClassifier` here. ``classes_`` are in the order in which equal scores are settled as LIBLINEAR
        settles them, which need not be sorted: that of the file, or with one score its reverse.

    Raises
    ------
    ModelFileError
        When the file is damaged, hostile, or of a one-class machine, which tallywise does not have.

    Examples
    --------
    >>> import tempfile, os
    >>> from tallywise import LinearSVC
    >>> from tallywise.bridges import read_liblinear, write_liblinear
    >>> model = LinearSVC().fit([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0]], [1, 1, 2])
    >>> path = os.path.join(tempfile.mkdtemp(), "svc.model")
    >>> size = write_liblinear(model, path)
    >>> read_liblinear(path).predict([[0.0, 0.0], [5.0, 5.0]])
    array([1, 2])
    """
    return read(path, "LIBLINEAR", b"w", _estimator)


def _estimator(header: Header, lines: list[bytes]) -> Any:
    solver = header.word("solver_type")
    if solver == "ONECLASS_SVM":
        invalid("it is a one-class machine, which tallywise does not have")
    if solver not in _SOLVERS:
        invalid(f"there is no solver_type {solver!r}")
    kind, parameters = _SOLVERS[solver]
    K = header.classes()
    if K < 2:
        invalid("it has one class, so that every answer would be that class")
    columns = K if K > 2 or solver == "MCSVM_CS" else 1
    features = header.whole("nr_feature", 1, _MOST_FEATURES)
    bias = header.real("bias")
    W = _weights(lines, features + (bias >= 0), columns)
    w, b = (W[:-1].T, bias * W[-1]) if bias >= 0 else (W.T, np.zeros(columns))
    if bias < 0:
        parameters = {**parameters, "fit_intercept": False}
    elif bias not in (0, 1):
        parameters = {**parameters, "intercept_scaling": bias}
    if kind is LinearSVR:
        if K != 2:
            invalid(f"it is a regression with nr_class {K}, where LIBLINEAR writes 2")
        model = kind(**parameters)
        model.coef_, model.intercept_ = np.ascontiguousarray(w[0]), b
        model.n_features_in_ = features
        return model
    labels = header.wholes("label", K)
    if len(np.unique(labels)) < K:
        invalid("it has one label for two classes")
    if solver == "MCSVM_CS" and K == 2:  # two scores, and of equal ones the first
        return _fitted(kind(**parameters), labels, w[1:] - w[:1], b[1:] - b[:1])
    if kind is LogisticRegression and K > 2:
        return _one_against_rest(parameters, labels, w, b)
    # LIBLINEAR answers its first class where the score is positive, we and scikit-learn the second.
    return _fitted(kind(**parameters), labels if K > 2 else labels[::-1].copy(), w, b)


def _weights(lines: list[bytes], rows: int, columns: int) -> Array:
    words = [word for line in lines for word in line.split()]
    if len(words) != rows * columns:
        invalid(f"it has {len(words)} weights, {rows * columns} are needed")
    return reals(words, "w").reshape(rows, columns)


def _fitted(model: Any, classes: NDArray[Any], w: Array, b: Array) -> Any:
    model.classes_, model.coef_, model.intercept_ = classes, np.ascontiguousarray(w), b
    model.n_features_in_ = w.shape[1]
    return model


def _one_against_rest(parameters: dict[str, Any], labels: NDArray[Any], w: Array, b: Array) -> OneVsRestClassifier:
    model = OneVsRestClassifier(LogisticRegression(**parameters))
    two = np.array([0, 1])
    model.estimators_ = [
        _fitted(LogisticRegression(**parameters), two, w[k : k + 1], b[k : k + 1]) for k in range(len(labels))
    ]
    model.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(labels)
    model.label_binarizer_.classes_ = model.classes_ = labels
    model.n_features_in_ = w.shape[1]
    return model


def write_liblinear(model: Any, path: str | os.PathLike[str]) -> int:
    """Write a linear model as a file that LIBLINEAR's ``predict`` and ``load_model`` read.

    Parameters
    ----------
    model : LogisticRegression, LinearSVC, LinearSVR or OneVsRestClassifier of LogisticRegression
        Fitted, of whole numbers as labels. Logistic regression with more than two classes is another model in
        LIBLINEAR (one for each class against the rest, with other probabilities): a `OneVsRestClassifier` here.
    path : path
        Where to write.

    Returns
    -------
    int
        Bytes written.

    Examples
    --------
    >>> import tempfile, os
    >>> from pathlib import Path
    >>> from tallywise import LogisticRegression
    >>> from tallywise.bridges import write_liblinear
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "lr.model")
    >>> size = write_liblinear(model, path)
    >>> Path(path).read_text().splitlines()[0]
    'solver_type L2R_LR'
    """
    check_is_fitted(model)
    solver, w, b = _form(model)
    lines = [f"solver_type {solver}"]
    if isinstance(model, LinearSVR):
        lines += ["nr_class 2"]
    else:
        labels = whole_labels(model.classes_, "LIBLINEAR")
        labels = labels[::-1] if len(labels) == 2 else labels
        lines += [f"nr_class {len(labels)}", "label " + " ".join(map(str, labels))]
    # The intercept is the weight of one more column, of ones.
    lines += [f"nr_feature {w.shape[1]}", "bias 1", "w"]
    return write(path, [*lines, *(shown(row) for row in w.T), shown(b)])


def _form(model: Any) -> tuple[str, Array, Array]:
    """Name, weights (a row a score) and intercepts of a model in LIBLINEAR."""
    if isinstance(model, OneVsRestClassifier) and isinstance(model.estimators_[0], LogisticRegression):
        forms = [_form(estimator) for estimator in model.estimators_]
        return forms[0][0], np.vstack([w for _, w, _ in forms]), np.concatenate([b for *_, b in forms])
    if not isinstance(model, LogisticRegression | LinearSVC | LinearSVR):
        kinds = "LogisticRegression, LinearSVC, LinearSVR or OneVsRestClassifier of LogisticRegression"
        msg = f"write_liblinear takes {kinds}. Got {type(model).__name__}."
        raise TypeError(msg)
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    w = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(w))
    if isinstance(model, LinearSVR):
        return ("L2R_L2LOSS_SVR" if model.loss == "squared_epsilon_insensitive" else "L2R_L1LOSS_SVR_DUAL"), w, b
    if isinstance(model, LinearSVC):
        if model.multi_class == "crammer_singer" and len(model.classes_) > 2:
            return "MCSVM_CS", w, b
        if model.penalty == "l1":
            return "L1R_L2LOSS_SVC", w, b
        return ("L2R_L1LOSS_SVC_DUAL" if model.loss == "hinge" else "L2R_L2LOSS_SVC"), w, b
    if len(model.classes_) > 2 or model.baseline is not None:
        msg = (
            "LIBLINEAR's logistic regression of more than two classes is one model for each class against the rest, "
            "and has no baseline. Fit a OneVsRestClassifier(LogisticRegression()) to write it."
        )
        raise ValueError(msg)
    return ("L1R_LR" if model.l1_ratio == 1 else "L2R_LR"), w, b
