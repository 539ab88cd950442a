"""Write docs/names.md, the page of all public names: formula, promised feature, counterpart in scikit-learn."""

import argparse
import importlib
import inspect
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "names.md"
MODULES = ("tallywise", "tallywise.kernels", "tallywise.evaluation")


class Entry(NamedTuple):
    """What the docstring does not say. `rows` are those of the list of promised features."""

    rows: str
    formula: str
    counterpart: str = ""
    differences: str = ""


_CERTIFICATE = (
    "`tol` is the relative duality gap, reached or said; `certificate_`, `prior_`; every loss with every penalty"
)
_BAYES = "exact `forget`, `merge`, `leave_one_out`; new columns and classes in `partial_fit`; `alpha='loo'`"
_NEIGHBORS = "ties by training order; metrics as documented; `partial_fit`, `forget`"

ENTRIES = {
    # text
    "CountVectorizer": Entry("T1 T2", "x_j = count of term j", "same", "`partial_fit`, `deobfuscate`, `token_spans`"),
    "TfidfVectorizer": Entry("T1", "x_j = tf_j log((1 + n) / (1 + df_j)) + tf_j, over the norm", "same", "as above"),
    "TfidfTransformer": Entry("T1", "as TfidfVectorizer", "same"),
    "HashingVectorizer": Entry("T1", "column = |murmur3(term)| mod m", "same", "`token_spans`, `deobfuscate`"),
    "Binner": Entry("T3", "b(x) = number of edges <= x", "KBinsDiscretizer", "edges may be given"),
    # naive Bayes
    "BernoulliNB": Entry("N1 N6", "prod_j p_j^x_j (1 - p_j)^(1 - x_j)", "same", _BAYES),
    "MultinomialNB": Entry("N2 N6", "prod_j p_j^x_j", "same", f"priors by documents or tokens; {_BAYES}"),
    "ComplementNB": Entry("N2 N6", "prod_j q_j^-x_j, q of the other classes", "same", _BAYES),
    "PoissonNB": Entry("N2 N6", "prod_j l_j^x_j exp(-l_j) / x_j!", "", _BAYES),
    "CategoricalNB": Entry("N3", "p_ja = (n_ja + l) / (n + l K_j)", "same", f"unseen values; {_BAYES}"),
    "GaussianNB": Entry("N4 N6", "prod_j N(x_j; mu_j, v_j)", "same", f"shared variances; {_BAYES}"),
    "JointBayes": Entry("N5", "argmax_y count(x, y)"),
    "LinearRule": Entry("N6", "z = w'x + b"),
    "LeaveOneOut": Entry("N1", "scores of each row by a model of the others"),
    # linear
    "LogisticRegression": Entry("L1", "sum log(1 + exp(-y z)), softmax for K classes", "same", _CERTIFICATE),
    "LogisticRegressionCV": Entry("L2", "the same over a grid of C", "same", "one-standard-error rule; `certificate_`"),
    "LogisticPath": Entry("L2", "fits along a grid of C"),
    "LinearRegression": Entry("L2", "1/2 sum (y - z)^2", "same", "`summary()`; dependent columns: least norm"),
    "Ridge": Entry("L2", "1/2 sum (y - z)^2 + a/2 |w|^2", "same", _CERTIFICATE),
    "RidgeCV": Entry("L2", "the same over a grid of a", "same", "sparse X by folds"),
    "Lasso": Entry("L2", "1/2n sum (y - z)^2 + a |w|_1", "same", _CERTIFICATE),
    "LassoCV": Entry("L2", "the same over a path of a", "same", "one-standard-error rule"),
    "ElasticNet": Entry("L2", "1/2n sum (y - z)^2 + a r |w|_1 + a (1 - r)/2 |w|^2", "same", _CERTIFICATE),
    "ElasticNetCV": Entry("L2", "the same over a path of a, for each r", "same", "one-standard-error rule"),
    "MinimaxConcaveRegression": Entry("L2", "1/2n sum (y - z)^2 + sum a |w| - w^2/2g, flat from |w| = g a on"),
    "lasso_path": Entry("L2", "as Lasso", "same"),
    "enet_path": Entry("L2", "as ElasticNet", "same"),
    "LinearSVC": Entry(
        "S1 S2 S6", "1/2 |w|^2 + C sum max(0, 1 - y z)", "same", "C=inf; modified Huber loss; `certificate_`"
    ),
    "LinearSVR": Entry("S7", "1/2 |w|^2 + C sum max(0, |y - z| - e)", "same", "Huber loss; `certificate_`"),
    "Perceptron": Entry("L4", "w += y x on a mistake", "same", "`averaged`, `mistakes_`, `mistake_bound_`"),
    "LeastMeanSquares": Entry("L5", "theta += a (y - theta'phi(x)) phi(x)"),
    "OrdinalRegression": Entry("L3", "P(y <= k) = F(t_k - w'x)", "", "as statsmodels; sparse, penalised"),
    # kernels
    "SVC": Entry("S1 S2 S6", "sum_i a_i y_i k(x_i, x) + b", "same", "`certificate_`; any `tallywise.kernels`; C=inf"),
    "SVR": Entry("S7", "sum_i (a_i - a'_i) k(x_i, x) + b", "same", "`certificate_`; any `tallywise.kernels`"),
    "KernelRidge": Entry("S5", "(K + a I) c = y", "same", "leave-one-out residuals; a road without K in memory"),
    "KernelLeastMeanSquares": Entry("S5", "beta += a (y - K beta)"),
    "KernelPerceptron": Entry("L4", "beta_i += y_i on a mistake"),
    "Nystroem": Entry("S3", "k(x, Z) k(Z, Z)^-1/2", "same", "an error bound"),
    "RandomFourierFeatures": Entry("S3", "sqrt(2/D) cos(w'x + b)", "RBFSampler", "an error bound"),
    # neighbours
    "NearestNeighbors": Entry("K1", "the k least d(x, x_i)", "same", _NEIGHBORS),
    "KNeighborsClassifier": Entry("K1", "mode of the k nearest", "same", _NEIGHBORS),
    "KNeighborsRegressor": Entry("K1", "mean of the k nearest", "same", _NEIGHBORS),
    "KNeighborsClassifierCV": Entry("K2", "every k by one pass"),
    "KNeighborsRegressorCV": Entry("K2", "every k by one pass"),
    "distance_concentration": Entry("K3", "(d_max - d_min) / d_min"),
    "edge_length": Entry("K3", "(k / n)^(1 / d)"),
    "Concentration": Entry("K3", "what `distance_concentration` found"),
    # topics
    "Dirichlet": Entry("D1", "prod x_k^(a_k - 1) / B(a)", "", "scipy.stats.dirichlet, with `fit`"),
    "Beta": Entry("D1", "x^(a-1) (1-x)^(b-1) / B(a, b)", "", "scipy.stats.beta, with `fit`"),
    "LatentDirichletAllocation": Entry("D2", "p(w|d) = sum_k theta_dk phi_kw", "same", "collapsed, Gibbs and online"),
    "HeldOut": Entry("D2", "held-out log likelihood"),
    "choose_topics": Entry("D2", "least held-out perplexity over K"),
    "TopicChoice": Entry("D2", "what `choose_topics` found"),
    # one text model
    "TextClassifier": Entry("E1 E4 A1", "text -> counts -> weights -> scores -> probabilities -> verdict"),
    "TextModel": Entry("E4 A1", "the serve side of TextClassifier"),
    "load": Entry("A1", "a model from its file"),
    "compare": Entry("E2 E3", "nested cross-validation, paired tests, cost"),
    # kernels by name
    "Linear": Entry("S3", "x'z", "linear_kernel"),
    "Polynomial": Entry("S3", "(g x'z + c)^q", "polynomial_kernel"),
    "MonomialSum": Entry("S3", "1 + s + ... + s^q, s = x'z"),
    "Gaussian": Entry("S3", "exp(-g |x - z|^2)", "rbf_kernel"),
    "RationalQuadratic": Entry("S3", "(1 + g |x - z|^2 / a)^-a"),
    "Laplacian": Entry("S3", "exp(-g |x - z|_1)", "laplacian_kernel"),
    "Sigmoid": Entry("S3", "tanh(g x'z + c), not always a kernel", "sigmoid_kernel"),
    "Cosine": Entry("S3", "x'z / (|x| |z|)", "cosine_similarity"),
    "Spectrum": Entry("S3", "common substrings of length n, on texts"),
    "Sum": Entry("S3", "k + l"),
    "Product": Entry("S3", "k l"),
    "Scaled": Entry("S3", "c k, c > 0"),
    "Normalised": Entry("S3", "k(x, z) / sqrt(k(x, x) k(z, z))"),
    "Function": Entry("S3", "your own k"),
    "Precomputed": Entry("S3", "K itself"),
    "Kernel": Entry("S3", "what all of them share"),
    "KernelCheck": Entry("S4", "what a check found"),
    "as_kernel": Entry("S3", "scikit-learn's strings and callables as kernels"),
    "check_kernel": Entry("S4", "v'Kv >= 0 for all v, on a sample"),
    "check_feature_map": Entry("S4", "phi(x)'phi(z) = k(x, z), on a sample"),
    # evaluation
    "Calibration": Entry("E1", "p = sigmoid(a z + b), or softmax(a z)"),
    "calibrate": Entry("E1", "least log loss over a and b", "CalibratedClassifierCV"),
    "Comparison": Entry("E2", "what `compare` found"),
    "Standing": Entry("E2", "one model's place"),
    "Figure": Entry("E1", "a value and its interval"),
    "Folds": Entry("E1", "train and test rows"),
    "make_folds": Entry("E1", "K folds that keep groups together", "StratifiedGroupKFold", "says what it did"),
    "duplicate_groups": Entry("E1", "texts that are the same but for case and space"),
    "measure": Entry("E1", "every figure with its interval"),
    "bootstrap": Entry("E1", "percentiles over resampled groups"),
    "proportion_interval": Entry("E1", "Clopper-Pearson"),
    "Threshold": Entry("E1", "what a threshold costs and brings"),
    "threshold_at_budget": Entry("E1", "largest recall at most this much of a class lost"),
    "constant_error": Entry("E3", "1 - share of the commonest class"),
    "cover_hart_bound": Entry("E3", "R >= (1 - sqrt(1 - K/(K-1) R_1nn)) (K-1)/K"),
    "corrected_t_test": Entry("E2", "t with variance (1/J + n_test/n_train) s^2"),
    "mcnemar": Entry("E2", "binomial on the rows where two models differ"),
    "friedman": Entry("E2", "chi^2 of ranks over folds"),
    "holm": Entry("E2", "step-down adjusted p-values"),
    # errors
    "TallywiseError": Entry("", "the base of ours"),
    "ModelFileError": Entry("A1", ""),
    "NotLearnedError": Entry("N1", ""),
    "NoPossibleClassError": Entry("N1", ""),
    "SeparationError": Entry("L1", ""),
    "NotSeparableError": Entry("S1", ""),
    "DivergenceError": Entry("L5", ""),
    "ConcentrationWarning": Entry("K3", ""),
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
        "Made by `python -m tools.names`. Rows are those of the list of promised features: T text, N naive Bayes, "
        "L linear models, S margins and kernels, K neighbours, D topics, E evaluation, A the tool. `same` means that "
        "scikit-learn has the name with the same parameters and attributes.",
        "",
        "| name | what it is | formula | rows | in scikit-learn | beyond it |",
        "|---|---|---|---|---|---|",
    ]
    for name, value in public().items():
        entry = ENTRIES[name.rsplit(".", 1)[1]]
        first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
        formula = f"`{entry.formula}`" if any(c in entry.formula for c in "=^|()/+") else entry.formula
        cells = [f"`{name}`", first, formula, entry.rows, entry.counterpart, entry.differences]
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
