"""The spam filter's learner as the page has it: dictionaries instead of tables, words instead of slots where it can."""

import itertools
import math
import re
import unicodedata

import numpy as np

RATES = (0.4, 0.8, 0.8)


def words(text):
    """Runs of word bytes, at most 40; a dot or an at sign belongs to a word when a word byte follows."""

    def inside(c):
        return chr(c).isalnum() if c < 128 else True

    found, k = [], 0
    while k < len(text):
        start = k
        while k < len(text) and k - start < 40:
            c = text[k]
            word = inside(c) or c in b"$'-_!"
            follows = k + 1 < len(text) and (inside(text[k + 1]) or text[k + 1] in b"$'-_!")
            if not word and not (c in b".@" and follows):
                break
            k += 1
        if k > start:
            found.append(text[start:k])
        else:
            k += 1
    return found


def body_features(text):
    """Distinct words, their lower-case forms, and adjacent pairs."""
    found = words(text)
    return {*found, *(word.lower() for word in found), *itertools.pairwise(found)}


def skeleton(word):
    """A word as a reader sees it; bytes of UTF-8 and of Latin-1 alike."""
    letters = dict(zip(b"0134578!@$lL", b"oieastbiasii", strict=True))
    found, k = bytearray(), 0
    while k < len(word):
        c, follows = word[k], k + 1 < len(word) and word[k + 1] & 0xC0 == 0x80
        k += 1
        if c >= 0xC0 and (not follows or c == 0xC3):
            if follows:
                c, k = 0xC0 | (word[k] & 0x3F), k + 1
            plain = unicodedata.normalize("NFD", chr(c).lower())[0]
            c = ord({"æ": "a", "ð": "d", "×": "x", "÷": "x", "ø": "o", "þ": "t", "ß": "s"}.get(plain, plain))
        elif c in letters:
            c = letters[c]
        elif c in b".-_'":
            continue
        else:
            c = ord(chr(c).lower()) if c < 128 else c
        if not found or found[-1] != c:
            found.append(c)
    return bytes(found)


def marked(raw, line, names):
    """The message with a line at the head of its header, fields of the names taken out, line by line."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+$", raw)
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    mbox = []
    while lines and (lines[0].startswith(b">From ") or re.match(rb"From (?![ \t]*:)", lines[0])):
        mbox.append(lines.pop(0))
    header = []
    while lines and lines[0] not in (b"\n", b"\r\n"):
        header.append(lines.pop(0))
    kept = without(b"".join(header), names)
    lines_kept = re.findall(rb"[^\n]*\n|[^\n]+$", kept)
    folded = []
    while lines_kept and lines_kept[0][:1] in (b" ", b"\t") and lines_kept[0].endswith(b"\n"):
        folded.append(lines_kept.pop(0))
    fields = any(re.match(rb"[!-9;-~]+[ \t]*:", text) for text in lines_kept)
    gap = end if lines_kept and not fields else b""
    return b"".join([*mbox, *folded, line + end, gap, *lines_kept, *lines])


def without(header, names):
    """A header without fields of the names; where a lone CR ends a line, fields of the names get another."""
    kept, dropped = [], False
    for line in re.findall(rb"[^\n]*\n|[^\n]+$", header):
        dropped = _named(line, names) or (dropped and line[:1] in (b" ", b"\t"))
        if not dropped:
            first, *rest = line.split(b"\r")
            rest = [b"X-Removed" + part[len(_named(part, names)) :] if _named(part, names) else part for part in rest]
            kept.append(b"\r".join([first, *rest]))
    return b"".join(kept)


def _named(line, names):
    """The name of a field, where it is one of the names."""
    name = line.partition(b":")[0].rstrip(bytes([*range(10), *range(11, 33), 127]))
    return name if b":" in line and name.lower() in names else b""


class Learner:
    """z = n^-1/2 sum w, score = t / (t + 10) sum 5 tanh(z / 5); AdaGrad on each view's own error."""

    def __init__(self):
        self.w, self.G, self.t = {}, {}, 0

    def z(self, view):
        return sum(float(self.w.get(i, 0)) for i in view) / math.sqrt(len(view)) if len(view) else 0.0

    def score(self, views):
        return self.t / (self.t + 10) * sum(5 * math.tanh(self.z(view) / 5) for view in views)

    def learn(self, views, spam):
        for view, rate in zip(views, RATES, strict=True):
            if not len(view):
                continue
            e = spam - 1 / (1 + math.exp(-self.z(view)))
            if abs(e) < 0.01:
                continue
            g = e / math.sqrt(len(view))
            for i in view:
                G = float(self.G.get(i, 0)) + g * g
                self.G[i] = np.float32(G)
                self.w[i] = np.float32(float(self.w.get(i, 0)) + rate * g / math.sqrt(G + 1e-6))
        self.t += 1
