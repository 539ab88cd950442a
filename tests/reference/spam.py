"""The spam filter's learner as the page has it: dictionaries instead of tables, words instead of slots where it can."""

import itertools
import math

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
