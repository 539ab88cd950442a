"""The milter protocol (version 6) of Postfix and Sendmail: a session as a function from packets to answers.

A packet is its length (32 bits, big-endian), a letter and data. The mail server offers what it can leave out:
connection, greeting, envelope and answers to each header and piece of the body are left out where it does. After the
end of the body come the changes of the header, then the decision. A failure of ours is a temporary failure: the mail
comes again.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import Protocol

from tallywise.spam.marking import FIELD, REASON_FIELD, fields
from tallywise.spam.verdict import Verdict

LONGEST_PACKET = 1 << 20  # pieces of a body have 65,535 bytes, headers of Postfix 100 KB
PATIENCE = 300.0  # seconds without a packet; mail servers keep connections for the next message
_VERSION = 6
_ADD_HEADERS, _CHANGE_HEADERS = 0x01, 0x10
# Connection, HELO, MAIL, RCPT, unknown commands and DATA are not sent; header, its end and body get no answer; values
# of headers keep the blank before them.
_NOT_SENT = 0x01 | 0x02 | 0x04 | 0x08 | 0x100 | 0x200
_NO_ANSWER = {b"L": 0x80, b"N": 0x40000, b"B": 0x80000}
_LEADING_SPACE = 0x100000
_WANTED = _NOT_SENT | _LEADING_SPACE | sum(_NO_ANSWER.values())
_STEPS = b"CHMRTUNLB"
_OURS = (FIELD.lower().encode(), REASON_FIELD.lower().encode())

Judge = Callable[[bytes], tuple[Verdict, str]]


class MilterError(ValueError):
    """A packet that is none of the protocol."""


def packet(letter: bytes, data: bytes = b"") -> bytes:
    """A packet."""
    return struct.pack(">I", len(data) + 1) + letter + data


class Session:
    """One connection of a mail server, message after message.

    Parameters
    ----------
    judge : callable
        The verdict on a message and the name of the model.
    most : int
        Bytes of a message that are held and judged; the rest is passed over.
    reject : bool
        Whether spam is refused, or only marked.
    shadow : bool
        Whether nothing is done at all.
    """

    def __init__(self, judge: Judge, most: int, *, reject: bool = False, shadow: bool = False) -> None:
        self._judge, self._most, self._reject, self._shadow = judge, most, reject, shadow
        self._agreed = 0
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[bytes] = []
        self.held = 0
        self._ours: list[bytes] = []  # names of fields that only we may write, as they came

    def take(self, letter: bytes, data: bytes) -> bytes | None:
        """The answer to a packet; None to the one that ends the connection."""
        if letter == b"O":
            return self._negotiated(data)
        if letter in (b"Q", b"K", b"A"):
            self._clear()
            return None if letter == b"Q" else b""
        if letter == b"D":
            return b""
        if letter == b"E":
            self._hold(data)
            return self._decided()
        if len(letter) != 1 or letter not in _STEPS:
            msg = f"unknown packet {letter!r}"
            raise MilterError(msg)
        if letter == b"L":
            self._header(data)
        elif letter == b"N":
            self._hold(b"\r\n")
        elif letter == b"B":
            self._hold(data)
        return b"" if self._agreed & _NO_ANSWER.get(letter, 0) else packet(b"c")

    def _negotiated(self, data: bytes) -> bytes:
        if len(data) < 12:
            msg = "negotiation is cut short"
            raise MilterError(msg)
        version, actions, steps = struct.unpack(">III", data[:12])
        if version < 2:
            msg = f"version {version} of the protocol is not spoken"
            raise MilterError(msg)
        self._agreed = steps & _WANTED
        wanted = 0 if self._shadow else actions & (_ADD_HEADERS | _CHANGE_HEADERS)
        return packet(b"O", struct.pack(">III", min(version, _VERSION), wanted, self._agreed))

    def _header(self, data: bytes) -> None:
        name, zero, rest = data.partition(b"\0")
        if not zero or not rest.endswith(b"\0"):
            msg = "a header is cut short"
            raise MilterError(msg)
        if name.strip().lower() in _OURS:
            self._ours.append(name)
        gap = b"" if self._agreed & _LEADING_SPACE else b" "
        value = rest[:-1].replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        self._hold(b"%b:%b%b\r\n" % (name, gap, value))

    def _hold(self, data: bytes) -> None:
        data = data[: self._most - self.held]
        self._pieces.append(data)
        self.held += len(data)

    def _decided(self) -> bytes:
        raw, ours = b"".join(self._pieces), self._ours
        self._clear()
        try:
            verdict, model = self._judge(raw)
        except Exception:
            return packet(b"t")
        if self._shadow:
            return packet(b"c")
        if self._reject and verdict.label == "spam":
            return packet(b"y", b"550 5.7.1 This message looks like spam\0")
        # Forged fields first, the last of a name first, as each that goes changes the numbers of those behind it.
        number = {name.lower(): [n.lower() for n in ours].count(name.lower()) for name in ours}
        changes = []
        for name in reversed(ours):
            changes.append(packet(b"m", struct.pack(">I", number[name.lower()]) + name + b"\0\0"))
            number[name.lower()] -= 1
        gap = b" " if self._agreed & _LEADING_SPACE else b""
        for line in reversed(fields(verdict, model)):  # each goes to the top
            name, _, value = line.encode("ascii", "replace").partition(b": ")
            changes.append(packet(b"i", struct.pack(">I", 0) + name + b"\0" + gap + value + b"\0"))
        return b"".join([*changes, packet(b"c")])


class Room(Protocol):
    """Who counts the bytes that all clients hold."""

    def take(self, size: int) -> bool:
        """Whether so many more may be held."""

    def give_back(self, size: int) -> None:
        """Hold so many less."""


async def speak(
    session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, room: Room, seconds: float
) -> None:
    """Answer a mail server until it ends the connection, breaks the protocol, is silent too long, or room is out."""
    counted = 0
    try:
        while True:
            head = await asyncio.wait_for(reader.readexactly(5), seconds)
            (size,) = struct.unpack(">I", head[:4])
            if not 1 <= size <= LONGEST_PACKET:
                msg = f"a packet of {size} bytes"
                raise MilterError(msg)
            data = await asyncio.wait_for(reader.readexactly(size - 1), seconds)
            if len(data) + session.held > counted:
                if not room.take(len(data) + session.held - counted):
                    return  # the mail server does by its setting for a filter that is away
                counted = len(data) + session.held
            answer = session.take(head[4:5], data)
            if answer is None:
                return
            if answer:
                writer.write(answer)
                await asyncio.wait_for(writer.drain(), seconds)
            if not session.held:
                room.give_back(counted)
                counted = 0
    except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
        return
    finally:
        room.give_back(counted)
        writer.close()
