"""Several labels a text: what a hotel's guests write about, and which words say so."""

import numpy as np

from tallywise import MultiLabelTextClassifier

PARTS = {
    "room": ["the bed was hard", "a tiny room without a window", "clean sheets and a quiet room", "the shower leaked"],
    "staff": ["the receptionist was rude", "friendly staff", "nobody answered at the desk", "the waiter smiled"],
    "food": ["cold breakfast", "the best dinner in town", "coffee like water", "fresh bread every morning"],
    "price": ["far too expensive", "good value for the money", "they charged us twice", "cheap for what you get"],
}
REST = ["we stayed for a week", "our second visit", "we came by train", "see you next year"]

random = np.random.default_rng(0)
texts, labels = [], []
for _ in range(400):
    about = [name for name in PARTS if random.random() < 0.35]
    said = [str(random.choice(PARTS[name])) for name in about] + [str(random.choice(REST))]
    random.shuffle(said)
    texts.append(", ".join(said))
    labels.append(about)

model = MultiLabelTextClassifier().fit(texts, labels)
for name in ("micro_f1", "macro_f1", "exact_match"):
    print(model.figures_[name])

review = "The staff was friendly, but breakfast was cold and far too expensive."
print(review, "->", ", ".join(model.predict_labels([review])[0]))
for label in model.predict_labels([review])[0]:
    print("  ", model.explain(review, label))
