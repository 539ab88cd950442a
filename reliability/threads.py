"""Readers beside a writer: ``python -m reliability.run threads [--full]``.

Sixteen threads ask while another one learns. Every answer must be that of some committed version, to the bit, and no
thread may see an older version after a newer one. Asked are the mail filter, learning one message or several in one
transaction, and a text model whose file is replaced while it is loaded and asked.

``python -m reliability.threads`` makes one round of each in this process, for a build with ThreadSanitizer.
"""

import json
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tallywise
from reliability.kills import stream
from reliability.models import texts
from reliability.results import MEMORY, Limit, Measured, ended
from tallywise import TextClassifier
from tallywise.spam import SpamFilter

READERS = 16

Answers = list[tuple[int, Any]]  # which question, and the answer


def beside(ask: Callable[[int], Any], questions: int, write: Callable[[], None]) -> list[Answers]:
    """What each reader was told while `write` ran, question by question."""
    over = threading.Event()
    ready = threading.Barrier(READERS + 1)
    found: list[Answers] = [[] for _ in range(READERS)]

    def read(number: int) -> None:
        ready.wait()
        k = number
        last = False
        while not last:
            last = over.is_set()  # each asks at least once, and once when all is written
            found[number].append((k % questions, ask(k % questions)))
            k += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    for thread in threads:
        thread.start()
    ready.wait()
    try:
        write()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return found


def out_of_order(found: list[Answers], versions: list[list[Any]]) -> list[str]:
    """Answers that no version gives, or only one older than what the thread has seen; versions[v][question]."""
    wrong = []
    for number, answers in enumerate(found):
        seen = 0
        for question, answer in answers:
            fits = next((v for v in range(seen, len(versions)) if versions[v][question] == answer), None)
            if fits is None:
                older = any(version[question] == answer for version in versions[:seen])
                wrong.append(
                    f"reader {number}, question {question}: {answer} is "
                    + ("of an older version than one seen before" if older else "of no version")
                )
                break
            seen = fits
    return wrong


def filter_round(seed: int, store: Path | None, messages: int = 300) -> tuple[int, int, list[str]]:
    """Scores of the mail filter while it learns: answers, versions, and what was wrong."""
    learned, asked = stream(seed, messages), [raw for raw, _ in stream(seed + 1_000_000, 12)]
    commits = []
    while learned:
        size = 1 + len(commits) % 4
        commits.append(learned[:size])
        del learned[:size]
    with SpamFilter() as mail:
        versions = [[mail.score(raw) for raw in asked]]
        for commit in commits:
            mail.learn_many(commit)
            versions.append([mail.score(raw) for raw in asked])
    with SpamFilter(store) as mail:

        def write() -> None:
            for commit in commits:
                mail.learn_many(commit)
                time.sleep(0.001)  # others may have the interpreter

        found = beside(lambda k: mail.score(asked[k]), len(asked), write)
    return sum(map(len, found)), len(versions), out_of_order(found, versions)


def model_round(seed: int, folder: Path, files: int = 6) -> tuple[int, int, list[str]]:
    """Probabilities of a model whose file is replaced by others: answers, versions, and what was wrong."""
    asked = ["win a prize now", "lunch at noon", "the minister said", ""]
    contents, versions = [], []
    place = folder / "model.tally"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(files):
            said, labels = texts(60 + 10 * k, seed=100 * seed + k)
            TextClassifier("multinomial_nb", cv=2).fit(said, labels).save(place)
            contents.append(place.read_bytes())
            model = tallywise.load(place)
            versions.append([model.predict_proba([text]).tobytes() for text in asked])
    current = [tallywise.load(place)]
    versions = [versions[-1], *versions]  # what is there before the first is written anew

    def write() -> None:
        for content in contents:
            other = folder / "next.tally"
            other.write_bytes(content)
            other.replace(place)
            current[0] = tallywise.load(place)
            time.sleep(0.02)

    found = beside(lambda k: current[0].predict_proba([asked[k]]).tobytes(), len(asked), write)
    return sum(map(len, found)), len(versions), out_of_order(found, versions)


def rounds(seed: int) -> Iterator[tuple[str, int, int, list[str]]]:
    """One round of each."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield "filter in memory", *filter_round(seed, None, 100)
        yield "filter in a file", *filter_round(seed, Path(folder, "mail.spam"), 40)
        yield "text model", *model_round(seed, Path(folder), 4)


def measure(full: bool, seconds: float | None) -> Iterator[Measured]:
    """Two hundred rounds with `full`, else two."""
    limit = Limit(seconds)
    made = answers = versions = 0
    wrong: list[str] = []
    wanted = 200 if full else 2
    while made < wanted and not limit.over():
        for name, told, known, lines in rounds(made):
            answers += told
            versions += known
            wrong += [f"round {made}, {name}: {line}" for line in lines]
        made += 1
    yield Measured(
        "threads",
        f"{READERS} threads that ask the mail filter, or a text model, while another learns, or replaces its file"
        + ended(made, wanted),
        "every answer is that of some committed version to the bit, and a thread never sees an older one again",
        {"rounds": made, "versions": versions, "answers": answers},
        wrong,
    )


if __name__ == "__main__":
    print(json.dumps([(name, told, known, lines) for name, told, known, lines in rounds(int([*sys.argv, "0"][1]))]))
