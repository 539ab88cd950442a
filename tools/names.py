"""Write docs/names.md, the page of all public names: what each is, its formula, its counterpart in scikit-learn."""

import argparse
import importlib
import inspect
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "names.md"
MODULES = ("tallywise", "tallywise.kernels", "tallywise.evaluation")


class Entry(NamedTuple):
    """What the docstring does not say."""

    formula: str
    counterpart: str = ""
    differences: str = ""


_CERTIFICATE = "`tol` bounds the relative duality gap, or a ConvergenceWarning; `certificate_`, `prior_`"
_BAYES = "exact `forget`, `merge`, `leave_one_out`; new columns and classes in `partial_fit`; `alpha='loo'`"
_NEIGHBORS = "ties by training order; metrics as documented; `partial_fit`, `forget`"

ENTRIES = {
    # text
    "CountVectorizer": Entry("x_j = count of term j", "same", "`partial_fit`, `deobfuscate`, `token_spans`"),
    "TfidfVectorizer": Entry("x_j = tf_j log((1 + n) / (1 + df_j)) + tf_j, over the norm", "same", "as above"),
    "TfidfTransformer": Entry("as TfidfVectorizer", "same"),
    "HashingVectorizer": Entry("column = |murmur3(term)| mod m", "same", "`token_spans`, `deobfuscate`"),
    "Binner": Entry("b(x) = number of edges <= x", "KBinsDiscretizer", "edges may be given"),
    # naive Bayes
    "BernoulliNB": Entry("prod_j p_j^x_j (1 - p_j)^(1 - x_j)", "same", _BAYES),
    "MultinomialNB": Entry("prod_j p_j^x_j", "same", f"priors by documents or tokens; {_BAYES}"),
    "ComplementNB": Entry("-sum_j x_j log q_j, q of the other classes; a score without prior", "same", _BAYES),
    "PoissonNB": Entry("prod_j l_j^x_j exp(-l_j) / x_j!", "", _BAYES),
    "CategoricalNB": Entry("p_ja = (n_ja + l) / (n + l K_j)", "same", f"unseen values; {_BAYES}"),
    "GaussianNB": Entry("prod_j N(x_j; mu_j, v_j)", "same", f"shared variances; {_BAYES}"),
    "JointBayes": Entry("argmax_y count(x, y)"),
    "LinearRule": Entry("z = w'x + b"),
    "LeaveOneOutScores": Entry("scores of each row by a model of the others"),
    # linear
    "LogisticRegression": Entry("sum log(1 + exp(-y z)) + penalty / C, softmax for K classes", "same", _CERTIFICATE),
    "LogisticRegressionCV": Entry("the same over a grid of C", "same", "one-standard-error rule; `certificate_`"),
    "LogisticPath": Entry("fits along a grid of C"),
    "LinearRegression": Entry("1/2 sum (y - z)^2", "same", "`summary()`; dependent columns: least norm"),
    "Ridge": Entry("sum (y - z)^2 + a |w|^2", "same", _CERTIFICATE),
    "RidgeCV": Entry("the same over a grid of a", "same", "sparse X by folds"),
    "Lasso": Entry("1/2n sum (y - z)^2 + a |w|_1", "same", _CERTIFICATE),
    "LassoCV": Entry("the same over a path of a", "same", "one-standard-error rule"),
    "ElasticNet": Entry("1/2n sum (y - z)^2 + a r |w|_1 + a (1 - r)/2 |w|^2", "same", _CERTIFICATE),
    "ElasticNetCV": Entry("the same over a path of a, for each r", "same", "one-standard-error rule"),
    "MinimaxConcaveRegression": Entry("1/2n sum (y - z)^2 + sum a |w| - w^2/2g, flat from |w| = g a on"),
    "lasso_path": Entry("as Lasso", "same"),
    "enet_path": Entry("as ElasticNet", "same"),
    "LinearSVC": Entry("1/2 |w|^2 + C sum max(0, 1 - y z)", "same", "C=inf; modified Huber loss; `certificate_`"),
    "LinearSVR": Entry("1/2 |w|^2 + C sum max(0, |y - z| - e)", "same", "Huber loss; `certificate_`"),
    "Perceptron": Entry("w += y x on a mistake", "same", "`averaged`, `mistakes_`, `mistake_bound_`"),
    "LeastMeanSquares": Entry("theta += a (y - theta'phi(x)) phi(x)"),
    "OrdinalRegression": Entry("P(y <= k) = F(t_k - w'x)", "", "as statsmodels; sparse, penalised"),
    # kernels
    "SVC": Entry("sum_i a_i y_i k(x_i, x) + b", "same", "`certificate_`; any `tallywise.kernels`; C=inf"),
    "SVR": Entry("sum_i (a_i - a'_i) k(x_i, x) + b", "same", "`certificate_`; any `tallywise.kernels`"),
    "KernelRidge": Entry("(K + a I) c = y", "same", "leave-one-out residuals; a method without K in memory"),
    "KernelLeastMeanSquares": Entry("beta += a (y - K beta)"),
    "KernelPerceptron": Entry("beta_i += y_i on a mistake"),
    "Nystroem": Entry("k(x, Z) k(Z, Z)^-1/2", "same", "an error bound"),
    "RandomFourierFeatures": Entry("sqrt(2/D) cos(w'x + b)", "RBFSampler", "an error bound"),
    # neighbours
    "NearestNeighbors": Entry("the k least d(x, x_i)", "same", _NEIGHBORS),
    "KNeighborsClassifier": Entry("mode of the k nearest", "same", _NEIGHBORS),
    "KNeighborsRegressor": Entry("mean of the k nearest", "same", _NEIGHBORS),
    "KNeighborsClassifierCV": Entry("every k by one pass"),
    "KNeighborsRegressorCV": Entry("every k by one pass"),
    "distance_concentration": Entry("(d_max - d_min) / d_min"),
    "edge_length": Entry("(k / n)^(1 / d)"),
    "Concentration": Entry("what `distance_concentration` found"),
    # topics
    "Dirichlet": Entry("prod x_k^(a_k - 1) / B(a)", "", "scipy.stats.dirichlet, with `fit`"),
    "Beta": Entry("x^(a-1) (1-x)^(b-1) / B(a, b)", "", "scipy.stats.beta, with `fit`"),
    "LatentDirichletAllocation": Entry("p(w|d) = sum_k theta_dk phi_kw", "same", "collapsed, Gibbs and online"),
    "HeldOut": Entry("held-out log likelihood"),
    "choose_topics": Entry("least held-out perplexity over K"),
    "TopicChoice": Entry("what `choose_topics` found"),
    # one text model
    "TextClassifier": Entry("text -> counts -> weights -> scores -> probabilities -> prediction"),
    "TextModel": Entry("the serve side of TextClassifier"),
    "MultiLabelTextClassifier": Entry("p_k = sigmoid(w_k'x + b_k), label k from t_k on", "OneVsRestClassifier"),
    "MultiLabelTextModel": Entry("the serve side of MultiLabelTextClassifier"),
    "TableModel": Entry("row -> features of each column -> scores -> class, grade or number"),
    "TableRuntime": Entry("the serve side of TableModel"),
    "load": Entry("a model from its file"),
    "open_data": Entry("a path -> texts, label sets, a table or shards, with the columns that were guessed"),
    "train": Entry("data -> the model that suits them"),
    "Trained": Entry("a model, its summary, its report and its file"),
    "patch_sklearn": Entry("our classes under scikit-learn's names"),
    "unpatch_sklearn": Entry("scikit-learn's classes under their names again"),
    "compare": Entry("nested cross-validation, paired tests, cost"),
    # kernels by name
    "Linear": Entry("x'z", "linear_kernel"),
    "Polynomial": Entry("(g x'z + c)^q", "polynomial_kernel"),
    "MonomialSum": Entry("1 + s + ... + s^q, s = x'z"),
    "Gaussian": Entry("exp(-g |x - z|^2)", "rbf_kernel"),
    "RationalQuadratic": Entry("(1 + g |x - z|^2 / a)^-a"),
    "Laplacian": Entry("exp(-g |x - z|_1)", "laplacian_kernel"),
    "Sigmoid": Entry("tanh(g x'z + c), not always a kernel", "sigmoid_kernel"),
    "Cosine": Entry("x'z / (|x| |z|)", "cosine_similarity"),
    "Spectrum": Entry("common substrings of length n, on texts"),
    "Sum": Entry("k + l"),
    "Product": Entry("k l"),
    "Scaled": Entry("c k, c > 0"),
    "Normalised": Entry("k(x, z) / sqrt(k(x, x) k(z, z))"),
    "Function": Entry("your own k"),
    "Precomputed": Entry("K itself"),
    "Kernel": Entry("what all of them share"),
    "KernelCheck": Entry("what a check found"),
    "as_kernel": Entry("scikit-learn's strings and callables as kernels"),
    "check_kernel": Entry("v'Kv >= 0 for all v, on a sample"),
    "check_feature_map": Entry("phi(x)'phi(z) = k(x, z), on a sample"),
    # evaluation
    "Calibration": Entry("p = sigmoid(a z + b), or softmax(a z)"),
    "calibrate": Entry("least log loss over a and b", "CalibratedClassifierCV"),
    "Comparison": Entry("what `compare` found"),
    "ModelResult": Entry("one model of a comparison"),
    "Metric": Entry("a value and its interval"),
    "Folds": Entry("train and test rows"),
    "make_folds": Entry("K folds that keep groups together", "StratifiedGroupKFold", "`description`"),
    "duplicate_groups": Entry("texts that are the same but for case and space"),
    "ClassMetrics": Entry("precision, recall and F1 of one class"),
    "class_metrics": Entry(
        "F1 = 2 J / (1 + J), J = TP / (TP + FP + FN)", "precision_recall_fscore_support", "exact intervals"
    ),
    "measure": Entry("every figure with its interval"),
    "measure_labels": Entry("2 sum TP / (2 sum TP + sum FP + sum FN), its mean over labels", "f1_score", "intervals"),
    "choose_label_thresholds": Entry("largest F1 of each label, with m texts' worth of all labels", "", "m by folds"),
    "LabelThresholds": Entry("a threshold per label, and predictions by thresholds of other rows"),
    "measure_numbers": Entry("RMSE, MAE and R2, each with its interval"),
    "bootstrap": Entry("percentiles over random weights of groups, with one row more"),
    "proportion": Entry("Clopper-Pearson by the effective number of rows"),
    "proportion_interval": Entry("Clopper-Pearson"),
    "Threshold": Entry("a threshold, the share flagged and the share caught"),
    "choose_threshold": Entry("largest recall with at most this share of negatives flagged"),
    "constant_error": Entry("1 - share of the majority class"),
    "cover_hart_bound": Entry("R >= (1 - sqrt(1 - K/(K-1) R_1nn)) (K-1)/K"),
    "cover_hart_interval": Entry("from the bound at the least R_1nn to the largest R_1nn"),
    "corrected_t_test": Entry("t with variance (1/J + n_test/n_train) s^2"),
    "mcnemar": Entry("binomial on the rows where two models differ"),
    "friedman": Entry("chi^2 of ranks over folds"),
    "holm": Entry("step-down adjusted p-values"),
    # errors
    "TallywiseError": Entry("base class of our errors"),
    "ModelFileError": Entry(""),
    "NotLearnedError": Entry(""),
    "NoPossibleClassError": Entry(""),
    "SeparationError": Entry(""),
    "SeparationWarning": Entry(""),
    "NotSeparableError": Entry(""),
    "DivergenceError": Entry(""),
    "ConcentrationWarning": Entry(""),
    "OverwriteError": Entry(""),
    "UnreadCellsWarning": Entry(""),
}


def public() -> dict[str, object]:
    """Public objects by full name, each once."""
    found: dict[str, object] = {}
    for home in MODULES:
        module = importlib.import_module(home)
        for name in module.__all__:
            value = getattr(module, name)
            if not any(value is other for other in found.values()):
                found[f"{home}.{name}"] = value
    return found


def page() -> str:
    """The page."""
    lines = [
        "# Every public name",
        "",
        "Made by `python -m tools.names`. `same` means that scikit-learn has the name with the same parameters and "
        "attributes.",
        "",
        "| name | what it is | formula | in scikit-learn | beyond it |",
        "|---|---|---|---|---|",
    ]
    for name, value in public().items():
        entry = ENTRIES[name.rsplit(".", 1)[1]]
        first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
        formula = f"`{entry.formula}`" if any(c in entry.formula for c in "=^|()/+") else entry.formula
        cells = [f"`{name}`", first, formula, entry.counterpart, entry.differences]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write or check the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if PAGE.read_text() != page():
            sys.exit("docs/names.md is out of date: python -m tools.names")
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
