"""Which texts to label next: the least certain ones teach more than those that come first."""

from importlib.resources import files

import numpy as np

from tallywise import LogisticRegression, TfidfVectorizer
from tallywise.reading import open_source


def curve(X, y, test, order):
    """Accuracy on held-out rows after each ten labels; `order` picks the next row from those left."""
    left = [i for i in range(X.shape[0]) if not test[i]]
    known = [next(i for i in left if y[i] == name) for name in np.unique(y)]  # one example a class
    left = [i for i in left if i not in known]
    reached = []
    for _ in range(12):
        for _ in range(10):
            model = LogisticRegression(C=10).fit(X[known], y[known])
            known.append(left.pop(order(model, X[left])))
        reached.append((LogisticRegression(C=10).fit(X[known], y[known]).predict(X[test]) == y[test]).mean())
    return reached


def main() -> None:
    """Print both curves."""
    records = list(open_source(str(files("tallywise") / "demo_corpus" / "messages.csv")))
    X = TfidfVectorizer(sublinear_tf=True).fit_transform([record.text for record in records])
    y = np.array([record.label for record in records])
    draw = np.random.default_rng(0)
    test = draw.random(len(y)) < 0.4
    uncertain = curve(X, y, test, lambda model, rows: int(model.predict_proba(rows).max(axis=1).argmin()))
    by_chance = curve(X, y, test, lambda model, rows: int(draw.integers(rows.shape[0])))
    print("labels   least certain first   by chance")
    for k, (a, b) in enumerate(zip(uncertain, by_chance, strict=True)):
        print(f"{10 * (k + 1) + 2:6}   {a:19.3f}   {b:9.3f}")


if __name__ == "__main__":
    main()
