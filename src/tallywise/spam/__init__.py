"""A mail filter that learns, forgets, explains and stands behind real mail servers.

The server is in `tallywise.spam.server`, the reader of IMAP mailboxes in `tallywise.spam.imap`. Names are loaded when
first used: a filter in a pipe starts for each message, and does not wait for what it does not need.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "filter": ["SpamFilter", "digest_of"],
    "folders": ["raw_messages"],
    "journal": ["SetAside"],
    "marking": ["STYLES", "fields", "marked"],
    "measures": ["Figures", "trec_figures"],
    "store": ["SpamStoreError"],
    "verdict": ["Forgotten", "Learned", "Reason", "Verdict"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
