"""Texts and labels from tables, folders, mail and standard input, in one file or many."""

from tallywise.reading.records import InputError, Record
from tallywise.reading.shards import Layout, Piece, find_shards, layout_of, shard_size
from tallywise.reading.sources import Source, open_source

__all__ = ["InputError", "Layout", "Piece", "Record", "Source", "find_shards", "layout_of", "open_source", "shard_size"]
