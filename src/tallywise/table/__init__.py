"""Models of tables: text, categories, numbers and dates in; classes, grades or numbers out.

Names are loaded when used: the serve side needs neither scikit-learn nor SciPy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallywise.table.columns import Column, column_of, recognise
    from tallywise.table.tables import Cells, Table, as_table, from_rows

__all__ = ["Cells", "Column", "Table", "as_table", "column_of", "from_rows", "recognise"]

_HOMES = {
    "columns": ("Column", "column_of", "recognise"),
    "tables": ("Cells", "Table", "as_table", "from_rows"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        msg = f"module 'tallywise.table' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"tallywise.table.{_HOME_OF[name]}"), name)
