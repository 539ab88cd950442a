import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import zlib

import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.client_connection import ClientConnection, Reader
from tallywise.spam.server import Limits, SpamServer
from tallywise.spam.spamd import Refused
from tests.mail import HAM, SPAM, ask, messages, store, tally, taught

__all__ = ["store"]  # a fixture


def talk(*requests, mail=None, limits=None, shut=True, users=None):
    """Answers of a server to requests, each on a connection of its own."""

    async def run():
        server = SpamServer(mail or taught(), limits=limits, users=users)
        port = await server.listen("127.0.0.1", 0)
        answers = []
        for request in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            if shut:
                writer.write_eof()
            answers.append(await asyncio.wait_for(reader.read(), 20))
            writer.close()
            await writer.wait_closed()
        await server.close()
        return answers

    return asyncio.run(run())


def split(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return first, dict(line.split(": ", 1) for line in rest), body


def test_what_a_request_says_twice_and_differently_is_refused():
    """Which of two lengths, or of two classes, is meant nobody knows: a wrong one cuts, or teaches the opposite."""
    twice = ask("CHECK", SPAM, "1.5", "Content-length: 5")
    classes = ask("TELL", SPAM, "1.5", "Message-class: spam", "Message-class: ham", "Set: local")
    same = ask("CHECK", SPAM, "1.5", f"Content-length: {len(SPAM)}")
    mail = taught()
    known = mail.counts
    first, second, third = talk(twice, classes, same, mail=mail)
    assert first == b"SPAMD/1.0 76 EX_PROTOCOL two different lines content-length\r\n"
    assert second == b"SPAMD/1.0 76 EX_PROTOCOL two different lines message-class\r\n"
    assert third.startswith(b"SPAMD/1.5 0 EX_OK")
    assert mail.counts == known


@pytest.mark.parametrize("field", ["Content-Length: 5", "Transfer-Encoding: chunked"])
def test_a_length_that_is_said_in_two_ways_is_refused_over_http(field):
    lines = ["POST /checkv2 HTTP/1.1", f"Content-Length: {len(SPAM)}", "Rcpt: a@x.example", "Rcpt: b@x.example"]
    (fine,) = talk("\r\n".join([*lines, "", ""]).encode() + SPAM)
    (refused,) = talk("\r\n".join([*lines, field, "", ""]).encode() + SPAM)
    assert (fine[:12], refused[:12]) == (b"HTTP/1.1 200", b"HTTP/1.1 400")


def test_every_command_is_answered():
    commands = ["CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS"]
    answers = talk(*(ask(command) for command in commands))
    for command, answer in zip(commands, answers, strict=True):
        first, headers, body = split(answer)
        assert first == "SPAMD/1.5 0 EX_OK"
        assert headers["Spam"].startswith("True ; ")
        assert int(headers["Content-length"]) == len(body)
        assert (body == b"") == (command == "CHECK")
    assert b"\n---- ---" in answers[2]
    assert b"TALLY_SPAM," in answers[1]
    assert split(answers[4])[2].endswith(SPAM)
    assert split(answers[5])[2].endswith(b"\n\n")


def test_ham_is_ham_and_reports_only_spam_where_asked():
    check, report = talk(ask("CHECK", HAM), ask("REPORT_IFSPAM", HAM))
    assert split(check)[1]["Spam"].startswith("False ; ")
    assert split(report)[2] == b""


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_old_clients_get_exactly_one_header(version):
    for answer in talk(ask("REPORT", SPAM, version), ask("CHECK", SPAM, version)):
        first, headers, _ = split(answer)
        assert first == "SPAMD/1.1 0 EX_OK"
        assert list(headers) == ["Spam"]


def test_no_length_means_to_the_end():
    (answer,) = talk(b"CHECK SPAMC/1.2\r\n\r\n" + SPAM)
    assert b"Spam: True" in answer


def test_compressed_messages_are_read_and_bombs_are_not():
    packed = zlib.compress(SPAM)
    bomb = zlib.compress(b"x" * (5 << 20))
    limits = Limits(message=1 << 20)
    good, big, torn, odd = talk(
        ask("CHECK", packed, "1.5", "Compress: zlib"),
        ask("CHECK", bomb, "1.5", "Compress: zlib"),
        ask("CHECK", packed[:-4], "1.5", "Compress: zlib"),
        ask("CHECK", packed, "1.5", "Compress: lz4"),
        limits=limits,
    )
    assert b"Spam: True" in good
    assert big.startswith(b"SPAMD/1.0 65 EX_DATAERR")
    assert torn.startswith(b"SPAMD/1.0 65 EX_DATAERR")
    assert odd.startswith(b"SPAMD/1.0 76 EX_PROTOCOL")


@pytest.mark.parametrize(
    "request_",
    [
        b"HELLO\r\n\r\n",
        b"CHECK\r\n\r\n",
        b"DANCE SPAMC/1.5\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nContent-length: -4\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nContent-length: 99999999999\r\n\r\n",
        b"CHECK SPAMC/1.5\r\nContent-length: 50\r\n\r\nshort",
        b"CHECK SPAMC/1.5\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"A" * 200_000,
        b"TELL SPAMC/1.5\r\n\r\n",
        b"\0\xff\r\n\r\n",
        b"",
    ],
)
def test_what_is_no_request_is_never_a_verdict(request_):
    (answer,) = talk(request_)
    assert not answer.startswith(b"SPAMD/1.5 0")
    assert b"Spam:" not in answer


def test_a_client_that_dawdles_is_let_go():
    (answer,) = talk(b"CHECK SPAMC/1.5\r\nContent-length: 100\r\n\r\n", limits=Limits(seconds=0.2), shut=False)
    assert b"Spam:" not in answer


class SlowTransport(asyncio.Transport):
    """A connection whose client has yet to take `left` bytes."""

    def __init__(self):
        super().__init__()
        self.left, self.gone = 0, False

    def write(self, data):
        self.left += len(data)

    def get_write_buffer_size(self):
        return self.left

    def is_closing(self):
        return self.gone

    def can_write_eof(self):
        return True

    def write_eof(self):
        pass

    def close(self):
        pass

    def abort(self):
        self.gone = True


class Clock:
    """A loop with one timer, which goes off when told to."""

    def call_later(self, delay, then, *arguments):
        self.then = lambda: then(*arguments)
        return self

    def cancel(self):
        self.then = None


@pytest.mark.parametrize("extra", [b"", b"more than was announced"])
def test_an_answer_is_not_cut_while_its_client_takes_it(monkeypatch, extra):
    clock, transport = Clock(), SlowTransport()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: clock)
    large = SPAM + b"a line of text\n" * 1_000_000
    connection = ClientConnection(SpamServer(taught(n=10), limits=Limits(seconds=60)))
    connection.connection_made(transport)
    connection.data_received(ask("PROCESS", large) + extra)
    assert transport.left > len(large)
    while transport.left > 2_000_000:
        transport.left -= 2_000_000
        clock.then()
        assert not transport.gone
    clock.then()  # nothing was taken since
    assert transport.gone


