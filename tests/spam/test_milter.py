"""The milter protocol: packets as Postfix sends them, and packets that nobody should send."""

import asyncio
import struct

import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.milter import MilterError, Session, packet
from tallywise.spam.server import Limits, SpamServer
from tallywise.spam.spamd import Manner
from tests.mail import HAM, SPAM, taught

OFFER = struct.pack(">III", 6, 0x1FF, 0x1FFFFF)  # what Postfix 3.7 offers
OLD = struct.pack(">III", 2, 0x3F, 0x7F)


@pytest.fixture(scope="module")
def mail():
    return taught()


def session(mail, offer=OFFER, **options):
    found = Session(lambda raw: (mail.classify(raw, 5), mail.model), 1 << 20, **options)
    found.take(b"O", offer)
    return found


def sent(found, raw, extra=()):
    """The packets of a message, and the answers behind its end."""
    head, _, body = raw.partition(b"\n\n")
    for line in head.split(b"\n"):
        name, _, value = line.partition(b":")
        found.take(b"L", name + b"\0" + value + b"\0")
    for name, value in extra:
        found.take(b"L", name + b"\0" + value + b"\0")
    found.take(b"N", b"")
    found.take(b"B", body)
    return answers(found.take(b"E", b""))


def answers(data):
    found = []
    while data:
        (size,) = struct.unpack(">I", data[:4])
        found.append((data[4:5], data[5 : 4 + size]))
        data = data[4 + size :]
    return found


def test_what_the_server_need_not_send_is_left_out_where_it_offers_that():
    for offer, version, steps in ((OFFER, 6, 0x1C038F), (OLD, 2, 0x0F)):
        answer = answers(Session(None, 99).take(b"O", offer))
        assert answer == [(b"O", struct.pack(">III", version, 0x11, steps))]


@pytest.mark.parametrize("offer", [OFFER, OLD])
def test_messages_are_judged_as_they_are_in_a_file(mail, offer):
    judged = []
    found = Session(lambda raw: (judged.append(raw), (mail.classify(raw), "online"))[1], 1 << 20)
    found.take(b"O", offer)
    for raw in (SPAM, HAM, SPAM):
        if offer == OLD:
            raw = raw.replace(b": ", b":")  # old servers take the blank away, which is put back
        assert sent(found, raw)[-1] == (b"c", b"")
    assert [mail.score(raw) for raw in judged] == [mail.score(raw) for raw in (SPAM, HAM, SPAM)]


def test_forged_fields_go_from_the_last_to_the_first_and_ours_come_to_the_top(mail):
    forged = [(b"X-Tally-Spam", b" ham"), (b"X-tally-SPAM", b" ham"), (b"X-Tally-Reason", b" none")]
    found = sent(session(mail), SPAM, forged)
    gone = [data for kind, data in found if kind == b"m"]
    assert gone == [
        struct.pack(">I", 1) + b"X-Tally-Reason\0\0",
        struct.pack(">I", 2) + b"X-tally-SPAM\0\0",
        struct.pack(">I", 1) + b"X-Tally-Spam\0\0",
    ]
    ours = [data[4:].split(b"\0")[:2] for kind, data in found if kind == b"i"]
    assert [name for name, _ in ours] == [b"X-Tally-Reason", b"X-Tally-Spam"]
    assert ours[1][1].startswith(b" spam, probability=")


def test_spam_is_refused_only_where_that_was_asked_for(mail):
    assert sent(session(mail, reject=True), SPAM) == [(b"y", b"550 5.7.1 This message looks like spam\0")]
    assert sent(session(mail, reject=True), HAM)[-1] == (b"c", b"")
    assert sent(session(mail, reject=True, shadow=True), SPAM) == [(b"c", b"")]


def test_a_failure_is_a_temporary_one():
    found = Session(lambda raw: 1 // 0, 1 << 20, reject=True)
    found.take(b"O", OFFER)
    assert sent(found, SPAM) == [(b"t", b"")]


def test_an_aborted_message_leaves_nothing_to_the_next(mail):
    found = session(mail)
    found.take(b"L", b"Subject\0 cheap pills casino\0")
    assert found.take(b"A", b"") == b""
    assert found.held == 0
    assert sent(found, HAM) == sent(session(mail), HAM)


def test_of_a_long_message_the_beginning_is_judged(mail):
    found = Session(lambda raw: (mail.classify(raw), str(len(raw))), 1000)
    found.take(b"O", OFFER)
    found.take(b"N", b"")
    for _ in range(50):
        found.take(b"B", b"x" * 65535)
    assert found.held == 1000
    assert b"model=1000" in found.take(b"E", b"")


@pytest.mark.parametrize(
    ("letter", "data"),
    [(b"L", b"Subject"), (b"L", b"a\0b"), (b"O", b"123"), (b"O", bytes(12)), (b"?", b""), (b"", b"")],
)
def test_what_is_no_packet_of_the_protocol_is_refused(mail, letter, data):
    with pytest.raises(MilterError):
        session(mail).take(letter, data)


async def talk(pieces, **limits):
    """Send pieces to a server on a socket; what it answers until it closes or a second has passed."""
    server = SpamServer(SpamFilter(), limits=Limits(**limits), manner=Manner())
    port = await server.listen_milter("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        while piece := await asyncio.wait_for(reader.read(1 << 16), 10):
            found += piece
    except ConnectionError:  # with bytes of ours unread
        pass
    finally:
        writer.close()
        held = server._bytes.taken
        await server.close()
    return found, held


def test_over_a_socket_a_message_is_judged_and_hostile_packets_end_the_connection():
    good = [packet(b"O", OFFER), packet(b"L", b"Subject\0 x\0"), packet(b"N"), packet(b"E"), packet(b"Q")]
    found, held = asyncio.run(talk(good))
    assert [kind for kind, _ in answers(found)] == [b"O", b"i", b"c"]
    assert held == 0
    for bad in (b"\xff\xff\xff\xffB", b"\0\0\0\0\0", packet(b"?"), packet(b"O", b"x")):
        assert asyncio.run(talk([bad])) == (b"", 0)


def test_all_connections_together_hold_bounded_memory():
    body = [packet(b"O", OFFER), packet(b"N"), *[packet(b"B", b"x" * 60_000)] * 40]
    found, held = asyncio.run(talk(body, under_way=1 << 20))
    assert [kind for kind, _ in answers(found)] == [b"O"]
    assert held == 0
