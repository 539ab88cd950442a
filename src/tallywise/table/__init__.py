"""Models of tables: text, categories, numbers and dates in; classes, grades or numbers out.

Names are loaded when used: the serve side needs neither scikit-learn nor SciPy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallywise.models.table_serving import Contribution, TableExplanation, TableFlip, TableRuntime
    from tallywise.reading.column_kinds import Column, column_of, recognise
    from tallywise.reading.frames import Cells, Table, as_table, from_rows
    from tallywise.table.comparing import compare_models
    from tallywise.table.model import TableModel
    from tallywise.table.report_data import table_report_data
    from tallywise.table.targets import recognise_task, usable_target

__all__ = [
    "Cells",
    "Column",
    "Contribution",
    "Table",
    "TableExplanation",
    "TableFlip",
    "TableModel",
    "TableRuntime",
    "as_table",
    "column_of",
    "compare_models",
    "from_rows",
    "recognise",
    "recognise_task",
    "table_report_data",
    "usable_target",
]

_HOMES = {
    "tallywise.models.table_serving": ("Contribution", "TableExplanation", "TableFlip", "TableRuntime"),
    "tallywise.reading.column_kinds": ("Column", "column_of", "recognise"),
    "tallywise.reading.frames": ("Cells", "Table", "as_table", "from_rows"),
    "tallywise.table.comparing": ("compare_models",),
    "tallywise.table.model": ("TableModel",),
    "tallywise.table.report_data": ("table_report_data",),
    "tallywise.table.targets": ("recognise_task", "usable_target"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        msg = f"module 'tallywise.table' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(_HOME_OF[name]), name)
