"""Forget a customer's texts: the model afterwards is, to the last bit, the one that never saw them."""

from importlib.resources import files

import numpy as np

from tallywise import CountVectorizer, MultinomialNB
from tallywise.reading import open_source


def main() -> None:
    """Learn everything, forget one customer, compare with a model of the others."""
    records = list(open_source(str(files("tallywise") / "demo_corpus" / "messages.csv")))
    X = CountVectorizer().fit_transform([record.text for record in records])
    y = np.array([record.label for record in records])
    customer = np.arange(len(records)) % 7 == 3  # whose texts these are

    model = MultinomialNB().fit(X, y)
    model.forget(X[customer], y[customer])
    never = MultinomialNB().fit(X[~customer], y[~customer])

    same = np.array_equal(model.feature_count_, never.feature_count_)
    print(f"{customer.sum()} of {len(records)} texts forgotten; counts equal those of never having learned: {same}")
    print("probabilities equal, bit for bit:", np.array_equal(model.predict_proba(X), never.predict_proba(X)))
    try:
        model.forget(X[customer], y[customer])
    except ValueError as refusal:
        print("once more is refused:", str(refusal).splitlines()[0])


if __name__ == "__main__":
    main()
