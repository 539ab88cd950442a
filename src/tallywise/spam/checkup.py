"""What may be wrong with a filter and its server, and what to do about it: `tally spam doctor`."""

import os
import re
import shlex
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tallywise.errors import TallywiseError
from tallywise.spam.filter import SpamFilter

UNIT = Path("/etc/systemd/system/tally-spam.service")
_FEW = 100  # messages of a class below which a filter is still learning the ropes of it
_SECONDS = 5.0


class Finding(NamedTuple):
    """One thing that was looked at: whether it is in order, and what to do where it is not."""

    sound: bool
    what: str
    remedy: str = ""


def examined(store: Path, server: tuple[str, int], unit: Path = UNIT) -> Iterator[Finding]:
    """Look at the file of a filter, at the server that should answer from it, and at the unit that starts it."""
    if not store.exists():
        yield Finding(False, f"{store} is not there", "teach it: tally spam learn --spam Junk/ --ham Archive/")
        return
    mode = stat.S_IMODE(store.stat().st_mode)
    yield Finding(not mode & stat.S_IRWXO, f"{store} has mode {mode:o}", f"chmod 600 {store}")
    try:
        with SpamFilter(store, read_only=True) as mail:
            spam, ham = mail.counts()
            found = mail.stats()
    except TallywiseError as error:
        yield Finding(False, str(error), "see docs/spam.md, Damage")
        return
    for name, count in (("spam", spam), ("ham", ham)):
        yield Finding(
            count >= _FEW, f"{count:,} {name} learned", f"teach {_FEW} at least: tally spam learn --{name} ..."
        )
    last, other = found["last"], ham if found["last"] == "spam" else spam
    remedy = f"teach as much of the other class as of {last}"
    yield Finding(found["alone"] <= max(other, 1), f"the last {found['alone']:,} learned are {last}", remedy)
    yield from _served(store, server, (spam, ham))
    yield from _unit(store, unit)


def _served(store: Path, server: tuple[str, int], counts: tuple[int, int]) -> Iterator[Finding]:
    host, port = server
    try:
        pong = _asked(server, b"PING SPAMC/1.5\r\n\r\n")
        metrics = _asked(server, b"GET /metrics HTTP/1.0\r\n\r\n").decode("utf-8", "replace")
    except OSError as error:
        why = error.strerror or str(error)
        yield Finding(False, f"no server answers on {host}:{port} ({why})", "systemctl status tally-spam")
        return
    yield Finding(
        pong.startswith(b"SPAMD/") and b"PONG" in pong, f"a server answers on {host}:{port}", "it is not ours"
    )
    served = tuple(
        int(found[1]) if (found := re.search(rf'tallywise_spam_messages{{label="{name}"}} (\d+)', metrics)) else -1
        for name in ("spam", "ham")
    )
    what = f"the server knows {served[0]:,} spam and {served[1]:,} ham, this file {counts[0]:,} and {counts[1]:,}"
    yield Finding(served == counts, what, f"it serves another file: start it with --store {store}")


def _asked(server: tuple[str, int], request: bytes) -> bytes:
    with socket.create_connection(server, _SECONDS) as connection:
        connection.settimeout(_SECONDS)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        while len(found) < 1 << 20 and (piece := connection.recv(1 << 16)):
            found += piece
    return found


def _unit(store: Path, unit: Path) -> Iterator[Finding]:
    if not unit.exists():
        return
    started = re.findall(r"^ExecStart=(.*)$", unit.read_text(errors="replace"), re.MULTILINE)
    words = shlex.split(started[-1]) if started else []
    named = next((words[k + 1] for k, word in enumerate(words[:-1]) if word == "--store"), None)
    same = named is not None and os.path.realpath(named) == os.path.realpath(store)
    remedy = f"teach that one: tally spam learn --store {named}" if named else f"add --store {store} to ExecStart"
    yield Finding(same, f"{unit} starts it with {named or 'the default file of its user'}", remedy)
