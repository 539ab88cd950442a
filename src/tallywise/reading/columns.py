"""Choice of the text and label columns: by name, then by their values."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tallywise.reading.records import InputError

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


class Columns(NamedTuple):
    """Positions of text and label, whether the first row is a header, and the header's names if so."""

    text: int
    label: int | None
    header: bool
    names: list[str]

    def description(self) -> str:
        """The columns chosen, for the user to check."""
        text = self.names[self.text] if self.header else f"column {self.text + 1}"
        if self.label is None:
            return f'text = "{text}"'
        label = self.names[self.label] if self.header else f"column {self.label + 1}"
        return f'text = "{text}", label = "{label}"'


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
    chosen_text = _find(text, first, header, name)
    chosen_label = _find(label, first, header, name)
    if chosen_text is not None and chosen_text == chosen_label:
        msg = f'{name}: "{text}" cannot be both the text and the label'
        raise InputError(msg)
    if chosen_label is None:
        chosen_label = _guess_label(first if header else [], body, width, chosen_text)
    if chosen_text is None:
        chosen_text = _guess_text(first if header else [], body, width, chosen_label)
    if chosen_text is None:
        msg = f"{name} has no column that looks like text: choose one with --text"
        raise InputError(msg)
    return Columns(chosen_text, chosen_label if chosen_label != chosen_text else None, header, first)


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


def _guess_text(names: list[str], body: Sequence[Sequence[str]], width: int, label: int | None) -> int | None:
    for wanted in TEXT_NAMES:
        for k, name in enumerate(names):
            if name.lower() == wanted and k != label:
                return k
    lengths = [(sum(len(row[k]) for row in body), -k) for k in range(width) if k != label]
    return -max(lengths)[1] if lengths else None


def _guess_label(names: list[str], body: Sequence[Sequence[str]], width: int, text: int | None) -> int | None:
    for wanted in LABEL_NAMES:
        for k, name in enumerate(names):
            if name.lower() == wanted and k != text:
                return k
    found = []
    for k in range(width):
        values = [row[k].strip() for row in body]
        distinct = set(values)
        if len(distinct) == len(values) and names and names[k].lower() in TEXT_NAMES:
            continue  # called a text, and nothing repeats: no label, however few rows there are
        if k != text and 2 <= len(distinct) <= max(2, len(values) // 3) and max(map(len, values)) <= 60:
            found.append((len(distinct), k))
    return min(found)[1] if found and width > 1 else None
