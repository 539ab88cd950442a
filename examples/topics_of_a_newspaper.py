"""Topics of texts without labels: how many there are, and what they are about.

Usage: ``topics_of_a_newspaper.py [FILE]``, any file that ``tally topics`` reads; by default the bundled reviews.
"""

import sys
from importlib.resources import files

from tallywise import CountVectorizer, LatentDirichletAllocation, choose_topics
from tallywise.reading import open_source


def main() -> None:
    """Choose the number of topics by held-out perplexity, then print them."""
    path = sys.argv[1] if len(sys.argv) > 1 else str(files("tallywise") / "demo_corpus" / "reviews.csv")
    texts = [record.text for record in open_source(path)]
    vectorizer = CountVectorizer(stop_words="english", min_df=2)
    X = vectorizer.fit_transform(texts)
    choice = choose_topics(X, [2, 4, 8, 16], cv=3)
    print(choice)
    model = LatentDirichletAllocation(n_components=choice.best, random_state=0).fit(X)
    words = vectorizer.get_feature_names_out()
    mixtures = model.transform(X)
    for topic, weights in enumerate(model.components_):
        top = ", ".join(words[j] for j in weights.argsort()[::-1][:8])
        print(f"topic {topic}: {top}\n    such as: {texts[mixtures[:, topic].argmax()][:90]}")


if __name__ == "__main__":
    main()
