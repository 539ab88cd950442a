"""What a client can take of the service: connections, bytes, seconds, guesses; and what it is told."""

import asyncio
import contextlib
import csv
import io
import json
import re
import socket
import stat
import urllib.error
import urllib.request

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "httpx"):
    pytest.importorskip(name)

import httpx  # noqa: E402

from reliability import clients  # noqa: E402
from tallywise import TextClassifier  # noqa: E402
from tallywise._byte_budget import ByteBudget  # noqa: E402
from tallywise.serve import Service, Settings, Store  # noqa: E402
from tallywise.serve.access import AccessControl  # noqa: E402
from tallywise.serve.answers import ServiceError  # noqa: E402
from tallywise.serve.http_connection import Connection  # noqa: E402
from tallywise.serve.pages.data import harmless  # noqa: E402
from tallywise.serve.server import Server  # noqa: E402
from tests.serving import messages, running, start, until  # noqa: E402

STREAM = {"content-type": "application/x-ndjson"}
TOKEN = {"TALLY_TOKEN": "the-secret-token", "TALLY_READER_TOKEN": "the-reader-token"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    texts, labels = zip(*messages(), strict=True)
    path = tmp_path_factory.mktemp("model") / "m.tally"
    TextClassifier("linear_svm", cv=2).fit(list(texts), list(labels)).save(path)
    return path


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    with running(model, "--store", tmp_path_factory.mktemp("store") / "s") as found:
        yield found


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.url, timeout=60) as found:
        yield found


@pytest.fixture(scope="module")
def closed(model, tmp_path_factory):
    with running(model, "--trust-proxy", "--store", tmp_path_factory.mktemp("closed") / "s", env=TOKEN) as found:
        yield found


def connect(server):
    host, port = server.url.removeprefix("http://").split("/")[0].split(":")
    return socket.create_connection((host, int(port)), 30)


def head(path="/classify", length=8 << 20, *fields):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *fields]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


# --- a stream of lines ---


@pytest.mark.parametrize(
    "bad",
    [
        b"NaN",
        b'{"text": "a", "id": NaN}',
        b'{"text": "a", "id": -Infinity}',
        b'{"text": "a", "id": 1e400}',
        b'{"text": "a", "id": ' + b"[" * 500 + b"]" * 500 + b"}",
        b"",
        b'{"text": "' + b"x" * 9_000_000 + b'"}',
    ],
    ids=["NaN", "an id that is NaN", "infinite", "beyond float64", "a nested id", "an empty line", "too long"],
)
def test_a_stream_has_one_answer_for_each_line_whatever_it_holds(client, bad):
    lines = [b'"fine"'] * 300 + [bad] + [b'{"text": "fine", "id": 7}'] * 300
    answer = client.post("/classify", content=b"\n".join(lines) + b"\n", headers=STREAM)
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert [k for k, line in enumerate(found) if "error" in line] == [300]
    assert len(found) == 601
    assert found[300]["line"] == 301


def test_numbers_that_json_has_not_are_refused_everywhere(client):
    for path in ("/classify", "/explain", "/learn"):
        answer = client.post(path, content=b'{"text": NaN}', headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422)


# --- bytes ---


def test_half_requests_do_not_fill_the_memory_nor_keep_whole_ones_out(server, client):
    with contextlib.ExitStack() as stack:
        for k in range(30):
            link = stack.enter_context(connect(server))
            with contextlib.suppress(OSError):  # it may be refused before it has sent all of it
                link.sendall(head("/learn" if k % 2 else "/classify") + b'{"text": "' + b"a" * (4 << 20))
        taken = re.search(r"^tally_bytes_under_way (\S+)$", client.get("/metrics").text, re.M)
        assert 0 < float(taken[1]) <= 64 << 20
        whole = client.post("/classify", json={"text": "free prize " * 600_000, "probabilities": True})
        assert whole.status_code == 200
    until(lambda: "\ntally_bytes_under_way 0\n" in client.get("/metrics").text)


def test_lines_without_an_end_are_in_the_budget(server, client):
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            link = stack.enter_context(connect(server))
            with contextlib.suppress(OSError):
                link.sendall(head(length=100 << 20).replace(b"application/json", b"application/x-ndjson"))
                link.sendall(b'"' + b"a" * (4 << 20))
        taken = re.search(r"^tally_bytes_under_way (\S+)$", client.get("/metrics").text, re.M)
        assert float(taken[1]) <= 64 << 20
    until(lambda: "\ntally_bytes_under_way 0\n" in client.get("/metrics").text)


