"""A mail filter from a mailbox: learn, judge, explain, take back a mistake.

Usage: ``spam_from_a_mailbox.py [SPAM.mbox HAM.mbox]``; without files, two mailboxes are made of the bundled messages.
"""

import mailbox
import random
import sys
import tempfile
from email.message import EmailMessage
from importlib.resources import files
from pathlib import Path

from tallywise.reading import open_source
from tallywise.spam import SpamFilter


def bundled(folder: Path) -> tuple[Path, Path]:
    """Mailboxes of spam and of ham from the bundled messages."""
    boxes = {name: mailbox.mbox(folder / f"{name}.mbox") for name in ("spam", "ham")}
    for record in open_source(str(files("tallywise") / "demo_corpus" / "messages.csv")):
        message = EmailMessage()
        message["Subject"], message["From"] = "A message", "someone@example.org"
        message.set_content(record.text)
        boxes[record.label].add(message)
    for box in boxes.values():
        box.close()
    return folder / "spam.mbox", folder / "ham.mbox"


def messages(path: Path) -> list[bytes]:
    """The messages of a mailbox as they came."""
    box = mailbox.mbox(path)
    raws = [message.as_bytes() for message in box]
    box.close()
    return raws


def main() -> None:
    """Learn from nine messages of ten, judge the rest."""
    with tempfile.TemporaryDirectory() as folder:
        spam, ham = map(Path, sys.argv[1:3]) if len(sys.argv) > 2 else bundled(Path(folder))
        known = [(raw, "spam") for raw in messages(spam)] + [(raw, "ham") for raw in messages(ham)]
    random.Random(0).shuffle(known)  # a learner on line must not see one class first
    spam_filter = SpamFilter()  # in memory; SpamFilter("filter.db") keeps a journal on disk
    held_out = known[::10]
    for k, (raw, label) in enumerate(known):
        if k % 10:
            spam_filter.learn(raw, label)
    wrong = sum(spam_filter.classify(raw).label not in (label, "unsure") for raw, label in held_out)
    unsure = sum(spam_filter.classify(raw).label == "unsure" for raw, _ in held_out)
    print(f"{len(held_out)} messages held out: {wrong} called the wrong name, {unsure} left to a person")

    raw, label = held_out[0]
    verdict = spam_filter.classify(raw, reasons=5)
    print(f"the first, which is {label}, is called {verdict.label} (probability of spam {verdict.probability:.3f}):")
    for reason in verdict.reasons:
        print(f"  {reason}")

    mistake = next(raw for raw, label in known if label == "ham")
    spam_filter.learn(mistake, "spam")  # a slip of the mouse ...
    spam_filter.learn(mistake, "ham")  # ... put right: the later label replaces the earlier
    forgotten = spam_filter.forget(known[1][0])
    print(
        "one message forgotten", "exactly" if forgotten.exact else "approximately, until the journal has been replayed"
    )
    spam_filter.settle()
    print("replayed: exactly as if it had never been learned:", spam_filter.exact)


if __name__ == "__main__":
    main()
