"""The one place that guesses which columns are the text and the label: by their names in parts, then by their values.

A label has few values that come again. It is clear where one column has a name for it (`label`, `class`), or else where
one has a name that a label may have (`rating`, `airline_sentiment`: the last part says what a thing is), or else where
one column alone has such values. Columns that say the same in other words count as one. Where two remain, no coin is
tossed: there is no label, and `Columns.unclear` has the candidates.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tallywise.reading.encodings_and_limits import InputError

TEXT_NAMES = (
    "text",
    "body",
    "message",
    "content",
    "review text",
    "review",
    "sms",
    "mail",
    "email",
    "comment",
    "description",
    "document",
    "question",
    "utterance",
    "tweet",
    "post",
    "v2",
)
LABEL_NAMES = (
    "label",
    "class",
    "category",
    "kind",
    "target",
    "spam",
    "type",
    "stars",
    "rating",
    "score",
    "sentiment",
    "intent",
    "topic",
    "y",
    "v1",
    "is_spam",
)


_SURE = ("label", "class", "target", "y", "v1", "spam", "is_spam")  # names of nothing but labels
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_GENERIC = (
    "id",
    "name",
    "code",
    "no",
    "nr",
    "num",
    "ind",
    "flag",
    "value",
)  # parts that leave the meaning to those before
_LONGEST_LABEL = 60  # characters
_MOST_NUMBERS = 10  # values; whole numbers of more are counts and measurements, unless their name says label
_SHOWN = 8  # candidates


class LabelCandidate(NamedTuple):
    """A column that may be the label: its name or number, as `--label` takes it, and what it holds."""

    name: str
    holds: str


class Columns(NamedTuple):
    """Positions of text and label, whether the first row is a header, and the header's names if so."""

    text: int
    label: int | None
    header: bool
    names: list[str]
    why: str = ""  # how the label was found
    unclear: tuple[LabelCandidate, ...] = ()  # columns that may be the label, where more than one may

    def description(self) -> str:
        """The columns chosen, for the user to check."""
        text = self.names[self.text] if self.header else f"column {self.text + 1}"
        if self.label is None:
            return f'text = "{text}"'
        label = self.names[self.label] if self.header else f"column {self.label + 1}"
        return f'text = "{text}", label = "{label}"'


class UnclearLabelError(InputError):
    """More than one column may be the label; ``candidates`` has them."""

    def __init__(self, name: str, candidates: Sequence[LabelCandidate]) -> None:
        self.candidates = tuple(candidates)
        width = max(len(_option(one.name)) for one in candidates)
        listed = "\n".join(f"  {_option(one.name):{width}}   {one.holds}" for one in candidates[:_SHOWN])
        more = f"\n  or one of {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
        super().__init__(f"{name}: it is not clear which column is the label. Say it:\n{listed}{more}")

    def __reduce__(self) -> tuple[type, tuple[str, tuple[LabelCandidate, ...]]]:
        return type(self), (str(self).partition(": it is not")[0], self.candidates)


def _option(name: str) -> str:
    return f"--label {name}" if re.fullmatch(r"[\w.-]+", name) else f"--label '{name}'"


def choose(
    rows: Sequence[Sequence[str]], text: str | None, label: str | None, name: str, header: bool | None = None
) -> Columns:
    """Columns of a table from its first rows; those named by the user first. `header` None: detect it.

    Raises
    ------
    InputError
        When a chosen column does not exist, a header names one column twice, or nothing looks like text.
    """
    first = [cell.strip() for cell in rows[0]]
    width = len(first)
    body = [row for row in rows[1:] if len(row) == width]
    if header is None:
        named = any(cell.lower() in TEXT_NAMES or cell.lower() in LABEL_NAMES for cell in first)
        header = named or text in first or label in first or (bool(body) and not _belongs(first, body))
    if header:
        counts = Counter(first)
        if twice := next(
            (cell for cell in (text, label, *TEXT_NAMES, *LABEL_NAMES) if cell and counts[cell] > 1), None
        ):
            msg = f'{name} has two columns called "{twice}": rename one'
            raise InputError(msg)
    else:
        body = [first, *body]
    names = first if header else []
    chosen_text = _find(text, first, header, name)
    chosen_label = _find(label, first, header, name)
    if chosen_text is not None and chosen_text == chosen_label:
        msg = f'{name}: "{text}" cannot be both the text and the label'
        raise InputError(msg)
    found, why = ([chosen_label], "given") if chosen_label is not None else _labels(names, body, width, chosen_text)
    chosen_label = found[0] if len(found) == 1 else None
    if chosen_text is None:
        chosen_text = _guess_text(names, body, width, {*found})
    if chosen_text is None:
        msg = f"{name} has no column that looks like text: choose one with --text"
        raise InputError(msg)
    unclear = tuple(_candidate(k, names, body) for k in found) if len(found) > 1 else ()
    return Columns(chosen_text, chosen_label, header, first, why, unclear)


