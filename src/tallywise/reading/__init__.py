"""Texts and labels from tables, folders, mail and standard input."""

from tallywise.reading.records import InputError, Record
from tallywise.reading.sources import Source, open_source

__all__ = ["InputError", "Record", "Source", "open_source"]
