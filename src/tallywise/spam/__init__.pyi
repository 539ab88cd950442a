# Public names and their homes, which tallywise/_exports.py reads.
__all__: list[str]

from tallywise.spam.filter import SpamFilter as SpamFilter
from tallywise.spam.folders import raw_messages as raw_messages
from tallywise.spam.identity import digest_of as digest_of
from tallywise.spam.marking import STYLES as STYLES, fields as fields, marked as marked
from tallywise.spam.measures import Figures as Figures, trec_figures as trec_figures
from tallywise.spam.journal_store import SpamStoreError as SpamStoreError
from tallywise.spam.verdict import Forgotten as Forgotten, Learned as Learned, Reason as Reason, Verdict as Verdict
