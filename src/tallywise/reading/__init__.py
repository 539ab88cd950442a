"""Texts and labels from whatever a person has: tables, folders, mail, standard input."""

from tallywise.reading.records import InputError, Record
from tallywise.reading.sources import Source, open_source

__all__ = ["InputError", "Record", "Source", "open_source"]
