"""Models of a table compared by nested cross-validation."""

from collections.abc import Callable, Sequence
from typing import Any

from tallywise.evaluation import Comparison, compare
from tallywise.reading.frames import as_table
from tallywise.table_model.model import TableModel
from tallywise.table_model.procedure import MODELS
from tallywise.table_model.targets import make_target, usable


def compare_models(
    data: Any,
    target: Any,
    models: Sequence[str] | None = None,
    *,
    n_splits: int = 5,
    progress: Callable[[str], None] | None = None,
    **settings: Any,
) -> Comparison:
    """Compare models of a table on rows that had no part in fitting them or in choosing their settings.

    Parameters
    ----------
    data, target
        A table and its target, as `TableModel.fit` takes them.
    models : list of str, optional
        Names of models; all of its task by default.
    n_splits : int
        Folds; what a model chooses, it chooses on folds inside of them.
    progress : callable, optional
        Called with a line of text before each fit.
    **settings
        Parameters of `TableModel`.

    Returns
    -------
    tallywise.evaluation.Comparison

    Examples
    --------
    >>> from tallywise.table_model import compare_models
    >>> rows = [{"size": x / 2, "kind": "ab"[x % 2], "price": 3 * x + 5 * (x % 2)} for x in range(60)]
    >>> compare_models(rows, "price", ["ridge", "additive"], n_splits=3).best.name
    'additive'
    """
    probe = TableModel(**settings)
    table, cells = probe.split(as_table(data), target)
    rows = usable(cells)
    table, found = table.take(rows), make_target(cells.take(rows), probe.task, probe.target_)
    used = probe.used_columns(table)
    names = models or MODELS[found.task]
    settings = {**settings, "cv": 2, "task": found.task}
    numbers = found.task == "numbers"
    return compare(
        {name: TableModel(name, **settings) for name in names},
        table,
        found.y if numbers else found.classes[found.codes],
        task="numbers" if numbers else "classes",
        groups=probe.groups_of(table, used),
        n_splits=n_splits,
        random_state=probe.random_state,
        progress=progress,
    )
