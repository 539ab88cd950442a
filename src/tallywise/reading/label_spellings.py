"""Labels that differ in nothing but case, spaces or the way a number is written: probably one label."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence


def spellings(counts: Mapping[str, int]) -> list[list[str]]:
    """Groups of labels that are probably one, each with its most frequent spelling first.

    Examples
    --------
    >>> from tallywise.reading.label_spellings import spellings
    >>> spellings({"Yes": 5, "yes": 7, "no": 3, "1": 2, "01": 1, "1.0": 1})
    [['yes', 'Yes'], ['1', '01', '1.0']]
    """
    groups: dict[str, list[str]] = {}
    for label in counts:
        groups.setdefault(_key(label), []).append(label)
    return [sorted(group, key=lambda label: (-counts[label], label)) for group in groups.values() if len(group) > 1]


def _key(label: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    if plain.isascii() and "_" not in plain:
        try:
            return f"{float(plain):.17g}"
        except ValueError:
            pass
    return plain


def join_labels(labels: Sequence[str]) -> list[str]:
    """The labels, each in the most frequent of its spellings.

    Examples
    --------
    >>> from tallywise.reading import join_labels
    >>> join_labels(["yes", "no", "Yes", "yes "])
    ['yes', 'no', 'yes', 'yes']
    """
    stripped = [label.strip() for label in labels]
    chosen = {label: group[0] for group in spellings(Counter(stripped)) for label in group}
    return [chosen.get(label, label) for label in stripped]


def spelling_notes(counts: Mapping[str, int], most: int = 3) -> list[str]:
    """A line about labels that are probably one, with the option that joins them; none where there are none."""
    found = spellings(counts)
    if not found:
        return []
    shown = "; ".join(", ".join(f'"{label}" ({counts[label]:,})' for label in group[:4]) for group in found[:most])
    more = f" and {len(found) - most} more groups" if len(found) > most else ""
    return [f"labels that may be one are different classes: {shown}{more}. --join-labels joins them"]
