"""An IMAP mailbox sorted from outside: new spam goes to Junk, and what its owner moves is learned. Nothing is deleted.

The state between two visits is which UIDs were seen and which messages this program moved itself, so that its own
verdicts never come back to it as lessons.
"""

import imaplib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tallywise._private_files import private_folder, write_private
from tallywise.errors import TallywiseError
from tallywise.spam.filter import SpamFilter
from tallywise.spam.identity import digest_of
from tallywise.spam.imap_connection import LARGEST_MESSAGE

_MOST_REMEMBERED = 5000
_MOST_AT_A_VISIT = 20_000  # messages of a folder; the others wait for the next visit
_KEYWORD = "$Junk"


class MailboxError(TallywiseError, OSError):
    """A mailbox cannot be opened or does not do what it was asked."""


@dataclass
class State:
    """What was seen of a mailbox: the validity and the last UID of each folder, digests of messages moved by us."""

    validity: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> "State":
        """From a file; new where there is none."""
        if not path.exists():
            return cls()
        try:
            return cls(**json.loads(path.read_text()))
        except (ValueError, TypeError) as error:
            msg = f"{path} is no state of a mailbox: remove it to begin anew"
            raise MailboxError(msg) from error

    def save(self, path: Path) -> None:
        """To a file, whole or not at all."""
        self.moved = self.moved[-_MOST_REMEMBERED:]
        private_folder(path.parent)
        write_private(path, json.dumps(asdict(self)).encode())


@dataclass
class Visit:
    """What one visit did."""

    looked_at: int = 0
    moved: int = 0
    tagged: int = 0
    learned_spam: int = 0
    learned_ham: int = 0
    too_large: int = 0


class Mailbox:
    """One visit to a mailbox over a connection that has logged in.

    Parameters
    ----------
    connection : imaplib.IMAP4
        Logged in.
    mail : SpamFilter
        Judges, and learns what the owner moved.
    state : State
        Of the last visit; changed by this one.
    inbox, junk : str
        Names of the folders.
    tag_only : bool
        Whether spam gets the keyword $Junk instead of being moved.
    dry_run : bool
        Whether nothing is changed, learned or remembered.
    """

    def __init__(
        self,
        connection: imaplib.IMAP4,
        mail: SpamFilter,
        state: State,
        *,
        inbox: str = "INBOX",
        junk: str = "Junk",
        tag_only: bool = False,
        dry_run: bool = False,
    ) -> None:
        self._connection, self._mail, self._state = connection, mail, state
        self._inbox, self._junk = inbox, junk
        self._tag_only, self._dry_run = tag_only, dry_run
        self.visit = Visit()

    def first_visit(self, learn: bool) -> None:
        """Take what is there as seen; with `learn`, the newest mail in the inbox is ham, that in Junk is spam."""
        for folder in (self._inbox, self._junk):
            uids = self._new(folder)
            for uid in uids[-_MOST_AT_A_VISIT:]:
                raw = self._fetch(uid) if learn else None
                if raw is not None:
                    self._learn(raw, spam=folder == self._junk)
                self._seen(folder, uid)

    def look(self) -> Visit:
        """Learn what the owner moved, then judge what is new."""
        for uid in self._new(self._junk)[:_MOST_AT_A_VISIT]:
            raw = self._fetch(uid)
            if raw is not None and digest_of(raw).hex() not in self._state.moved:
                self._learn(raw, spam=True)
            self._seen(self._junk, uid)
        for uid in self._new(self._inbox)[:_MOST_AT_A_VISIT]:
            raw = self._fetch(uid)
            if raw is not None:
                self._judge(uid, raw)
            self._seen(self._inbox, uid)
        return self.visit

    def _judge(self, uid: int, raw: bytes) -> None:
        self.visit.looked_at += 1
        digest = digest_of(raw).hex()
        if digest in self._state.moved:  # it came back from Junk
            self._learn(raw, spam=False)
            if not self._dry_run:
                self._state.moved.remove(digest)
            return
        if self._mail.classify(raw).label != "spam":
            return
        if (
            self._tag_only or not self._can_move()
        ):  # without MOVE a copy could only be followed by deleting, which we never do
            self.visit.tagged += 1
            if not self._dry_run:
                self._do("STORE", str(uid), "+FLAGS", f"({_KEYWORD})")
            return
        self.visit.moved += 1
        if not self._dry_run:
            self._state.moved.append(digest)
            self._do("MOVE", str(uid), _quoted(self._junk))

    def _can_move(self) -> bool:
        """Asked after the login: servers name more of what they can do to those they know."""
        _, data = self._connection.capability()
        return any(isinstance(part, bytes) and b"MOVE" in part.upper().split() for part in data)

    def _learn(self, raw: bytes, *, spam: bool) -> None:
        if spam:
            self.visit.learned_spam += 1
        else:
            self.visit.learned_ham += 1
        if not self._dry_run:
            self._mail.learn(raw, "spam" if spam else "ham", source="imap")

    def _new(self, folder: str) -> list[int]:
        """UIDs that were not there at the last visit, ascending."""
        kind, _ = self._connection.select(_quoted(folder), readonly=self._dry_run)
        if kind != "OK":
            msg = f"There is no folder {folder!r}: name it, or make it"
            raise MailboxError(msg)
        validity = _number((self._connection.response("UIDVALIDITY")[1] or [b"0"])[0] or b"0")
        if self._state.validity.get(folder) != validity:  # the server has numbered anew
            self._state.validity[folder] = validity
            self._state.last[folder] = 0
        last = self._state.last.get(folder, 0)
        found = self._do("SEARCH", "UID", f"{last + 1}:*")
        uids = {_number(text) for part in found if isinstance(part, bytes) for text in part.split()}
        return sorted(uid for uid in uids if uid > last)  # n:* names the last message even when it is below n

    def _seen(self, folder: str, uid: int) -> None:
        if not self._dry_run:
            self._state.last[folder] = uid

    def _fetch(self, uid: int) -> bytes | None:
        found = self._do("FETCH", str(uid), "(RFC822.SIZE)")
        size = re.search(rb"RFC822\.SIZE (\d{1,20})", found[0] if found and isinstance(found[0], bytes) else b"")
        if size is not None and int(size.group(1)) > LARGEST_MESSAGE:
            self.visit.too_large += 1
            return None
        for part in self._do("FETCH", str(uid), "(BODY.PEEK[])"):
            if isinstance(part, tuple):
                return bytes(part[1])
        return None  # gone since it was listed

    def _do(self, command: str, *arguments: str) -> list[Any]:
        kind, data = self._connection.uid(command, *arguments)
        if kind != "OK":
            msg = f"The server refused UID {command}: {data!r}"
            raise MailboxError(msg)
        return data


def _number(text: Any) -> int:
    """A number of the protocol: at most 32 bits."""
    if not isinstance(text, bytes) or not text.isdigit() or len(text) > 10:
        msg = f"The server named {text!r:.40} where a number was asked for"
        raise MailboxError(msg)
    return int(text)


def _quoted(folder: str) -> str:
    if any(ord(c) < 32 for c in folder):
        msg = f"A folder's name has no control characters. Got {folder!r}."
        raise MailboxError(msg)
    return '"' + folder.replace("\\", "\\\\").replace('"', '\\"') + '"'