@pytest.mark.parametrize("path", ["/classify", "/learn", "/explain", "/login"])
def test_a_client_that_sends_all_of_a_large_body_first_reads_why_it_is_refused(server, path):
    request = urllib.request.Request(
        server.url + path, data=b"x" * (64 << 20), headers={"content-type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=60)
    with error.value:
        assert error.value.code == 413
        assert "bytes" in json.load(error.value)["error"]["message"]


@pytest.mark.parametrize(("path", "body"), [("/classify", {"texts": ["a"]}), ("/learn", {"text": "a", "label": "b"})])
def test_classifying_and_learning_count_among_the_requests_under_way(tmp_path, path, body):
    service = Service(Store(tmp_path / "s"), Settings(max_waiting=0))

    async def ask():
        await service.start()
        transport = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = await client.post(path, json=body)
        await service.stop()
        return found.status_code

    assert asyncio.run(ask()) == 429


@pytest.mark.parametrize("path", ["/classify", "/learn", "/explain"])
def test_a_request_that_does_not_end_is_ended(model, tmp_path, path):
    with running(model, "--store", tmp_path / "s", "--timeout", 0.5) as server, connect(server) as link:
        link.sendall(head(path) + b'{"text": "a')
        assert link.recv(100).split()[1] in (b"503", b"408")


# --- seconds ---


def test_work_for_clients_that_are_gone_is_given_up(model, tmp_path):
    server = start(model, "--store", tmp_path / "s")
    body = json.dumps({"text": "free prize " * 90_000}).encode()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for path in ("/explain", "/flip") * 8:
            with connect(server) as link:
                link.sendall(head(path, len(body)) + body)
        until(lambda: "\ntally_requests_under_way 1\n" in client.get("/metrics").text, 60)
        assert client.post("/explain", json={"text": "free prize"}).status_code == 200
    with connect(server) as link:
        link.sendall(head("/flip", len(body)) + body)
        assert server.stop() == 0


def test_a_text_that_is_too_long_to_explain_is_refused(client):
    for path in ("/explain", "/flip"):
        assert client.post(path, json={"text": "free " * 300_000}).status_code == 413


class Wire:
    """A transport that notes what is done to it."""

    def __init__(self, peer="192.0.2.1"):
        self.sent, self.ended, self._peer = b"", False, peer

    def get_extra_info(self, name):
        return (self._peer, 1234)

    def write(self, data):
        self.sent += data

    def close(self):
        self.ended = True

    abort = close

    def is_closing(self):
        return self.ended

    def pause_reading(self):
        pass

    resume_reading = pause_reading


class Clock:
    """The loop of a server that is not running."""

    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now


class Nothing:
    """An application that answers nothing."""

    def __init__(self):
        self.settings, self.budget = Settings(), ByteBudget(1000)

    def may_be_quick(self, exchange):
        return True


def idle_server(most=100):
    server = Server(Nothing(), None)
    server.loop, server.most = Clock(), most
    return server


def joined(server, peer="192.0.2.1"):
    found = Connection(server)
    found.connection_made(Wire(peer))
    return found


@pytest.mark.parametrize(
    ("sent", "seconds", "status"),
    [(b"", 31, None), (b"GET / HT", 21, 408), (head(length=10) + b"{", 61, 408)],
    ids=["nothing", "half a header", "half a body"],
)
def test_silent_clients_are_let_go(sent, seconds, status):
    server = idle_server()
    connection = joined(server)
    connection.data_received(sent)
    server.loop.now += seconds / 2
    server._sweep()
    assert not connection.transport.ended
    server.loop.now += seconds / 2 + 0.1
    server._sweep()
    assert connection.transport.ended
    assert status is None or connection.transport.sent.startswith(b"HTTP/1.1 %d " % status)
    assert server.budget.taken == 0


def test_one_address_with_all_connections_makes_room_for_others():
    server = idle_server(most=64)
    other = joined(server, "192.0.2.2")
    silent = [joined(server) for _ in range(300)]
    assert not other.transport.ended
    assert sum(not connection.transport.ended for connection in silent) <= 63
    late = joined(server, "192.0.2.3")
    assert not late.transport.ended


def test_bytes_of_a_half_request_go_to_others_once_they_are_needed():
    server = idle_server()
    half, other = joined(server), joined(server)
    half.data_received(head(length=900) + b"x" * 800)
    server.loop.now += 1
    other.data_received(head(length=900) + b"x" * 800)
    assert half.transport.sent.startswith(b"HTTP/1.1 429 ")
    assert not other.transport.sent
    assert server.budget.taken == 800


@pytest.mark.parametrize("part", clients.PARTS)
def test_clients_that_are_silent_slow_or_send_nonsense_hinder_nobody(part):
    (found,) = clients.measure(only=part)
    assert found.wrong == []
    assert all(found.figures.values())


# --- who asks ---


def test_wrong_tokens_of_one_client_lock_out_nobody_else(closed):
    def ask(token, client):
        headers = {"authorization": f"Bearer {token}", "x-forwarded-for": f"198.51.100.99, {client}"}
        return httpx.post(closed.url + "/classify", json={"text": "a"}, headers=headers, timeout=60).status_code

    def log_in(token, client):
        headers = {"x-forwarded-for": client}
        return httpx.post(closed.url + "/login", data={"secret": token}, headers=headers, timeout=60).status_code

    assert [ask(f"guess-{k}", "203.0.113.1") for k in range(12)] == [401] * 10 + [429] * 2
    assert log_in("the-secret-token", "203.0.113.1") == 429
    assert [log_in(f"guess-{k}", "203.0.113.2") for k in range(12)] == [401] * 10 + [429] * 2
    assert ask("the-secret-token", "203.0.113.3") == 200
    assert log_in("the-secret-token", "203.0.113.3") == 303


def test_a_session_goes_on_while_its_address_is_locked_out():
    guard = AccessControl(Settings(token="the-secret-token"), b"key")
    cookie = f"{guard.cookie}={guard.log_in('the-secret-token', 'Ann', '192.0.2.1')}".encode()
    host = (b"host", b"localhost")
    for _ in range(20):
        with pytest.raises(ServiceError):
            guard.check("GET", "/texts", [host, (b"authorization", b"Bearer wrong")], ("192.0.2.1", 1))
    assert guard.check("GET", "/texts", [host, (b"cookie", cookie)], ("192.0.2.1", 1)).name == "Ann"


def test_a_neighbour_in_ipv6_is_the_same_client_and_tables_of_guesses_are_bounded():
    guard = AccessControl(Settings(token="the-secret-token"), b"key")
    for k in range(10):
        guard.guesses.wrong(f"2001:db8::{k:x}")
    assert not guard.guesses.allowed("2001:db8::ffff")
    assert guard.guesses.allowed("2001:db8:0:1::1")
    for k in range(20_000):
        guard.guesses.wrong(f"10.0.{k // 250}.{k % 250}")
    assert len(guard.guesses._wrong) <= 10_000


@pytest.mark.parametrize(
    "name", ["cookie", "authorization", "origin", "content-type", "accept", "idempotency-key", "x-forwarded-for", "te"]
)
def test_fields_of_any_bytes_are_no_fault_of_the_service(closed, name):
    port = closed.url.rpartition(":")[2].encode()
    for value in (
        bytes(range(128, 256)),
        b"tally%s=\xff.a.b.c.d" % port,
        b"tally%s=a.b.c.d.\xe9" % port,
        b"Bearer \xff",
    ):
        for path in (b"/try", b"/learn", b"/login", b"/classify"):
            with connect(closed) as link:
                request = b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\nContent-Length: 2\r\n\r\n{}"
                link.sendall(request % (path, name.encode(), value))
                status = int(link.recv(1000).split()[1])
            assert 400 <= status < 500, (path, name, value, status)


@pytest.mark.parametrize("target", [b"/\xff", b"/%ff", b"/%00", b"/a?q=%ed%a0%80", b"/history?q=\xff", b"//", b"*"])
def test_addresses_of_any_bytes_are_no_fault_of_the_service(server, target):
    with connect(server) as link:
        link.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n" % target)
        assert int(link.recv(1000).split()[1]) < 500


def test_logging_out_ends_the_session_for_whoever_has_the_cookie(model, tmp_path):
    def logged_in(url, cookie):
        return httpx.get(url + "/history", headers={"cookie": cookie}, timeout=60).status_code == 200

    with running(model, "--store", tmp_path / "s", env=TOKEN) as server:
        done = httpx.post(server.url + "/login", data={"secret": "the-secret-token"}, timeout=60)
        cookie = done.headers["set-cookie"].partition(";")[0]
        other = httpx.post(server.url + "/login", data={"secret": "the-secret-token"}, timeout=60)
        stays = other.headers["set-cookie"].partition(";")[0]
        page = httpx.get(server.url + "/history", headers={"cookie": cookie}, timeout=60).text
        token = re.search(r'name="token" value="(\w+)"', page)[1]
        httpx.post(server.url + "/logout", headers={"cookie": cookie}, data={"token": token}, timeout=60)
        assert not logged_in(server.url, cookie)
        assert logged_in(server.url, stays)
        port = server.url.rpartition(":")[2]
    with running("--store", tmp_path / "s", "--port", port, env=TOKEN) as server:
        assert not logged_in(server.url, cookie)
        assert logged_in(server.url, stays)


@pytest.mark.parametrize(
    "host",
    [
        "[::1].evil.com",
        "[::1]evil",
        "[::1]:80:80",
        "localhost.",
        "localhost:80@evil.com",
        "evil.com:localhost",
        "localhost, evil.com",
        "localhost:port",
        "localhost/evil",
    ],
)
def test_a_host_that_only_resembles_ours_is_refused(client, host):
    answer = client.get("/texts", headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unknown_host")


def test_our_hosts_are_taken_and_two_host_lines_are_not(server, client):
    for host in ("localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]", "[::1]:8080"):
        assert client.get("/texts", headers={"host": host}).status_code == 200
    for path in (b"/health", b"/classify"):
        with connect(server) as link:
            link.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nHost: evil.com\r\n\r\n" % path)
            assert link.recv(100).split()[1] == b"400"


def test_who_has_not_logged_in_learns_nothing_of_the_store(closed):
    page = httpx.get(closed.url + "/login", timeout=60).text
    for told in ("texts", "labelled", "version", "model", "History", "/try"):
        assert told not in re.sub(r"for History", "", page)
    assert 'name="secret"' in page


# --- files ---


def modes(folder):
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in [*folder.rglob("*"), folder]
        if path != folder or path.is_dir()
    }


def test_texts_models_and_the_secret_are_for_their_owner_alone(model, tmp_path):
    store = tmp_path / "s"
    with running(model, "--store", store) as server:
        httpx.post(server.url + "/learn", json={"text": "a", "label": "b"}, timeout=60)
        while_open = modes(store)
    for found in (while_open, modes(store)):
        assert {name: mode for name, mode in found.items() if mode & 0o077} == {}
    assert "texts.db" in while_open


def test_a_store_that_all_could_read_is_corrected_and_that_is_said(tmp_path, caplog):
    with Store(tmp_path / "s"):
        pass
    (tmp_path / "s" / "models" / "1.tally").write_bytes(b"")
    for path in [tmp_path / "s", *(tmp_path / "s").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Store(tmp_path / "s"):
        assert {name: mode for name, mode in modes(tmp_path / "s").items() if mode & 0o077} == {}
    assert "texts.db" in caplog.text
    assert "1.tally" in caplog.text
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "mine" / "letter.txt").write_text("hello")
    with Store(tmp_path / "mine"):
        pass
    found = modes(tmp_path / "mine")
    assert (found["."], found["letter.txt"] & 0o044) == (0o755, 0o044)
    assert found["texts.db"] == 0o600


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1+1", "\n=1"]
)
def test_exported_labels_are_safe_to_open_in_a_spreadsheet(client, text):
    client.post("/learn", json={"text": text, "label": "ham"})
    assert harmless(text) == f"'{text}"
    found = next(csv.reader(io.StringIO(client.get("/data/labels.csv").text.partition("\n")[2], newline="")))
    assert found[0] == f"'{text}"
    raw = next(csv.reader(io.StringIO(client.get("/data/labels.csv?raw=1").text.partition("\n")[2], newline="")))
    assert raw[0] == text
    (line,) = [row for row in client.get("/data/labels.jsonl").text.splitlines() if json.loads(row)["text"] == text]
    assert json.loads(line)["label"] == "ham"


# --- behind a proxy ---


def test_a_prefix_stands_before_every_address(model, tmp_path):
    options = ["--root-path", "/tools/tally", "--model", "multinomial_nb"]
    with running(model, "--store", tmp_path / "s", *options, env=TOKEN) as server:
        base = server.url.removesuffix("/tools/tally")
        assert server.url != base
        owner = {"authorization": "Bearer the-secret-token"}
        with httpx.Client(timeout=60, headers=owner) as client:
            for prefix in ("", "/tools/tally"):  # proxies take it away, or pass it on
                for page in ("/", "/try", "/label", "/history", "/model", "/topics", "/data"):
                    text = client.get(base + prefix + page).text
                    links = re.findall(r'(?:href|src|action|data-poll)="(/[^"]*)"', text)
                    assert links
                    assert all(link.startswith("/tools/tally/") for link in links), links
                assert client.post(base + prefix + "/classify", json={"text": "a"}).status_code == 200
            assert client.get(base + "/openapi.json").json()["servers"] == [{"url": "/tools/tally"}]
        page = httpx.get(base + "/try", headers={"accept": "text/html"}, timeout=60)
        assert page.headers["location"] == "/tools/tally/login?then=/try"
        done = httpx.post(base + "/login", data={"secret": "the-secret-token", "then": "/try"}, timeout=60)
        assert done.headers["location"] == "/tools/tally/try"
        assert "Path=/tools/tally;" in done.headers["set-cookie"]


def test_a_prefix_that_is_none_is_refused():
    for wrong in ("tally", "/", "/a b", "//evil", "/a/"):
        with pytest.raises(ValueError, match="--root-path"):
            Settings(root_path=wrong)


def test_a_service_that_is_told_twice_to_stop_does_not_wait():
    server, stop = idle_server(), asyncio.Event()
    for hurry in (False, True):
        server._told_to_stop(stop)
        assert (stop.is_set(), server._hurry) == (True, hurry)
