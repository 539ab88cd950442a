"""Made-up and real mail, filters that have learned it, and servers to talk to, for tests."""

import random
import re
import subprocess
import sys

import pytest

from benchmarks import datasets
from tallywise.spam import SpamFilter

WORDS = {
    "spam": "cheap pills winner prize click casino offer free money now".split(),
    "ham": "lunch meeting patch kernel review notes draft garden family train".split(),
}


SPAM = b"From: a1@relay.example\nSubject: cheap pills winner\n\ncheap pills winner prize click casino now\n"
HAM = b"From: a1@mx.example\nSubject: lunch meeting\n\nlunch meeting patch kernel review notes train\n"


def messages(n, seed=0):
    """A made-up stream: words of its class and words of both."""
    rng = random.Random(seed)
    stream = []
    for k in range(n):
        label = rng.choice(["spam", "ham"])
        text = " ".join(rng.choice([*WORDS[label], "the", "and", "of", str(rng.randrange(50))]) for _ in range(20))
        host = "mx.example" if label == "ham" else "relay.example"
        raw = f"Received: from {host} by here\nFrom: a{rng.randrange(9)}@{host}\nSubject: {text[:20]}\n\n{text} {k}\n"
        stream.append((raw.encode(), label))
    return stream


def csdmc():
    files = dict(datasets.members("csdmc2010"))
    rows = [line.split() for line in files["SPAMTrain.label"].decode().splitlines()]
    return [(files[f"TRAINING/{name}"], "ham" if label == "1" else "spam") for label, name in rows]


def spamassassin():
    stream = list(zip(*datasets.mails(), strict=True))
    random.Random(0).shuffle(stream)
    return stream


def taught(path=None, n=200):
    mail = SpamFilter(path)
    mail.learn_many(messages(n))
    return mail


def ask(command, message=SPAM, version="1.5", *headers):
    lines = [f"{command} SPAMC/{version}", f"Content-length: {len(message)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + message


def tally(*arguments, raw=b"", **more):
    return subprocess.run(
        [sys.executable, "-c", "from tallywise.cli import main; main()", *arguments],
        input=raw,
        capture_output=True,
        **more,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    path = tmp_path_factory.mktemp("filter") / "mail.spam"
    taught(path).close()
    return str(path)


class Server:
    """As much of an IMAP server as one visit meets."""

    def __init__(self, capabilities=("IMAP4REV1", "MOVE")):
        self.capabilities = capabilities
        self.folders = {"INBOX": {}, "Junk": {}}
        self.flags = []
        self.next = 1
        self.open = None

    def put(self, folder, raw):
        self.folders[folder][self.next] = raw
        self.next += 1
        return self.next - 1

    def carry(self, raw, start, end):
        uid = next(uid for uid, found in self.folders[start].items() if found == raw)
        self.put(end, self.folders[start].pop(uid))

    def capability(self):
        return "OK", [" ".join(self.capabilities).encode()]

    def select(self, name, readonly=False):
        self.open = name.strip('"')
        return ("OK", [b"1"]) if self.open in self.folders else ("NO", [b"none"])

    def response(self, name):
        return name, [b"7"]

    def uid(self, command, *arguments):
        box = self.folders[self.open]
        if command == "SEARCH":
            start = int(arguments[1].split(":")[0])
            found = [uid for uid in box if uid >= start] or list(box)[-1:]
            return "OK", [" ".join(map(str, found)).encode()]
        uid = int(arguments[0])
        if command == "FETCH" and "SIZE" in arguments[1]:
            return "OK", [b"1 (UID %d RFC822.SIZE %d)" % (uid, len(box[uid]))]
        if command == "FETCH":
            return "OK", [(b"1 (BODY[] {%d}" % len(box[uid]), box[uid]), b")"]
        if command == "MOVE":
            self.put(arguments[1].strip('"'), box.pop(uid))
            return "OK", [None]
        if command == "STORE":
            self.flags.append((uid, arguments[2]))
            return "OK", [None]
        return "NO", [b"what?"]


def crlf(raw):
    return re.sub(rb"\r?\n", b"\r\n", raw)
