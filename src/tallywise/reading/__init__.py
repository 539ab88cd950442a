"""Texts and labels from tables, folders, mail and standard input, in one file or many; tables with all columns."""

from tallywise.reading.column_roles import LabelCandidate, UnclearLabelError
from tallywise.reading.encodings_and_limits import InputError, Record
from tallywise.reading.gzip_and_urls import whole_input
from tallywise.reading.input_formats import open_source
from tallywise.reading.label_spellings import join_labels, spelling_notes
from tallywise.reading.labelled_data import LabelledTable, LabelledTexts, LabelSets, Shards, TableChoices, open_data
from tallywise.reading.native_text_blocks import TextBlocks, open_blocks
from tallywise.reading.record_source import Source
from tallywise.reading.shards import Layout, Piece, find_shards, input_files, is_many, layout_of, shard_size
from tallywise.reading.whole_table import TableFile, read_table

__all__ = [
    "InputError",
    "LabelCandidate",
    "LabelSets",
    "LabelledTable",
    "LabelledTexts",
    "Layout",
    "Piece",
    "Record",
    "Shards",
    "Source",
    "TableChoices",
    "TableFile",
    "TextBlocks",
    "UnclearLabelError",
    "find_shards",
    "input_files",
    "is_many",
    "join_labels",
    "layout_of",
    "open_blocks",
    "open_data",
    "open_source",
    "read_table",
    "shard_size",
    "spelling_notes",
    "whole_input",
]
