"""Reviews with stars: grades are ordered, so an error of four stars is worse than one of one."""

from importlib.resources import files

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from tallywise import LogisticRegression, OrdinalRegression, TfidfVectorizer
from tallywise.reading import open_source


def main() -> None:
    """Compare a model that knows the order of the grades with one that does not."""
    records = list(open_source(str(files("tallywise") / "demo_corpus" / "reviews.csv")))
    texts, stars = [record.text for record in records], np.array([int(record.label) for record in records])
    print(f"{len(texts)} reviews of 1 to 5 stars, {stars.mean():.1f} on average")
    models = {"classes without order": LogisticRegression(C=10), "ordered logit": OrdinalRegression(l2=0.3)}
    for name, model in models.items():
        found = cross_val_predict(make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), model), texts, stars, cv=5)
        apart = np.abs(found - stars)
        far = (apart > 1).mean()
        print(f"{name:22} wrong {(apart > 0).mean():.3f}, stars apart {apart.mean():.3f}, off by 2 or more {far:.3f}")

    vectorizer = TfidfVectorizer()
    model = OrdinalRegression(l2=0.3).fit(vectorizer.fit_transform(texts), stars)
    order, terms = np.argsort(model.coef_), vectorizer.get_feature_names_out()
    print("fewer stars:", ", ".join(terms[order[:8]]))
    print("more stars: ", ", ".join(terms[order[::-1][:8]]))


if __name__ == "__main__":
    main()