def _find(wanted: str | None, first: list[str], header: bool, name: str) -> int | None:
    if wanted is None:
        return None
    if header and wanted in first:
        return first.index(wanted)
    if wanted.isdigit() and 1 <= int(wanted) <= len(first):
        return int(wanted) - 1
    there = ", ".join(first) if header else f"1 to {len(first)}"
    msg = f'{name} has no column "{wanted}". It has: {there}'
    raise InputError(msg)


def _belongs(first: list[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the first row looks like the others: one of its values comes again below in a column of few values.

    A table of one column has a header only if its name is known: classifying a heading is better than losing a text.
    """
    if len(first) == 1:
        return True
    for k, cell in enumerate(first):
        below = {row[k].strip() for row in body}
        if cell in below and len(below) <= max(2, len(body) // 2):
            return True
    return False


def _guess_text(names: list[str], body: Sequence[Sequence[str]], width: int, labels: set[int]) -> int | None:
    free = [k for k in range(width) if k not in labels] or list(range(width))
    for wanted in TEXT_NAMES:
        for k in free:
            if names and names[k].lower() == wanted:
                return k
    lengths = {k: sum(len(row[k]) for row in body) for k in free}
    if names:
        lengths = {k: n for k, n in lengths.items() if last_part(names[k]) in TEXT_NAMES and n} or lengths
    return max(free, key=lambda k: (lengths.get(k, -1), -k), default=None)


def last_part(name: str) -> str:
    """The part of a name that says what the column is: the last one that means something.

    Examples
    --------
    >>> from tallywise.reading.column_roles import last_part
    >>> [last_part(name) for name in ("airline_sentiment", "sentiment_confidence", "className", "Class Name", "text")]
    ['sentiment', 'confidence', 'class', 'class', 'text']
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    while len(parts) > 1 and parts[-1] in _GENERIC:
        parts.pop()
    return parts[-1] if parts else ""


def _labels(names: list[str], body: Sequence[Sequence[str]], width: int, text: int | None) -> tuple[list[int], str]:
    """Columns that may be the label, and how they were found: one where it is clear."""
    if width < 2:
        return [], ""
    columns = {k: [row[k].strip() for row in body] for k in range(width) if k != text}
    called = {k: names[k].lower() if names else "" for k in columns}
    longest = _guess_text(names, body, width, set()) if text is None else text
    texts = {k for k in columns if called[k] in TEXT_NAMES or (k == longest and _words(columns[k]) >= 2)}
    free = [k for k in columns if k not in texts]
    steps = (
        ([k for k in columns if called[k] in _SURE], "by its name"),
        ([k for k in columns if called[k] in LABEL_NAMES and _repeats(columns[k])], "by its name"),
        ([k for k in free if names and last_part(names[k]) in LABEL_NAMES and _few(columns[k], True)], "by its name"),
        ([k for k in free if _few(columns[k], False)], "by its values"),
    )
    for found, why in steps:
        different = _different(found, columns)
        if different:
            return different, why
    return [], ""


def _repeats(cells: Sequence[str]) -> bool:
    """Whether values come again, or are numbers; of few rows nothing is known."""
    present = [cell for cell in cells if cell]
    return len(present) < 20 or len({*present}) < len(present) or all(map(_number, present))


def _few(cells: Sequence[str], named: bool) -> bool:
    """Whether these may be labels by their values: two or more, short, mostly there, each of three rows on average."""
    present = [cell for cell in cells if cell]
    distinct = {*present}
    if not 2 <= len(distinct) <= max(2, len(present) // 3) or 2 * len(present) < len(cells):
        return False
    if max(map(len, distinct)) > _LONGEST_LABEL:
        return False
    return named or len(distinct) <= _MOST_NUMBERS or not all(map(_number, distinct))


def _words(cells: Sequence[str]) -> float:
    """Words of a cell on average."""
    return sum(len(cell.split()) for cell in cells) / max(len(cells), 1)


def _number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _different(found: Sequence[int], columns: dict[int, list[str]]) -> list[int]:
    """Those of some columns that do not say the same as one before them, value for value."""
    kept: list[int] = []
    for k in found:
        same = (
            len({*zip(columns[k], columns[j], strict=True)}) == len({*columns[k]}) == len({*columns[j]}) for j in kept
        )
        if not any(same):
            kept.append(k)
    return kept


def _candidate(k: int, names: list[str], body: Sequence[Sequence[str]]) -> LabelCandidate:
    counts = Counter(cell for row in body if (cell := row[k].strip()))
    common = ", ".join(label if len(label) <= 24 else label[:23] + "…" for label, _ in counts.most_common(3))
    more = ", ..." if len(counts) > 3 else ""
    called = names[k] if names and names[k] and names.count(names[k]) == 1 else str(k + 1)
    return LabelCandidate(called, f"{len(counts):,} values: {common}{more}")
