"""Is one model better than another, or was it luck? The same folds, intervals, and tests that know of overlap."""

from importlib.resources import files

from sklearn.pipeline import make_pipeline

from tallywise import (
    ComplementNB,
    CountVectorizer,
    LinearSVC,
    LogisticRegressionCV,
    MultinomialNB,
    TfidfVectorizer,
    compare,
)
from tallywise.evaluation import duplicate_groups
from tallywise.reading import open_source


def main() -> None:
    """Compare five models; one that chooses its own settings is judged on rows that had no part in the choice."""
    records = list(open_source(str(files("tallywise") / "demo_corpus" / "messages.csv")))
    texts, labels = [record.text for record in records], [record.label for record in records]
    models = {
        "multinomial naive Bayes": make_pipeline(CountVectorizer(), MultinomialNB()),
        "complement naive Bayes": make_pipeline(CountVectorizer(), ComplementNB()),
        "naive Bayes, alpha by leave-one-out": make_pipeline(CountVectorizer(), MultinomialNB(alpha="loo")),
        "linear SVM": make_pipeline(TfidfVectorizer(), LinearSVC()),
        "logistic regression, C by folds": make_pipeline(
            TfidfVectorizer(),
            LogisticRegressionCV(Cs=5, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False),
        ),
    }
    found = compare(models, texts, labels, groups=duplicate_groups(texts))
    print(f"always the most frequent class: error {found.constant_error:.3f}")
    for result in found.results:
        error = result.figures["error"]
        print(f"{result.name:36} error {error.value:.3f}  ({error.low:.3f} to {error.high:.3f})")


if __name__ == "__main__":
    main()
