"""IMAP servers that are broken or hostile: `tally spam imap` ends with an error, in bounded time and memory."""

import contextlib
import os
import socket
import threading

import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.imap import Mailbox, MailboxError, State
from tallywise.spam.imap_connection import PlainConnection, _Bounded, connect
from tests.mail import tally, taught

GREETING = b"* OK ready\r\n"


class Hostile:
    """A server on a port of its own; `reply(command, tag)` gives what it sends, as pieces without an end or not."""

    def __init__(self, reply, greeting=(GREETING,)):
        self._reply, self._greeting = reply, greeting
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            client, _ = self._listening.accept()
            with client, client.makefile("rb") as lines:
                self._send(client, self._greeting)
                for line in lines:
                    tag, _, rest = line.strip().partition(b" ")
                    self._send(client, self._reply(rest, tag))
                self._stop.wait(30)

    def _send(self, client, pieces):
        for piece in pieces:
            if piece is None:  # as long as the client waits
                if self._stop.wait(0.05):
                    return
            else:
                client.sendall(piece)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._listening.close()


def polite(command, tag):
    """What an empty mailbox answers."""
    if command.startswith(b"CAPABILITY"):
        return [b"* CAPABILITY IMAP4rev1 MOVE\r\n%b OK done\r\n" % tag]
    if command.startswith(b"SELECT"):
        return [b"* 0 EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n%b OK done\r\n" % tag]
    if command.startswith(b"UID SEARCH"):
        return [b"* SEARCH\r\n%b OK done\r\n" % tag]
    return [b"%b OK done\r\n" % tag]


def but(start, pieces):
    """A polite server, but for commands that begin with `start`."""
    return lambda command, tag: pieces(tag) if command.startswith(start) else polite(command, tag)


def drip(tag):
    while True:
        yield b"x"
        yield None


def flood(tag):
    while True:
        yield b"x" * 65536


def lines(tag):
    while True:
        yield b"* 1 EXISTS\r\n" * 1000


FOUND = b"* SEARCH 1\r\n"
HOSTILE = {
    "a greeting that never ends": (polite, drip(b""), "no whole reply"),
    "silence": (polite, [None] * 10_000, "no whole reply"),
    "a line that never ends, slowly": (but(b"UID SEARCH", drip), [GREETING], "no whole reply"),
    "a line that never ends": (but(b"UID SEARCH", flood), [GREETING], "a line of more than"),
    "lines that never end": (but(b"UID SEARCH", lines), [GREETING], "lines"),
    "no reply to a login": (but(b"LOGIN", lambda tag: []), [GREETING], "no whole reply"),
    "a literal of a terabyte": (
        but(b"UID", lambda tag: [b"* 1 FETCH (BODY[] {1099511627776}\r\n"]),
        [GREETING],
        "a literal of 1099511627776 bytes",
    ),
    "numbers that are none": (but(b"UID SEARCH", lambda tag: [b"* SEARCH 1 %b\r\n%b OK done\r\n" % (b"9" * 5000, tag)]),
                              [GREETING], "where a number was asked for"),
    "a validity that is none": (but(b"SELECT", lambda tag: [b"* OK [UIDVALIDITY x] valid\r\n%b OK done\r\n" % tag]),
                                [GREETING], "where a number was asked for"),
}  # fmt: skip


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(_Bounded, "seconds", 0.5)
    monkeypatch.setattr(_Bounded, "most_line", 1 << 20)
    monkeypatch.setattr(_Bounded, "most_lines", 20_000)


@contextlib.contextmanager
def connected(port):
    connection = connect("127.0.0.1", port, plain=True)
    try:
        connection.login("ann", "secret")
        yield connection
    finally:
        with contextlib.suppress(OSError):
            connection.shutdown()


def visited(port):
    with connected(port) as connection:
        return Mailbox(connection, taught(n=2), State()).look()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_server_ends_a_visit_with_an_error(hurried, what):
    reply, greeting, why = HOSTILE[what]
    with Hostile(reply, greeting) as server, pytest.raises((PlainConnection.abort, MailboxError), match=why):
        visited(server.port)


def test_a_polite_server_is_visited():
    with Hostile(polite) as server:
        assert visited(server.port).looked_at == 0


def test_a_large_message_over_a_slow_line_has_the_time_that_it_needs(hurried, monkeypatch):
    monkeypatch.setattr(_Bounded, "bytes_a_second", 1000)
    body = b"Subject: x\r\n\r\n" + b"y" * 3000

    def fetch(tag):
        yield b"* 1 FETCH (BODY[] {%d}\r\n" % len(body)
        for start in range(0, len(body), 150):  # 20 pieces, one second in all, where half a second is for short replies
            yield body[start : start + 150]
            yield None
        yield b")\r\n%b OK done\r\n" % tag

    def reply(command, tag):
        if command.startswith(b"UID SEARCH"):
            return [FOUND + b"%b OK done\r\n" % tag]
        if b"SIZE" in command:
            return [b"* 1 FETCH (RFC822.SIZE %d)\r\n%b OK done\r\n" % (len(body), tag)]
        return fetch(tag) if command.startswith(b"UID FETCH") else polite(command, tag)

    with Hostile(reply) as server, connected(server.port) as connection:
        mail = SpamFilter()
        Mailbox(connection, mail, State()).first_visit(learn=True)
        assert sum(mail.counts()) == 1


def test_a_visit_looks_at_a_bounded_number_of_messages(monkeypatch):
    from tests.mail import HAM, Server, crlf

    monkeypatch.setattr("tallywise.spam.imap._MOST_AT_A_VISIT", 3)
    server, state = Server(), State()
    for k in range(8):
        server.put("INBOX", crlf(HAM + b"%d" % k))
    assert [Mailbox(server, taught(), state).look().looked_at for _ in range(4)] == [3, 3, 2, 0]


def test_the_command_says_what_is_wrong_with_a_server(tmp_path):
    bad = but(b"UID SEARCH", lambda tag: [b"* 1 FETCH (BODY[] {1099511627776}\r\n"])
    environment = {**os.environ, "TALLY_IMAP_PASSWORD": "x"}
    where = ("--store", str(tmp_path / "f"), "--host", "127.0.0.1", "--user", "ann", "--plain")
    with Hostile(bad) as server:
        done = tally("spam", "imap", *where, "--port", str(server.port), env=environment, timeout=60)
    assert done.returncode == 1
    assert b"a literal of 1099511627776 bytes" in done.stderr
