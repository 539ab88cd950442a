"""A mail filter that learns, forgets, explains and stands behind real mail servers."""

from tallywise.spam.filter import Forgotten, Learned, Reason, SpamFilter, Verdict, digest_of
from tallywise.spam.journal import SetAside
from tallywise.spam.measures import Figures, trec_figures
from tallywise.spam.store import SpamStoreError

__all__ = [
    "Figures",
    "Forgotten",
    "Learned",
    "Reason",
    "SetAside",
    "SpamFilter",
    "SpamStoreError",
    "Verdict",
    "digest_of",
    "trec_figures",
]
