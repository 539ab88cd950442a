"""What clients of the mail server can take up together."""

import asyncio
import contextlib
import resource
import zlib

import pytest

from tallywise.spam.server import Limits, SpamServer
from tests.mail import HAM, SPAM, ask, taught


def half(size):
    """A request of which the last byte never comes."""
    return ask("CHECK", b"x" * size)[:-1]


@contextlib.asynccontextmanager
async def serving(**limits):
    server = SpamServer(taught(n=20), limits=Limits(**limits))
    port = await server.listen("127.0.0.1", 0)
    writers = []

    async def client(data):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        writer.write(data)
        return reader

    yield server, client
    for writer in writers:
        writer.close()
    await server.close()


async def answer(reader):
    try:
        return await asyncio.wait_for(reader.read(), 30)
    except ConnectionError:
        return b""


def test_half_requests_hold_no_more_than_the_budget_and_let_others_through():
    async def run():
        async with serving(under_way=1_000_000, message=400_000) as (server, client):
            slow = [await client(half(300_000)) for _ in range(25)]
            most, answers = 0, []
            for _ in range(20):
                answers.append(await answer(await client(ask("CHECK", SPAM))))
                most = max(most, server._bytes.taken)
            put_off = [reader for reader in slow if reader.at_eof() or reader._buffer]
            return most, answers, [await answer(reader) for reader in put_off]

    most, answers, put_off = asyncio.run(run())
    assert most <= 1_000_000
    assert all(b"Spam:" in found for found in answers)
    assert len(put_off) >= 22
    assert all(found.startswith(b"SPAMD/1.0 75 EX_TEMPFAIL") for found in put_off if found)


def test_the_largest_half_request_makes_room_and_is_told_in_its_protocol():
    post = b"POST /checkv2 HTTP/1.1\r\nContent-Length: 80000\r\n\r\n" + b"x" * 70_000

    async def run():
        async with serving(under_way=100_000) as (_, client):
            large = await client(post)
            await asyncio.sleep(0.1)
            small = await client(half(20_000))
            other = await client(ask("CHECK", HAM + b"y" * 40_000))
            return await answer(large), await answer(other), small.at_eof()

    large, other, small_is_gone = asyncio.run(run())
    assert large.startswith(b"HTTP/1.1 503")
    assert b"Spam:" in other
    assert not small_is_gone


def test_compressed_messages_that_wait_to_be_learned_count_by_what_they_grow_to():
    packed = zlib.compress(b"Subject: x\n\n" + b"x" * 300_000)
    tell = ask("TELL", packed, "1.5", "Compress: zlib", "Message-class: spam", "Set: local")

    async def run():
        async with serving(under_way=1_000_000) as (server, client):
            put = server._waiting.put_nowait
            waiting = []
            server._waiting.put_nowait = waiting.append  # a writer that is busy
            readers = [await client(tell) for _ in range(10)]
            refused = [await answer(reader) for reader in readers[3:]]
            taken = server._bytes.taken
            for job in waiting:
                put(job)
            return taken, refused, [await answer(reader) for reader in readers[:3]]

    taken, refused, told = asyncio.run(run())
    assert 900_000 < taken <= 1_000_000
    assert all(found.startswith(b"SPAMD/1.0 75") for found in refused)
    assert all(found.startswith(b"SPAMD/1.5 0 EX_OK") for found in told)


def test_everything_taken_is_given_back():
    async def run():
        async with serving(under_way=1_000_000) as (server, client):
            tell = ask("TELL", SPAM, "1.5", "Message-class: spam", "Set: local")
            whole = [await client(data) for data in (ask("PROCESS", SPAM), tell, b"nonsense\r\n", ask("CHECK", HAM))]
            for reader in whole:
                await answer(reader)
            reader = await client(half(50_000))
            server_side = None
            while server_side is None:
                await asyncio.sleep(0.01)
                server_side = next((c for c in server._clients if c.held > 50_000), None)
            server_side.drop()
            await answer(reader)
            while server._clients:
                await asyncio.sleep(0.01)
            return server._bytes.taken

    assert asyncio.run(run()) == 0


def test_silent_connections_keep_nobody_out():
    async def run():
        async with serving(connections=100) as (server, client):
            slow = await client(b"CHECK SPAM")  # the oldest, but it has sent something
            silent = [await client(b"") for _ in range(250)]
            pong = await answer(await client(b"PING SPAMC/1.5\r\n\r\n"))
            gone = [reader for reader in silent if reader.at_eof() or reader.exception() is not None]
            return pong, len(server._clients), len(gone), slow.at_eof()

    pong, clients, gone, slow_is_gone = asyncio.run(run())
    assert b"PONG" in pong
    assert clients <= 100
    assert gone >= 150
    assert not slow_is_gone


@pytest.mark.parametrize(("files", "expected"), [(400, 400 - 64 - 96), (100, 1), (100_000, 500)])
def test_there_are_never_more_clients_than_the_system_has_files_for(monkeypatch, files, expected):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert SpamServer(taught(n=2))._most_clients == expected
