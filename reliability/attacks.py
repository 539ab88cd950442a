"""How well does the mail filter stand attacks? ``python -m reliability.run attacks [--full]``.

Three filters learn the first half of SpamAssassin's public archive, each message in its turn, and judge the second half
at the threshold that flags 0.1 % of its ham: ours, bogofilter with its own settings, and multinomial naive Bayes on the
words that readers see. The attacker has another archive (CSDMC 2010) to choose words from.

passive   150 words, the most typical of ham there, in front of every spam that was caught (Lowd, Meek, 2005)
queries   30 words, by asking the filter itself about each of many candidates in front of a few spam messages
poison    one message in a hundred that is learned is spam whose body is a list of words (Nelson et al., 2008); the
          threshold is set anew

Shares are of all spam of the second half: what passes newly, and what passes in all. For poison also what the guard
sets aside. Without --full the attacker asks about 50 words instead of 1,000.
"""

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from reliability.results import Measured
from tallywise import CountVectorizer, MultinomialNB
from tallywise.reading.mail import mail_text
from tallywise.spam import SpamFilter
from tests.mail import csdmc, spamassassin

Mail = tuple[bytes, str]

Shares = dict[str, float]

PASSIVE, QUERIED, DICTIONARY = 150, 30, 20_000
FLAGGED = 0.001
ATTACKS = {
    "passive": "150 words typical of ham in front of every spam, at 0.1 % of ham flagged",
    "queries": "30 words in front of every spam, chosen by asking the filter, at 0.1 % of ham flagged",
    "poison": "one message in a hundred that is learned is a list of words called spam, at 0.1 % of ham flagged",
}
_ASKED_ABOUT = 5  # messages, those nearest to the threshold
_WORD = re.compile(r"\b[a-z]{3,20}\b")


class Filter(Protocol):
    """What is attacked."""

    def learn(self, messages: Sequence[Mail]) -> None:
        """Learn messages in order."""

    def scores(self, raws: Sequence[bytes]) -> list[float]:
        """A number for each, higher for spam."""


class Ours:
    """tallywise's filter."""

    def __init__(self) -> None:
        self._mail = SpamFilter()

    def learn(self, messages: Sequence[Mail]) -> None:
        """Learn messages in order."""
        self._mail.learn_many(messages)

    def scores(self, raws: Sequence[bytes]) -> list[float]:
        """Log-odds of spam."""
        return [self._mail.score(raw) for raw in raws]


class Bogofilter:
    """bogofilter, as installed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()

    def learn(self, messages: Sequence[Mail]) -> None:
        """Learn messages: spam, then ham; it counts, so that their order does not matter."""
        for label, flag in (("spam", "-s"), ("ham", "-n")):
            self._run([flag], [raw for raw, is_ in messages if is_ == label])

    def scores(self, raws: Sequence[bytes]) -> list[float]:
        """Probability of spam."""
        lines = self._run(["-TT"], raws).splitlines()
        return [float(line.split()[-1]) for line in lines]

    def _run(self, options: list[str], raws: Sequence[bytes]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            names = []
            for k, raw in enumerate(raws):
                names.append(os.path.join(folder, str(k)))
                Path(names[-1]).write_bytes(raw)
            program = ["bogofilter", "-d", self._folder.name, "-b", *options]
            done = subprocess.run(program, check=False, input="\n".join(names) + "\n", capture_output=True, text=True)
        if done.returncode not in (0, 1, 2):
            raise RuntimeError(done.stderr)
        return done.stdout


class NaiveBayes:
    """Multinomial naive Bayes on counts of words."""

    def __init__(self) -> None:
        self._words, self._model = CountVectorizer(), MultinomialNB()

    def learn(self, messages: Sequence[Mail]) -> None:
        """Learn messages at once."""
        X = self._words.fit_transform([mail_text(raw) for raw, _ in messages])
        self._model.fit(X, [label for _, label in messages])

    def scores(self, raws: Sequence[bytes]) -> list[float]:
        """Log-odds of spam."""
        scores = self._model.predict_joint_log_proba(self._words.transform([mail_text(raw) for raw in raws]))
        return list(scores[:, 1] - scores[:, 0])


FILTERS: dict[str, type[Filter]] = {"tallywise": Ours, "bogofilter": Bogofilter, "naive Bayes": NaiveBayes}


def with_words(raw: bytes, words: Sequence[str]) -> bytes:
    """A message with words in front of its first readable text."""
    lines = "\n".join(" ".join(words[k : k + 10]) for k in range(0, len(words), 10)).encode()
    place = _text_start(raw)
    return raw[:place] + lines + b"\n" + raw[place:]


def _text_start(raw: bytes) -> int:
    """Where the first part begins that is text and not base64; behind the header where there is none."""
    first = _head_end(raw, 0)
    head = raw[:first].lower()
    if b"multipart/" not in head:
        return first
    for found in re.compile(rb"\n--[^\n]{1,80}\n").finditer(raw, first - 1, first + 200_000):
        start = found.end()
        stop = _head_end(raw, start)
        part = raw[start:stop].lower()
        if b"multipart/" not in part and b"base64" not in part and (b"text/" in part or b"content-type" not in part):
            return stop
    return first


def _head_end(raw: bytes, start: int) -> int:
    ends = [raw.find(gap, start) + len(gap) for gap in (b"\r\n\r\n", b"\n\n") if raw.find(gap, start) >= 0]
    return min(ends) if ends else len(raw)


def typical_words(messages: Iterable[Mail]) -> list[str]:
    """Words of ham, the most typical first: by the share of ham that has them, less the share of spam."""
    seen = {"spam": Counter[str](), "ham": Counter[str]()}
    total: Counter[str] = Counter()
    for raw, label in messages:
        seen[label].update(set(_WORD.findall(mail_text(raw).lower())))
        total[label] += 1
    gain = {word: n / total["ham"] - seen["spam"][word] / total["spam"] for word, n in seen["ham"].items()}
    return sorted(gain, key=lambda word: (-gain[word], word))


def threshold(scores: Sequence[float], most: float = FLAGGED) -> float:
    """The lowest score above which at most that share of ham lies."""
    return sorted(scores)[-1 - int(most * len(scores))]


def asked_words(mail: Filter, spam: Sequence[bytes], candidates: Sequence[str]) -> list[str]:
    """The words that lower the filter's score the most, by its own answers."""
    drop: Counter[str] = Counter()
    for raw in spam:
        base, *scores = mail.scores([raw, *(with_words(raw, [word]) for word in candidates)])
        for word, score in zip(candidates, scores, strict=True):
            drop[word] += base - score
    return [word for word, _ in drop.most_common(QUERIED)]


