"""The pictures of docs/course, one function per chapter: ``python -m tools.pictures course``."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CORPUS = ROOT / "src" / "tallywise" / "demo_corpus" / "messages.csv"
BLUE, RED, GREY = "#2b6cb0", "#c05621", "#718096"


def bayes(figure: Any) -> None:
    """Share of new rows that equal a training row, by columns."""
    from tallywise import JointBayes

    draw, axes = np.random.default_rng(0), figure.subplots()
    columns = range(1, 26)
    for n, colour in ((100, GREY), (1000, BLUE), (10_000, RED)):
        share = []
        for d in columns:
            X = draw.integers(0, 2, (n, d))
            share.append(JointBayes().fit(X, draw.integers(0, 2, n)).coverage(draw.integers(0, 2, (1000, d))))
        axes.plot(columns, share, color=colour, label=f"{n:,} training rows")
    axes.set(xlabel="columns of 0 and 1", ylabel="share of new rows seen in training")
    axes.legend()


def smoothing(figure: Any) -> None:
    """Leave-one-out log loss against alpha."""
    from tallywise import BernoulliNB, CountVectorizer, MultinomialNB

    with CORPUS.open(encoding="utf-8", newline="") as stream:
        texts, labels = zip(*((row["text"], row["label"]) for row in csv.DictReader(stream)), strict=True)
    X, axes, alphas = CountVectorizer().fit_transform(texts), figure.subplots(), np.logspace(-4, 2, 40)
    for model, colour in ((MultinomialNB(), BLUE), (BernoulliNB(), RED)):
        curve = model.leave_one_out(X, np.array(labels), alphas)
        axes.semilogx(alphas, curve.log_loss, color=colour, label=type(model).__name__)
        axes.plot(curve.best_alpha, curve.log_loss.min(), "o", color=colour)
    axes.set(xlabel="alpha", ylabel="log loss, each text left out", ylim=(0, 3))
    axes.legend()


def linear(figure: Any) -> None:
    """Weights against C, ridge and lasso."""
    from sklearn.datasets import load_breast_cancer

    from tallywise import LogisticRegression

    X, y = load_breast_cancer(return_X_y=True)
    X = (X[:, :10] - X[:, :10].mean(axis=0)) / X[:, :10].std(axis=0)
    grid = np.logspace(-3, 1, 30)
    for axes, ratio, title in zip(figure.subplots(1, 2, sharey=True), (0, 1), ("ridge", "lasso"), strict=True):
        weights = np.array([LogisticRegression(C=C, l1_ratio=ratio).fit(X, y).coef_[0] for C in grid])
        axes.semilogx(grid, weights, linewidth=1.2)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set(xlabel="C, from strong to weak penalty", title=title)


def margins(figure: Any) -> None:
    """The five points, their hyperplane and its margin."""
    from tallywise import LinearSVC

    X = np.array([[1.0, 3.0], [3.0, 3.0], [4.0, 4.0], [2.0, 1.0], [5.0, 2.0]])
    model = LinearSVC(C=np.inf).fit(X, [1, 1, 1, -1, -1])
    (w,), b, axes = model.coef_, model.intercept_[0], figure.subplots()
    x = np.array([0.0, 6.0])
    for level, style in ((0, "-"), (1, "--"), (-1, "--")):
        axes.plot(x, (level - b - w[0] * x) / w[1], style, color=GREY)
    axes.scatter(*X[model.support_].T, s=220, facecolors="none", edgecolors=GREY, label="support vectors")
    axes.scatter(*X[:3].T, color=BLUE, label="y = 1")
    axes.scatter(*X[3:].T, color=RED, label="y = -1")
    axes.set(xlim=(0, 6), ylim=(0, 5), aspect="equal", title=f"margin {model.margin_:.4f}")
    axes.legend(loc="upper left")


def kernels(figure: Any) -> None:
    """A circle inside a ring, and the score of a polynomial kernel."""
    from tallywise import SVC
    from tallywise.kernels import Polynomial

    draw = np.random.default_rng(0)
    radius, angle = np.r_[draw.uniform(0, 0.8, 30), draw.uniform(1.4, 2, 30)], draw.uniform(0, 2 * np.pi, 60)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    model = SVC(kernel=Polynomial(degree=2), C=np.inf).fit(X, np.repeat([1, 0], 30))
    side = np.linspace(-2.2, 2.2, 200)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    score, axes = model.decision_function(grid).reshape(200, 200), figure.subplots()
    axes.contour(side, side, score, levels=[-1, 0, 1], colors=GREY, linestyles=["--", "-", "--"])
    axes.scatter(*X[:30].T, color=BLUE)
    axes.scatter(*X[30:].T, color=RED)
    axes.set(aspect="equal", title="(1 + x'z)$^2$, hard margin")


def neighbours(figure: Any) -> None:
    """Distances from one point to others, by dimension."""
    draw, axes = np.random.default_rng(0), figure.subplots()
    for d, colour in ((2, GREY), (20, BLUE), (2000, RED)):
        points = draw.random((501, d))
        distance = np.linalg.norm(points[1:] - points[0], axis=1)
        axes.hist(distance / distance.mean(), 30, (0, 2.2), histtype="step", color=colour, label=f"{d:,} columns")
    axes.set(xlabel="distance over the mean distance", ylabel="points out of 500")
    axes.legend()


def topics(figure: Any) -> None:
    """Draws from three Dirichlet distributions over three outcomes."""
    from tallywise import Dirichlet

    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    for axes, alpha in zip(figure.subplots(1, 3), (0.2, 1.0, 10.0), strict=True):
        x = Dirichlet([alpha] * 3).sample(400, random_state=0) @ corners
        axes.plot(*corners[[0, 1, 2, 0]].T, color=GREY, linewidth=0.8)
        axes.scatter(*x.T, s=4, color=BLUE)
        axes.set(aspect="equal", title=f"alpha = {alpha:g} each")
        axes.axis("off")


def evaluation(figure: Any) -> None:
    """Exact intervals of an error of 5 %, by rows."""
    from tallywise.evaluation import proportion_interval

    axes, rows = figure.subplots(), np.array([20, 40, 100, 200, 400, 1000, 2000])
    ends = np.array([proportion_interval(n // 20, n) for n in rows])
    axes.errorbar(rows, np.full(len(rows), 5.0), 100 * np.abs(ends.T - 0.05), fmt="o", color=BLUE, capsize=4)
    axes.set(xscale="log", xlabel="held-out rows", ylabel="error, %", ylim=(0, None))
    axes.set_xticks(rows, [f"{n:,}" for n in rows])


CHAPTERS: dict[str, Callable[[Any], None]] = {
    maker.__name__: maker for maker in (bayes, smoothing, linear, margins, kernels, neighbours, topics, evaluation)
}


def draw() -> None:
    """All of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, maker in CHAPTERS.items():
        figure = pyplot.figure(figsize=(6, 3.6), layout="constrained")
        maker(figure)
        figure.savefig(IMAGES / f"course-{name}.png", dpi=110)
        pyplot.close(figure)
