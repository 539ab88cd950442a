"""`load`: from the kind of model that a file holds to the class that serves it."""

import os
from collections.abc import Callable
from typing import Any

from tallywise.errors import ModelFileError
from tallywise.models import model_file
from tallywise.models.fasttext_file import is_fasttext
from tallywise.models.text_serving import TextModel


def load(path: str | os.PathLike[str]) -> Any:
    """Load a saved model.

    Parameters
    ----------
    path : path
        A file written by `TextClassifier.save`, `MultiLabelTextClassifier.save`, `TableModel.save` or ``tally train``,
        or a classifier of fastText (``.bin`` or ``.ftz``).

    Returns
    -------
    TextModel, MultiLabelTextModel, TableRuntime or FastTextModel

    Raises
    ------
    ModelFileError
        When the file is damaged, hostile, or of another version.

    Examples
    --------
    >>> import tallywise, tempfile
    >>> texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = tallywise.TextClassifier("multinomial_nb", cv=2).fit(texts, labels).save(folder + "/m.tally")
    ...     model = tallywise.load(folder + "/m.tally")
    >>> model.predict(["a prize at last"]).tolist()
    ['spam']
    """
    path = os.fspath(path)
    if os.path.isfile(path):
        with open(path, "rb") as stream:
            start = stream.read(4)
        if is_fasttext(start):
            from tallywise.models.fasttext_serving import FastTextModel

            return FastTextModel(path)
    contents = model_file.read(path)
    kind = contents.meta.get("kind")
    if not isinstance(kind, str) or kind not in READERS:
        known = ", ".join(READERS)
        msg = f"Cannot read {path!r} as a model: it holds a {kind!r}; this release reads: {known}."
        raise ModelFileError(msg)
    return READERS[kind](contents, path)


def _text(contents: model_file.Contents, path: str) -> TextModel:
    return TextModel(contents, path)


def _label_sets(contents: model_file.Contents, path: str) -> Any:
    from tallywise.models.label_set_serving import MultiLabelTextModel

    return MultiLabelTextModel(contents, path)


def _table(contents: model_file.Contents, path: str) -> Any:
    from tallywise.models.table_serving import TableRuntime

    return TableRuntime(contents, path)


# From the kind that a file says it holds to what reads it; imported when used, so that texts do not wait for tables.
READERS: dict[str, Callable[[model_file.Contents, str], Any]] = {
    "text classifier": _text,
    "multi-label text classifier": _label_sets,
    "table model": _table,
    "blended table model": _table,
    "table model of trees": _table,
}
