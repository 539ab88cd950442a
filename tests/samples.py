"""Small data for tests."""

import numpy as np


def sample(n=60, p=5, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.argmax(X @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes)) * 2, axis=1)
    y[:classes] = range(classes)
    return X, y
