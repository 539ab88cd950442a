"""`train`: the model that suits the data."""

import time
from collections.abc import Callable
from typing import Any

from tallywise.reading.labelled_data import LabelledTable, LabelledTexts, LabelSets, Shards
from tallywise.training.trained import Trained

TEXT_ONLY = ("multinomial_nb", "complement_nb", "bernoulli_nb", "word_svm", "nb_svm")  # models of texts alone, by name


def train(
    data: LabelledTexts | LabelSets | LabelledTable | Shards,
    model: str = "auto",
    *,
    progress: Callable[[Any], None] | None = None,
    **settings: Any,
) -> Trained:
    r"""Fit the model that suits the data: of texts, of label sets, of a table, or from shards.

    Parameters
    ----------
    data : what `tallywise.open_data` gives
        The data.
    model : str
        One model by name instead of the best of all.
    progress : callable, optional
        Called with a line of text now and then; with shards, with their progress.
    **settings
        Parameters of `TextClassifier`, `MultiLabelTextClassifier`, `TableModel` or `tallywise.scale.train`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tallywise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mail.csv")
    ...     _ = path.write_text("text,label\n" + "see you at noon,ham\nwin a prize,spam\n" * 20)
    ...     trained = tallywise.train(tallywise.open_data(path), "multinomial_nb")
    >>> trained.as_dict()["classes"]
    ['ham', 'spam']
    """
    began = time.perf_counter()
    found = _fitted(data, model, progress, settings)
    found.seconds = time.perf_counter() - began
    return found


def _fitted(data: Any, model: str, progress: Any, settings: dict[str, Any]) -> Trained:
    # Imported as they are needed: a model of texts needs nothing of tables or of shards.
    if isinstance(data, LabelledTexts):
        from tallywise.training.trained_texts import TrainedTexts

        return TrainedTexts(data, model, progress, settings)
    if isinstance(data, LabelSets):
        from tallywise.training.trained_label_sets import TrainedLabelSets

        return TrainedLabelSets(data, model, progress, settings)
    if isinstance(data, LabelledTable):
        from tallywise.training.trained_table import TrainedTable

        return TrainedTable(data, model, progress, settings)
    if isinstance(data, Shards):
        from tallywise.training.trained_shards import TrainedShards

        return TrainedShards(data, model, progress, settings)
    msg = f"train takes what tallywise.open_data gives. Got {type(data).__name__}."
    raise TypeError(msg)
