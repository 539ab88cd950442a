# Public names and their homes, which tallywise/_exports.py reads.
__all__: list[str]

from tallywise.models.table_serving import Contribution as Contribution, TableExplanation as TableExplanation, TableFlip as TableFlip, TableRuntime as TableRuntime
from tallywise.reading.column_kinds import Column as Column, column_of as column_of, recognise as recognise
from tallywise.reading.frames import Cells as Cells, Table as Table, as_table as as_table, from_rows as from_rows
from tallywise.table_model.comparing import compare_models as compare_models
from tallywise.table_model.model import TableModel as TableModel
from tallywise.table_model.report_data import table_report_data as table_report_data
from tallywise.table_model.targets import recognise_task as recognise_task, usable_target as usable_target
