"""Slow twin of boosted trees (cpp/core/trees): every split of every leaf is tried, from the formulas."""

import numpy as np

L2, LEAST_ROWS, PATIENCE = 1.0, 5, 30


def losses(name, y, Z):
    if name == "squared":
        return 0.5 * (Z[:, 0] - y) ** 2
    if name == "logistic":
        return np.logaddexp(0, Z[:, 0]) - y * Z[:, 0]
    if name == "poisson":
        return np.exp(Z[:, 0]) - y * Z[:, 0]
    return np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(len(y)), y.astype(int)]


def slopes(name, y, Z):
    if name == "squared":
        return Z - y[:, None], np.ones_like(Z)
    if name == "logistic":
        p = 1 / (1 + np.exp(-Z))
        return p - y[:, None], p * (1 - p)
    if name == "poisson":
        return np.exp(Z) - y[:, None], np.exp(Z)
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    return P - np.eye(Z.shape[1])[y.astype(int)], P * (1 - P)


def score(g, h):
    return g.sum() ** 2 / (h.sum() + L2)


def candidates(column, size, ordered, g, h):
    """Sets of bins that may go left, each with what is taken off its gain."""
    if ordered:
        for cut in range(size - 1):
            yield {*range(cut + 1)}, 0.0
            yield {*range(cut + 1), size - 1}, 0.0
        return
    seen = sorted({*column.tolist()}, key=lambda k: g[column == k].sum() / (h[column == k].sum() + L2))
    chance = 2 / np.pi * max(len(seen) - 2, 0) * (g**2).sum() / h.sum()
    for m in range(1, len(seen)):
        yield {*seen[:m]}, chance


def best_split(bins, sizes, ordered, g, h):
    best = (1e-10, None, None)
    for j, column in enumerate(bins):
        for left, chance in candidates(column, sizes[j], ordered[j], g, h):
            side = np.isin(column, list(left))
            if min(side.sum(), (~side).sum()) < LEAST_ROWS:
                continue
            gain = score(g[side], h[side]) + score(g[~side], h[~side]) - score(g, h) - chance
            if gain > best[0] * (1 + 1e-9):
                best = (gain, j, left)
    return best


def boost(train, held, sizes, ordered, loss, leaves, rate, rounds):
    """Held-out scores at the round of least held-out loss, and the number of rounds up to it."""
    (bins, y, w, Z), (held_bins, held_y, held_w, held_Z) = train, held
    Z, held_Z = Z.copy(), held_Z.copy()
    best, kept, waited = np.average(losses(loss, held_y, held_Z), weights=held_w), (held_Z.copy(), 0), 0
    for number in range(1, rounds + 1):
        if waited >= PATIENCE:
            break
        G, H = (w[:, None] * part for part in slopes(loss, y, Z))
        G, H = G.astype(np.float32).astype(float), H.astype(np.float32).astype(float)
        for k in range(Z.shape[1]):
            g, h = G[:, k], H[:, k]
            parts = [(np.ones(len(y), bool), np.ones(len(held_y), bool))]
            while len(parts) < leaves:
                found = [best_split(bins[:, rows], sizes, ordered, g[rows], h[rows]) for rows, _ in parts]
                which = int(np.argmax([gain if j is not None else 0 for gain, j, _ in found]))
                _, j, left = found[which]
                if j is None:
                    break
                rows, out = parts.pop(which)
                side, held_side = np.isin(bins[j], list(left)), np.isin(held_bins[j], list(left))
                parts += [(rows & side, out & held_side), (rows & ~side, out & ~held_side)]
            for rows, out in parts:
                value = -rate * g[rows].sum() / (h[rows].sum() + L2)
                Z[rows, k] += value
                held_Z[out, k] += value
        now = np.average(losses(loss, held_y, held_Z), weights=held_w)
        waited += 1
        if now < best:
            best, kept, waited = now, (held_Z.copy(), number), 0
    return kept
