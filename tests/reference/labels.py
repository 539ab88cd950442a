"""Figures of several labels a text, from the formulas, one pair of text and label at a time."""


def counts(has, gets, k):
    """(TP, FP, FN) of label k."""
    tp = fp = fn = 0
    for i in range(len(has)):
        tp += bool(has[i][k] and gets[i][k])
        fp += bool(gets[i][k] and not has[i][k])
        fn += bool(has[i][k] and not gets[i][k])
    return tp, fp, fn


def f1(tp, fp, fn):
    """2 TP / (2 TP + FP + FN), 0 where there is nothing to find or found."""
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0


def micro_f1(has, gets):
    """F1 of all labels' counts together."""
    found = [counts(has, gets, k) for k in range(len(has[0]))]
    return f1(*(sum(part) for part in zip(*found, strict=True)))


def macro_f1(has, gets):
    """The mean F1 of the labels that some text has or gets."""
    found = [counts(has, gets, k) for k in range(len(has[0]))]
    there = [f1(*found_k) for found_k in found if any(found_k)]
    return sum(there) / len(there) if there else 0.0


def best_f1(y, p):
    """The largest F1 that any threshold on p gives."""
    return max(f1(*counts([[a] for a in y], [[b >= t] for b in p], 0)) for t in [*p, 2.0])
