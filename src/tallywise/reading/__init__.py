"""Texts and labels from tables, folders, mail and standard input, in one file or many; tables with all columns."""

from tallywise.reading.blocks import TextBlocks, open_blocks
from tallywise.reading.columns import Candidate, UnclearLabelError
from tallywise.reading.inputs import Source
from tallywise.reading.label_spellings import join_labels, spelling_notes
from tallywise.reading.records import InputError, Record
from tallywise.reading.shards import Layout, Piece, find_shards, input_files, layout_of, shard_size
from tallywise.reading.sources import open_source
from tallywise.reading.streams import is_kept, whole_input
from tallywise.reading.tables import TableFile, read_table

__all__ = [
    "Candidate",
    "InputError",
    "Layout",
    "Piece",
    "Record",
    "Source",
    "TableFile",
    "TextBlocks",
    "UnclearLabelError",
    "find_shards",
    "input_files",
    "is_kept",
    "join_labels",
    "layout_of",
    "open_blocks",
    "open_source",
    "read_table",
    "shard_size",
    "spelling_notes",
    "whole_input",
]