def test_a_failure_of_ours_is_no_verdict():
    mail = taught()
    mail.classify = lambda *_: 1 / 0
    for answer in talk(ask("CHECK"), mail=mail):
        assert answer.startswith(b"SPAMD/1.0 75 EX_TEMPFAIL")


def test_tell_learns_forgets_and_says_what_it_did():
    mail = taught()
    odd = b"Subject: odd\n\nqqq www\n"
    tell = ("TELL", odd, "1.5")
    answers = talk(
        ask(*tell, "Message-class: spam", "Set: local"),
        ask(*tell, "Message-class: spam", "Set: local"),
        ask(*tell, "Message-class: ham", "Set: local", "Remove: local"),
        ask(*tell, "Remove: local"),
        ask(*tell, "Remove: local"),
        mail=mail,
    )
    heads = [split(answer)[1] for answer in answers]
    assert [sorted(set(head) - {"Content-length"}) for head in heads] == [["DidSet"], [], ["DidSet"], ["DidRemove"], []]


def test_users_have_filters_of_their_own(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    tell = ask("TELL", HAM, "1.5", "Message-class: spam", "Set: local", "User: ann")
    _, ann, bob = talk(tell, *(ask("CHECK", HAM, "1.5", f"User: {name}") for name in ("ann", "bob")), users=tmp_path)
    assert split(ann)[1]["Spam"] != split(bob)[1]["Spam"]
    assert {name for name in os.listdir(tmp_path) if name.endswith(".spam")} == {"ann.spam"}


def test_only_what_is_learned_makes_a_file(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    post = b"POST /checkv2 HTTP/1.1\r\nContent-Length: %d\r\nDeliver-To: %b\r\n\r\n" + SPAM
    checks = [ask("CHECK", SPAM, "1.5", f"User: user{k}") for k in range(40)]
    posts = [post % (len(SPAM), b"post%d" % k) for k in range(40)]
    forget = ask("TELL", messages(1)[0][0], "1.5", "Remove: local", "User: ann")
    broken = ask("TELL", SPAM, "1.5", "User: ann")
    mail = taught()
    *answers, forgot, refused = talk(*checks, *posts, forget, broken, users=tmp_path, mail=mail)
    assert all(b"Spam: True" in answer or b'"reject"' in answer for answer in answers)
    assert b"DidRemove" not in forgot  # neither in a file of ann's nor in everybody's filter
    assert refused.startswith(b"SPAMD/1.0 76 EX_PROTOCOL")
    assert sum(mail.counts()) == 200
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["o'brien", "../evil", "", "a/b", "j\xf6rg", ".hidden", "x" * 200, "a b"])
def test_odd_names_of_users_are_refused_and_teach_nobody(tmp_path, name):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    mail = taught()
    tell = ask("TELL", HAM, "1.5", "Message-class: spam", "Set: local").replace(
        b"Set: local", b"Set: local\r\nUser: " + name.encode("latin-1")
    )
    told, ping = talk(tell, b"PING SPAMC/1.5\r\nUser: o'brien\r\n\r\n", users=tmp_path, mail=mail)
    assert told.startswith(b"SPAMD/1.0 67 EX_NOUSER")
    assert b"PONG" in ping
    assert sum(mail.counts()) == 200
    assert os.listdir(tmp_path) == []
    if name:
        post = b"POST /checkv2 HTTP/1.1\r\nContent-Length: 0\r\nDeliver-To: %b\r\n\r\n" % name.encode("latin-1")
        (posted,) = talk(post, users=tmp_path)
        assert posted.startswith(b"HTTP/1.1 400")


def test_more_users_than_stay_open_are_all_taught(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")

    async def run():
        server = SpamServer(taught(), users=tmp_path, limits=Limits(users=2))
        port = await server.listen("127.0.0.1", 0)

        async def tell(k):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(ask("TELL", HAM, "1.5", "Message-class: spam", "Set: local", f"User: u{k % 6}"))
            answer = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            return answer

        answers = await asyncio.gather(*(tell(k) for k in range(18)))
        await server.close()
        return answers

    answers = asyncio.run(run())
    assert all(answer.startswith(b"SPAMD/1.5 0 EX_OK") for answer in answers)
    assert sum(b"DidSet" in answer for answer in answers) == 6
    for k in range(6):
        with SpamFilter(tmp_path / f"u{k}.spam") as mail:
            assert mail.counts() == (1, 0)


def test_rspamd_clients_and_prometheus_are_served():
    post = b"POST /checkv2 HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(SPAM) + SPAM
    check, metrics, ping, lost = talk(
        post, b"GET /metrics HTTP/1.1\r\n\r\n", b"GET /ping HTTP/1.0\r\n\r\n", b"GET /x HTTP/1.1\r\n\r\n"
    )
    assert b'"action": "reject"' in check
    assert b'"required_score": 15.0' in check
    assert b'tallywise_spam_requests_total{command="POST /checkv2"} 1' in metrics
    assert b"pong" in ping
    assert b"404" in lost.split(b"\r\n")[0]


def test_commands_learn_check_explain_and_forget(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    for label in ("spam", "ham"):
        (tmp_path / label / "cur").mkdir(parents=True)
        (tmp_path / label / "new").mkdir()
    for k, (raw, label) in enumerate(messages(60)):
        (tmp_path / label / "cur" / f"{k}:2,S").write_bytes(raw)
    where = ("--store", str(tmp_path / "f"))
    spam, ham = str(tmp_path / "spam"), str(tmp_path / "ham")
    assert b"the filter knows" in tally("spam", "learn", *where, "--spam", spam, "--ham", ham).stdout
    (tmp_path / "new.eml").write_bytes(SPAM)
    new = str(tmp_path / "new.eml")
    assert tally("spam", "check", *where, new).stdout.startswith(b"spam")
    assert b"all else" in tally("spam", "explain", *where, new).stdout
    assert b"60 messages learned" in tally("spam", "stats", *where).stdout
    assert b"sound" in tally("spam", "verify", *where).stdout
    forgotten = tally("spam", "forget", *where, "--purge", spam)
    assert b"the filter is exact" in forgotten.stdout
    assert b": 0 spam" in tally("spam", "stats", *where).stdout
    (tmp_path / "index").write_text("".join(f"{label} {k}\n" for k, (_, label) in enumerate(messages(60))))
    for k, (raw, _) in enumerate(messages(60)):
        (tmp_path / str(k)).write_bytes(raw)
    assert b"1-ROCA" in tally("spam", "replay", str(tmp_path / "index")).stdout
    assert b"as if it had never come" in tally("spam", "demo").stdout


@contextlib.contextmanager
def serving(store, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-c", "from tallywise.cli import main; main()", "spam", "serve", "--store", store, *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stderr.readline()
        assert line.startswith("listening on "), line
        yield line.split()[-1]
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@pytest.mark.skipif(shutil.which("spamc") is None, reason="spamc is not installed")
def test_the_real_spamc_is_served(store):
    with serving(store, "--spamd", "127.0.0.1:0") as address:
        port = address.rsplit(":", 1)[1]

        def spamc(*arguments, raw=SPAM):
            return subprocess.run(
                ["spamc", "-d", "127.0.0.1", "-p", port, *arguments], input=raw, capture_output=True, timeout=30
            )

        assert spamc("-c").returncode == 1
        assert spamc("-c", raw=HAM).returncode == 0
        assert b"X-Spam-Flag: YES" in spamc().stdout
        assert spamc().stdout.endswith(SPAM)
        assert b"---- ---" in spamc("-R").stdout
        assert b"TALLY_SPAM" in spamc("-y").stdout
        odd = b"Subject: odd\n\nqqq\n"
        assert b"successfully un/learned" in spamc("-L", "ham", raw=odd).stdout
        assert b"already un/learned" in spamc("-L", "ham", raw=odd).stdout
        assert b"successfully un/learned" in spamc("-L", "forget", raw=odd).stdout


def test_aiospamc_is_served():
    aiospamc = pytest.importorskip("aiospamc", reason="aiospamc is not installed")

    async def run():
        server = SpamServer(taught())
        port = await server.listen("127.0.0.1", 0)
        answer = await aiospamc.check(SPAM, host="127.0.0.1", port=port)
        told = await aiospamc.process(HAM, host="127.0.0.1", port=port)
        await server.close()
        return answer, told

    answer, told = asyncio.run(run())
    assert answer.headers.spam.value
    assert not told.headers.spam.value
    assert told.body.endswith(HAM)


def fed(reader, data, size):
    for start in range(0, len(data), size):
        if (request := reader.feed(data[start : start + size])) is not None:
            return request
    return reader.feed(b"", end=True)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_a_request_is_the_same_in_pieces_of_any_size(size):
    for data in (
        ask("CHECK"),
        b"CHECK SPAMC/1.2\n\n" + SPAM,
        ask("CHECK", zlib.compress(SPAM), "1.5", "Compress: zlib"),
    ):
        assert fed(Reader(1 << 20), data, size).message == SPAM
    post = b"POST /checkv2 HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(SPAM) + SPAM
    assert fed(Reader(1 << 20), post, size).message == SPAM
    for data in (
        b"CHECK SPAMC/1.5\r\nContent-length: \xb2\r\n\r\n",
        b"x" * 9000,
        b"CHECK SPAMC/1.5\r\nno colon\r\n\r\n",
    ):
        with pytest.raises(Refused):
            fed(Reader(1 << 20), data, size)


def test_more_than_was_announced_does_not_take_the_answer_back():
    (answer,) = talk(ask("CHECK") + b"x" * 100_000)
    assert b"Spam: True" in answer


def test_a_client_that_says_nothing_does_not_hold_up_the_end():
    async def run():
        server = SpamServer(taught(n=10))
        port = await server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"CHECK SPAM")
        await asyncio.sleep(0.05)
        await asyncio.wait_for(server.close(), 20)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    asyncio.run(run())


def test_a_client_is_put_off_where_no_other_can_make_room():
    async def run():
        server = SpamServer(taught(n=10), limits=Limits(connections=0))
        port = await server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answer = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        await server.close()
        return answer

    assert asyncio.run(run()).startswith(b"SPAMD/1.0 75 EX_TEMPFAIL")


def test_of_too_many_clients_those_with_half_a_request_for_longest_make_room():
    async def run():
        server = SpamServer(taught(n=10), limits=Limits(connections=5))
        port = await server.listen("127.0.0.1", 0)
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for _, writer in slow:
            writer.write(b"CHECK SPAM")
        answers = []
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"PING SPAMC/1.5\r\n\r\n")
            answers.append(await asyncio.wait_for(reader.read(), 20))
            writer.close()
        first = await asyncio.wait_for(asyncio.gather(slow[0][0].read(), return_exceptions=True), 20)
        last_is_gone = slow[4][0].at_eof()
        for _, writer in slow:
            writer.close()
        await server.close()
        return answers, first[0], last_is_gone

    answers, first, last_is_gone = asyncio.run(run())
    assert [answer.split()[1:3] for answer in answers] == [[b"0", b"PONG"]] * 3
    assert isinstance(first, ConnectionError) or first == b""
    assert not last_is_gone
