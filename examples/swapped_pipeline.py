"""A scikit-learn pipeline with one import changed: the same parameters, the same answers, and a certificate."""

from importlib.resources import files

import numpy as np
import sklearn.feature_extraction.text
import sklearn.linear_model
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import tallywise
from tallywise.reading import open_source


def pipeline(text, linear):
    """The same lines for both libraries."""
    steps = [("counts", text.TfidfVectorizer(sublinear_tf=True)), ("model", linear.LogisticRegression(tol=1e-8))]
    grid = {"counts__ngram_range": [(1, 1), (1, 2)], "model__C": [1.0, 10.0]}
    return GridSearchCV(Pipeline(steps), grid, cv=3)


def main() -> None:
    """Fit both and compare."""
    records = list(open_source(str(files("tallywise") / "demo_corpus" / "messages.csv")))
    texts, labels = [record.text for record in records], [record.label for record in records]
    before = pipeline(sklearn.feature_extraction.text, sklearn.linear_model).fit(texts, labels)
    after = pipeline(tallywise, tallywise).fit(texts, labels)
    print("chosen by scikit-learn:", before.best_params_)
    print("chosen by tallywise:   ", after.best_params_)
    apart = np.abs(before.predict_proba(texts) - after.predict_proba(texts)).max()
    print(f"probabilities differ by at most {apart:.1e}")
    print(
        f"distance from the optimum, at most: {after.best_estimator_['model'].certificate_.relative_gap:.1e}, relative"
    )


if __name__ == "__main__":
    main()
