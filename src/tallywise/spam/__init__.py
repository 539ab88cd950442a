"""A mail filter that learns, forgets, explains and stands behind real mail servers.

The server is in `tallywise.spam.server`, the reader of IMAP mailboxes in `tallywise.spam.imap`. Names are loaded when
first used: a filter in a pipe starts for each message, and does not wait for what it does not need.
"""

from tallywise._exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
