"""Model files of LIBLINEAR and LIBSVM: equal answers to those programs, and refusals of what is no model."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.multiclass import OneVsRestClassifier

from benchmarks import datasets
from tallywise import SVC, SVR, LinearSVC, LinearSVR, LogisticRegression, ModelFileError, TfidfVectorizer
from tallywise.bridges import read_liblinear, read_libsvm, write_liblinear, write_libsvm

SOLVERS = {0: LogisticRegression, 1: LinearSVC, 2: LinearSVC, 3: LinearSVC, 4: LinearSVC, 5: LinearSVC}
SOLVERS |= {6: LogisticRegression, 7: LogisticRegression, 11: LinearSVR, 12: LinearSVR, 13: LinearSVR}


@pytest.fixture(scope="module")
def liblinear():
    return pytest.importorskip("liblinear.liblinearutil", reason="liblinear-official is not installed")


@pytest.fixture(scope="module")
def libsvm():
    return pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")


@pytest.fixture(scope="module")
def census():
    (X, y), (X_test, y_test) = datasets.svmlight("a9a"), datasets.svmlight("a9a.t")
    X_test = sp.hstack([X_test, sp.csr_matrix((X_test.shape[0], X.shape[1] - X_test.shape[1]))], format="csr")
    return X[:3000], y[:3000], X_test, y_test


@pytest.fixture(scope="module")
def posts():
    (texts, groups), (new, new_groups) = datasets.newsgroups("train"), datasets.newsgroups("test")
    kept = np.unique(groups)[[3, 0, 7, 12]].tolist()  # in an order of their own
    vectoriser = TfidfVectorizer(min_df=3)
    rows = np.isin(groups, kept)
    X = vectoriser.fit_transform(np.array(texts, dtype=object)[rows])
    y = np.array([kept.index(group) + 5 for group in groups[rows]])
    order = np.random.default_rng(0).permutation(len(y))
    rows = np.isin(new_groups, kept)
    new_y = np.array([kept.index(group) + 5 for group in new_groups[rows]])
    X_test = sp.vstack([vectoriser.transform(np.array(new, dtype=object)[rows]), sp.csr_matrix((2, X.shape[1]))], "csr")
    return X[order], y[order], X_test, np.append(new_y, [5, 5])


def theirs(liblinear, model, X, y, options="-q"):
    labels, _, values = liblinear.predict(y, X, model, options)
    return np.array(labels), np.array(values)


@pytest.mark.parametrize("bias", [-1, 1, 2.5])
@pytest.mark.parametrize("solver", SOLVERS)
def test_files_of_liblinear_for_two_classes_answer_as_liblinear_does(liblinear, census, tmp_path, solver, bias):
    X, y, X_test, y_test = census
    path = str(tmp_path / "linear.model")
    liblinear.save_model(path, liblinear.train(y, X, f"-s {solver} -B {bias} -q"))
    labels, values = theirs(liblinear, liblinear.load_model(path), X_test, y_test)
    model = read_liblinear(path)
    assert type(model) is SOLVERS[solver]
    np.testing.assert_array_equal(model.predict(X_test), labels) if solver < 11 else np.testing.assert_allclose(
        model.predict(X_test), labels, atol=1e-9
    )
    if solver < 11 and solver != 4:  # of whose two scores the package gives one
        np.testing.assert_allclose(model.decision_function(X_test), values[:, 0], atol=1e-9)
    if solver in (0, 6, 7):
        _, P = theirs(liblinear, liblinear.load_model(path), X_test, y_test, "-q -b 1")
        np.testing.assert_allclose(model.predict_proba(X_test)[:, ::-1], P, atol=1e-12)


@pytest.mark.parametrize("bias", [-1, 1])
@pytest.mark.parametrize("solver", [0, 1, 3, 4, 6])
def test_files_of_liblinear_for_many_classes_answer_as_liblinear_does(liblinear, posts, tmp_path, solver, bias):
    X, y, X_test, y_test = posts
    path = str(tmp_path / "linear.model")
    liblinear.save_model(path, liblinear.train(y, X, f"-s {solver} -B {bias} -q"))
    foreign = liblinear.load_model(path)
    labels, values = theirs(liblinear, foreign, X_test, y_test)
    model = read_liblinear(path)
    assert model.classes_.tolist() == foreign.get_labels()
    np.testing.assert_array_equal(model.predict(X_test), labels)
    np.testing.assert_allclose(model.decision_function(X_test), values, atol=1e-9)
    if solver in (0, 6):
        _, P = theirs(liblinear, foreign, X_test, y_test, "-q -b 1")
        np.testing.assert_allclose(model.predict_proba(X_test), P, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(C=10),
        LogisticRegression(l1_ratio=1, C=10),
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVR(),
        LinearSVR(loss="squared_epsilon_insensitive", fit_intercept=False),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_models_written_for_liblinear_are_answered_alike_there_and_come_back(liblinear, tmp_path, model, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    path = tmp_path / "linear.model"
    if classes == 3 and isinstance(model, LogisticRegression):
        with pytest.raises(ValueError, match="OneVsRestClassifier"):
            write_liblinear(model.fit(X, y), path)
        return
    assert write_liblinear(model.fit(X, y), path) == path.stat().st_size
    labels, values = theirs(liblinear, liblinear.load_model(str(path)), sp.csr_matrix(X), y)
    again = read_liblinear(path)
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-12)
    np.testing.assert_allclose(labels, model.predict(X), atol=1e-9)
    if not isinstance(model, LinearSVR):
        np.testing.assert_allclose(values.squeeze(), model.decision_function(X), atol=1e-9)


def unfreed(model):
    """A model of LIBSVM that its package does not free: it does so in an order that crashes."""
    model.__createfrom__ = "python"
    return model


KERNELS = ["-t 0", "-t 1 -g 0.2 -r 1.5 -d 2", "-t 2 -g 0.1", "-t 3 -g 0.01 -r 0.3"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [0, 1, 3, 4])
def test_files_of_libsvm_answer_as_libsvm_does(libsvm, census, posts, tmp_path, kind, kernel):
    for X, y, X_test, y_test in ([a[:600] for a in census], [a[:600] for a in posts]):
        path = str(tmp_path / "svm.model")
        trained = unfreed(libsvm.svm_train(y, X, f"-s {kind} {kernel} -n 0.2 -q"))
        assert libsvm.svm_save_model(path, trained) in (None, 0)
        # The package makes room for one score of nu-SVC, however many there are; C-SVC answers alike.
        alike = tmp_path / "c_svc.model"
        alike.write_text(Path(path).read_text().replace("nu_svc", "c_svc"))
        foreign = unfreed(libsvm.svm_load_model(str(alike)))
        labels, _, values = libsvm.svm_predict(y_test, X_test, foreign, "-q")
        model = read_libsvm(path, n_features=X.shape[1])
        assert type(model) is (SVC if kind < 2 else SVR)
        scale = 1 + np.abs(values).max()
        if kind > 1:
            np.testing.assert_allclose(model.predict(X_test), labels, atol=1e-10 * scale)
            continue
        assert model.classes_.tolist() == foreign.get_labels()
        model.decision_function_shape = "ovo"
        ours = model.decision_function(X_test)
        ours = -ours[:, None] if ours.ndim == 1 else ours
        np.testing.assert_allclose(ours, np.array(values), atol=1e-10 * scale)
        np.testing.assert_array_equal(model.predict(X_test), labels)
        np.testing.assert_array_equal(model.predict(X_test.toarray()), labels)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("sparse", [False, True])
def test_models_written_for_libsvm_are_answered_alike_there_and_come_back(libsvm, tmp_path, kernel, sparse):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    data = sp.csr_matrix(X) if sparse else X
    path = tmp_path / "svm.model"
    for model in (SVC(kernel=kernel, gamma=0.05), SVR(kernel=kernel, gamma=0.05)):
        for kept in (y < 2, y < 3):
            with np.errstate(all="ignore"), pytest.warns() if kernel == "sigmoid" else contextlib.nullcontext():
                model.fit(data[kept], y[kept])
            write_libsvm(model, path)
            foreign = unfreed(libsvm.svm_load_model(str(path)))
            labels, _, _ = libsvm.svm_predict(y[kept], sp.csr_matrix(X[kept]), foreign, "-q")
            np.testing.assert_allclose(labels, model.predict(data[kept]), atol=1e-9)
            np.testing.assert_allclose(read_libsvm(path).predict(X[kept]), model.predict(data[kept]), atol=1e-9)


LINEAR = "solver_type L2R_LR\nnr_class 2\nlabel 7 3\nnr_feature 2\nbias 0.5\nw\n1 \n-2 \n4 \n"
SVM = (
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.25\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    "1 1:1 3:2 \n-1 2:1 \n"
)


def test_a_file_of_liblinear_read_by_hand(tmp_path):
    path = tmp_path / "m"
    path.write_text(LINEAR)
    model = read_liblinear(path)
    np.testing.assert_allclose(model.decision_function([[3.0, 1.0], [0.0, 2.0]]), [3.0, -2.0])
    assert model.predict([[3.0, 1.0], [0.0, 2.0]]).tolist() == [7, 3]


def test_a_file_of_libsvm_read_by_hand(tmp_path):
    path = tmp_path / "m"
    path.write_text(SVM)
    model = read_libsvm(path)
    expected = np.exp(-0.5 * 5) - np.exp(-0.5 * 1) - 0.25  # at the origin
    np.testing.assert_allclose(model.decision_function([[0.0, 0.0, 0.0]]), [-expected])
    assert model.predict([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (("L2R_LR", "ONECLASS_SVM"), "one-class"),
        (("L2R_LR", "BANANA"), "no solver_type"),
        (("nr_class 2", "nr_class 99999999999"), "nr_class"),
        (("nr_class 2", "nr_class two"), "not a number"),
        (("nr_class 2", "nr_class 1"), "one class"),
        (("nr_class 2", "nr_class 3"), "3 weights, 9"),
        (("label 7 3", "label 7"), "label"),
        (("label 7 3", "label 7 7"), "one label for two"),
        (("label 7 3", "label 7 " + "9" * 5000), "label"),
        (("nr_feature 2", "nr_feature 1000000000"), "weights"),
        (("nr_feature 2", "nr_feature 2\nnr_feature 2"), "twice"),
        (("bias 0.5\n", ""), "does not say 'bias'"),
        (("bias 0.5", "bias nan"), "not finite"),
        (("-2", "x"), "not a number"),
        (("-2", "1e999"), "not finite"),
        (("-2", "-2 1"), "weights"),
        (("w\n", ""), "no line 'w'"),
    ],
)
def test_what_is_no_model_of_liblinear_is_refused_with_its_cause(tmp_path, change, cause):
    path = tmp_path / "m"
    path.write_text(LINEAR.replace(*change))
    with pytest.raises(ModelFileError, match=cause):
        read_liblinear(path)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (("c_svc", "one_class"), "one-class"),
        (("c_svc", "svdd"), "no svm_type"),
        (("rbf", "precomputed"), "precomputed"),
        (("rbf", "cosine"), "no kernel_type"),
        (("gamma 0.5\n", ""), "does not say 'gamma'"),
        (("total_sv 2", "total_sv 2000000000"), "support vectors"),
        (("nr_sv 1 1", "nr_sv 3 -1"), "nr_sv"),
        (("rho 0.25", "rho 0.25 1"), "rho"),
        (("3:2", "1:2"), "do not rise"),
        (("3:2", "0:2"), "do not rise|below 1"),
        (("2:1", "0:1"), "below 1"),
        (("3:2", "3=2"), "index:value"),
        (("3:2", "3:2:1"), "index:value"),
        (("3:2", "2147483648:2"), "largest index"),
        (("3:2", "99999999999999999999:2"), "index:value"),
        (("3:2", "100000000:2"), "n_features=100000000"),
        (("-1 2:1", "-inf 2:1"), "not finite"),
        (("SV\n", "sv\n"), "no line 'SV'"),
        (("gamma ", "gamma -"), "its gamma is -"),
    ],
)
def test_what_is_no_model_of_libsvm_is_refused_with_its_cause(tmp_path, change, cause):
    path = tmp_path / "m"
    path.write_text(SVM.replace(*change))
    with pytest.raises(ModelFileError, match=cause):
        read_libsvm(path)


@pytest.mark.parametrize("read", [read_liblinear, read_libsvm])
@pytest.mark.parametrize("content", [b"", b"\0" * 1000, b"\n" * 1000, b"\xff\xfe" * 99, b"label " + b"1 " * 99999])
def test_noise_is_refused(tmp_path, read, content):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="Cannot read"):
        read(path)
    with pytest.raises(ModelFileError, match="folder"):
        read(tmp_path)


@pytest.mark.parametrize(("read", "text"), [(read_liblinear, LINEAR), (read_libsvm, SVM)])
def test_any_cut_of_a_file_is_a_model_or_a_refusal(tmp_path, read, text):
    path = tmp_path / "m"
    for length in range(len(text)):
        path.write_text(text[:length])
        try:
            read(path)
        except ModelFileError:
            continue
        assert length > len(text) - 8  # less of its last line


def test_labels_that_are_no_whole_numbers_cannot_be_written(tmp_path):
    X, y = [[0.0], [1.0]], ["a", "b"]
    with pytest.raises(ValueError, match="whole numbers"):
        write_liblinear(LinearSVC().fit(X, y), tmp_path / "m")
    with pytest.raises(ValueError, match="whole numbers"):
        write_libsvm(SVC().fit(X, y), tmp_path / "m")
    with pytest.raises(TypeError, match="Got SVC"):
        write_liblinear(SVC().fit(X, y), tmp_path / "m")
    with pytest.raises(TypeError, match="Got LinearSVC"):
        write_libsvm(LinearSVC().fit(X, y), tmp_path / "m")
    with pytest.raises(ValueError, match="kernels"):
        write_libsvm(SVC(kernel="precomputed").fit([[1.0, 0.0], [0.0, 1.0]], [1, 2]), tmp_path / "m")
    assert not list(tmp_path.iterdir())
