"""Route support tickets where some mistakes cost more than others."""

import csv
from pathlib import Path

from tallywise import TextClassifier

TICKETS = Path(__file__).parent / "tickets.csv"


def main() -> None:
    """An outage taken for a question costs ten times as much as any other mistake."""
    with TICKETS.open(encoding="utf-8", newline="") as stream:
        texts, labels = zip(*((row["text"], row["label"]) for row in csv.DictReader(stream)), strict=True)
    costs = {("outage", "question"): 10.0, ("outage", "billing"): 10.0}
    model = TextClassifier(costs=costs).fit(texts, labels)
    print(*model.description_, sep="\n")
    for ticket in ("Orders fail with error 503", "Where is the invoice for May?", "Can I use it without a connection?"):
        why = model.explain(ticket)
        words = ", ".join(f"{word.term} {word.contribution:+.2f}" for word in why.words[:3])
        print(f"{why.label:9} {ticket}   ({words})")
    unclear = "Why is the page so slow today?"
    shares = dict(zip(model.classes_, model.predict_proba([unclear])[0], strict=True))
    called = model.predict([unclear])[0]
    print(f"{called:9} {unclear}   (least expected cost; outage with probability {shares['outage']:.2f})")


if __name__ == "__main__":
    main()