def poison(words: Sequence[str], n: int, draw: random.Random) -> list[Mail]:
    """Spam whose body is the attacker's dictionary, in another order each time."""
    found: list[Mail] = []
    for k in range(n):
        body = draw.sample(list(words), len(words))
        lines = "\n".join(" ".join(body[i : i + 10]) for i in range(0, len(body), 10))
        host = f"h{draw.randrange(10**6)}.example"
        head = f"From: a{k}@{host}\nTo: user@example.org\nSubject: {' '.join(body[:4])}\nMessage-ID: <{k}@{host}>\n"
        found.append((f"{head}\n{lines}\n".encode(), "spam"))
    return found


def passing(mail: Filter, caught: Sequence[bytes], limit: float) -> int:
    """How many messages are at or below a threshold."""
    return sum(bool(score <= limit) for score in mail.scores(caught))


def attacked(name: str, learned: Sequence[Mail], judged: Sequence[Mail], words: Sequence[str], asked: int) -> Shares:
    """Shares of all spam: missed without an attack, and newly passing under each."""
    draw = random.Random(0)
    ham, spam = ([raw for raw, label in judged if label == wanted] for wanted in ("ham", "spam"))
    mail = FILTERS[name]()
    mail.learn(learned)
    limit = threshold(mail.scores(ham))
    caught = sorted((score, raw) for score, raw in zip(mail.scores(spam), spam, strict=True) if score > limit)
    raws = [raw for _, raw in caught]
    chosen = asked_words(mail, raws[:_ASKED_ABOUT], words[:asked])
    shares = {
        "missed": 1 - len(raws) / len(spam),
        "passive": passing(mail, [with_words(raw, words[:PASSIVE]) for raw in raws], limit) / len(spam),
        "queries": passing(mail, [with_words(raw, chosen) for raw in raws], limit) / len(spam),
    }
    bad = poison(words[:DICTIONARY], len(learned) // 99, draw)
    mixed = list(learned)
    for message in bad:
        mixed.insert(draw.randrange(len(mixed) + 1), message)
    poisoned = FILTERS[name]()
    poisoned.learn(mixed)
    shares["poison"] = passing(poisoned, raws, threshold(poisoned.scores(ham))) / len(spam)
    return shares


def measure(full: bool, seconds: float | None) -> Iterator[Measured]:
    """The three filters under the three attacks; they end by themselves, whatever `seconds` says."""
    stream, words = spamassassin(), typical_words(csdmc())
    half = len(stream) // 2
    there = [name for name in FILTERS if name != "bogofilter" or shutil.which("bogofilter")]
    found = {name: attacked(name, stream[:half], stream[half:], words, 1000 if full else 50) for name in there}
    for attack, title in ATTACKS.items():
        newly = found["tallywise"][attack]
        passes = {name: shares["missed"] + shares[attack] for name, shares in found.items()}
        figures = {"% newly pass": percent(newly)}
        figures |= {f"% pass {name} in all": percent(share) for name, share in passes.items()}
        yield Measured(
            f"attack_{attack}",
            title,
            "of all spam, no more passes newly than half of what passes each of the others",
            figures,
            [
                f"{newly:.2%} pass newly; {share:.2%} pass {name}"
                for name, share in passes.items()
                if name != "tallywise" and 2 * newly > share
            ],
            "python -m reliability.run attacks --full",
        )


def percent(share: float) -> float:
    """A share in per cent, to be read."""
    return round(100 * share, 2)
