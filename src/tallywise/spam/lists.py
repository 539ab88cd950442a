"""Allow and block lists: senders whose mail is ham, or spam, whatever the classifier says.

An entry is an address (``ann@x.example``), a domain with all below it (``x.example``), or a list by its List-Id
(``list:news.x.example``). From is easy to forge: a message with two of it, or with two addresses in it, is never
allowed by it. To be sure, allow those alone whose mail the server checks (SPF, DKIM, DMARC).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from tallywise.spam.marking import header_fields

MOST = 10_000  # entries of one filter: they are held in memory and looked up for each message
_ENTRY = re.compile(r"(?:list:)?[^\s@<>\"',;:]{1,250}|[^\s@<>\"',;:]{1,64}@[^\s@<>\"',;:]{1,250}")
_ADDRESS = re.compile(rb"[^\s@<>\"',;:()\[\]]{1,64}@[^\s@<>\"',;:()\[\]]{1,250}")
_BRACKETED = re.compile(rb"<([^<>]{1,300})>")
_LONGEST = 4096  # of a field, as it is searched


class Listed(NamedTuple):
    """The entry of a list that decides on a message."""

    entry: str
    allowed: bool

    def __str__(self) -> str:
        return f"{'allowed' if self.allowed else 'blocked'}: {self.entry}"


class Sender(NamedTuple):
    """Addresses in From, and the list that a message came by."""

    addresses: tuple[str, ...]
    list_id: str


def entry_of(text: str) -> str:
    """An entry as it is kept: lower case, without brackets; one that is none is refused.

    Examples
    --------
    >>> from tallywise.spam.lists import entry_of
    >>> entry_of("Ann@X.example"), entry_of("list:<News.X.example>")
    ('ann@x.example', 'list:news.x.example')
    """
    found = text.strip().lower().replace("<", "").replace(">", "").lstrip("@").rstrip(".")
    if not _ENTRY.fullmatch(found):
        msg = f"An entry is an address (ann@x.example), a domain (x.example) or list:LIST-ID. Got {text[:80]!r}."
        raise ValueError(msg)
    return found


def sender_of(raw: bytes) -> Sender:
    """Who a message says that it is from."""
    addresses: list[str] = []
    list_id = ""
    for field in header_fields(raw):
        name, _, value = field[:_LONGEST].partition(b":")
        name = name.strip().lower()
        if name == b"from":
            # The address is in brackets where there are any: a display name may hold another one.
            inside = [part for part in _BRACKETED.findall(value) if b"@" in part]
            addresses += [found.decode("latin-1").lower() for found in _ADDRESS.findall(b" ".join(inside) or value)]
            addresses += [""] * (b"@" not in value)  # a second From without an address is a second one
        elif name == b"list-id":
            inside = _BRACKETED.findall(value)
            list_id = (inside[-1] if inside else value).strip().decode("latin-1").lower()
    return Sender(tuple(addresses), list_id)


def decided(raw: bytes, lists: Mapping[str, bool]) -> Listed | None:
    """The entry that decides on a message; blocking goes before allowing, an address before its domain."""
    if not lists:
        return None
    sender = sender_of(raw)
    names = [name for address in sender.addresses for name in _names(address)]
    names += [f"list:{name}" for name in _domains(sender.list_id)]
    found = [Listed(name, lists[name]) for name in names if name in lists]
    blocked = next((entry for entry in found if not entry.allowed), None)
    if blocked is not None:
        return blocked
    forged = len(sender.addresses) != 1
    return next((entry for entry in found if entry.entry.startswith("list:") or not forged), None)


def _names(address: str) -> list[str]:
    domain = address.rpartition("@")[2]
    return [address, *_domains(domain)] if address else []


def _domains(name: str) -> list[str]:
    """A domain and those above it."""
    parts = name.split(".")
    return [".".join(parts[k:]) for k in range(min(len(parts), 20))] if name else []
