"""A mail filter that learns, forgets, explains and stands behind real mail servers.

The server is in `tallywise.spam.server`, the reader of IMAP mailboxes in `tallywise.spam.imap`: a filter in a pipe
starts for each message, and does not wait for them.
"""

from tallywise.spam.filter import SpamFilter, digest_of
from tallywise.spam.folders import raw_messages
from tallywise.spam.journal import SetAside
from tallywise.spam.marking import STYLES, fields, marked
from tallywise.spam.measures import Figures, trec_figures
from tallywise.spam.store import SpamStoreError
from tallywise.spam.verdict import Forgotten, Learned, Reason, Verdict

__all__ = [
    "STYLES",
    "Figures",
    "Forgotten",
    "Learned",
    "Reason",
    "SetAside",
    "SpamFilter",
    "SpamStoreError",
    "Verdict",
    "digest_of",
    "fields",
    "marked",
    "raw_messages",
    "trec_figures",
]
