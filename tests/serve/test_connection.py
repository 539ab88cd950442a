"""Single texts, whose answers take a shorter way than all others: over the wire nobody can tell."""

import contextlib
import json
import socket

import pytest

for name in ("apsw", "fastapi", "httptools"):
    pytest.importorskip(name)

from tallywise import TextClassifier, load  # noqa: E402
from tests.serving import messages, running  # noqa: E402


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    texts, labels = zip(*messages(), strict=True)
    folder = tmp_path_factory.mktemp("wire")
    TextClassifier("multinomial_nb", cv=2).fit(list(texts), list(labels)).save(folder / "m.tally")
    with running(folder / "m.tally", "--store", folder / "s", "--max-body", 200_000) as found:
        yield found, load(folder / "m.tally")


def request(document, *fields, path="/classify", version="1.1", method="POST"):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost", "Content-Type: application/json", *fields]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class Wire:
    """A connection that sends bytes as given and reads answers one by one."""

    def __init__(self, server):
        host, port = server.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), 30)
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def answer(self):
        status = int(self.stream.readline().split()[1])
        fields = {}
        while line := self.stream.readline().strip():
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        return status, fields, json.loads(self.stream.read(int(fields["content-length"])))


def test_pipelined_requests_of_both_ways_are_answered_in_order(served):
    server, model = served
    texts = [text for text, _ in messages(12)]
    labels = model.predict(texts).tolist()
    with Wire(server) as wire:
        asked = [{"text": text} if k % 3 else {"text": text, "probabilities": True} for k, text in enumerate(texts)]
        wire.socket.sendall(b"".join(map(request, asked)))
        found = [wire.answer() for _ in texts]
    assert [status for status, _, _ in found] == [200] * len(texts)
    assert [body["label"] for _, _, body in found] == labels
    assert ["probabilities" in body for _, _, body in found] == [k % 3 == 0 for k in range(len(texts))]


def test_the_header_fields_of_both_ways_are_the_same(served):
    with Wire(served[0]) as wire:
        for document in ({"text": "a text"}, {"text": "a text", "probabilities": False}):
            wire.socket.sendall(request(document))
        (_, short, one), (_, long, other) = wire.answer(), wire.answer()
    assert one["label"] == other["label"]
    assert (
        set(short) == set(long) == {"date", "content-type", "x-content-type-options", "cache-control", "content-length"}
    )
    assert {name: short[name] for name in short if name not in ("date", "content-length")} == {
        name: long[name] for name in long if name not in ("date", "content-length")
    }


def test_a_request_may_come_byte_by_byte(served):
    with Wire(served[0]) as wire:
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request({"text": "a prize"}):
            wire.socket.sendall(bytes([byte]))
        assert wire.answer()[0] == 200


@pytest.mark.parametrize("size", [60_000, 70_000, 150_000])
def test_long_texts_are_answered_too(served, size):
    server, model = served
    text = ("win a prize " * size)[:size]
    with Wire(server) as wire:
        wire.socket.sendall(request({"text": text}))
        assert wire.answer()[2]["label"] == model.predict([text])[0]


@pytest.mark.parametrize(
    ("document", "status"),
    [
        (b"{", 400),
        (b'{"text": "a", "texts": []}', 422),
        (b'{"text": 7}', 422),
        (b"{}", 422),
        (b'{"other": "a"}', 422),
        (b'{"text": "\\ud800"}', 422),
        (b'{"text": "\xff"}', 400),
        (b" " * 200_001, 413),
    ],
)
def test_what_is_refused_leaves_the_connection_usable(served, document, status):
    with Wire(served[0]) as wire:
        wire.socket.sendall(request(document))
        assert wire.answer()[0] == status
        wire.socket.sendall(request({"text": "a prize"}))
        assert wire.answer()[0] == 200


def test_who_may_not_ask_is_refused(served):
    with Wire(served[0]) as wire:
        wire.socket.sendall(request({"text": "a"}, "Origin: http://elsewhere.example"))
        assert wire.answer()[0] == 403
        wire.socket.sendall(request({"text": "a"}).replace(b"application/json", b"text/plain"))
        assert wire.answer()[0] == 415
        wire.socket.sendall(request({"text": "a"}).replace(b"localhost", b"elsewhere.example"))
        assert wire.answer()[0] == 400


@pytest.mark.parametrize(("version", "field"), [("1.1", "Connection: close"), ("1.0", "X-Other: 1")])
def test_a_client_that_wants_the_connection_closed_gets_that(served, version, field):
    with Wire(served[0]) as wire:
        wire.socket.sendall(request({"text": "a prize"}, field, version=version))
        status, fields, _ = wire.answer()
        assert (status, fields["connection"]) == (200, "close")
        assert wire.stream.read() == b""


def test_a_client_that_waits_for_a_word_to_go_on_gets_it(served):
    whole = request({"text": "a prize"}, "Expect: 100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    with Wire(served[0]) as wire:
        wire.socket.sendall(head + b"\r\n\r\n")
        assert wire.stream.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert wire.stream.readline() == b"\r\n"
        wire.socket.sendall(body)
        assert wire.answer()[0] == 200


def test_clients_that_hang_up_hinder_nobody(served):
    for _ in range(20):
        with Wire(served[0]) as wire:
            wire.socket.sendall(request({"text": "word " * 1000})[:-7])
        with Wire(served[0]) as wire:
            wire.socket.sendall(request({"text": "word " * 1000}))
    with Wire(served[0]) as wire:
        wire.socket.sendall(request({"text": "a prize"}))
        assert wire.answer()[0] == 200


def test_headers_without_end_are_refused(served):
    server, _ = served
    with Wire(server) as wire:
        wire.socket.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        with contextlib.suppress(ConnectionError):  # it hangs up before it has read all of it
            for _ in range(80):
                wire.socket.sendall(b"a" * 10_000)
        status, _, body = wire.answer()
        assert (status, body["error"]["status"]) == (431, 431)
    with Wire(server) as wire:
        wire.socket.sendall(b"\x16\x03\x01 this is no request\r\n\r\n")
        assert wire.answer()[2]["error"]["message"] == "This is not HTTP."
    with Wire(server) as wire:  # many requests on one connection are no long header
        for _ in range(40):
            wire.socket.sendall(request({"text": "a" * 20_000}))
            assert wire.answer()[0] == 200


def test_fields_behind_a_body_do_not_become_those_of_the_request_nor_fill_the_memory(served):
    """The parser hands them over like the others, as many as come."""
    server, model = served
    start = "POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunked = start.encode() + b"Transfer-Encoding: chunked\r\n\r\n"
    body = json.dumps({"text": "a prize"}).encode()
    one_by_one = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    with Wire(server) as wire:
        wire.socket.sendall(chunked + one_by_one + b"0\r\nHost: evil.example\r\nX: y\r\n\r\n")
        assert wire.answer()[2]["label"] == model.predict(["a prize"])[0]
        wire.socket.sendall(request({"text": "a prize"}))
        assert wire.answer()[0] == 200
        wire.socket.sendall(chunked + b"1\r\n{\r\n0\r\n")
        with pytest.raises(OSError, match=r"reset|pipe|abort"):  # the service hangs up
            wire.socket.sendall(b"X: y\r\n" * 10_000_000)


def test_a_body_is_not_lost_with_an_upgrade_that_is_not_made(served):
    """The parser stops at the header; clients of Java ask for HTTP/2 in this way, unless told otherwise."""
    fields = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"]
    with Wire(served[0]) as wire:
        wire.socket.sendall(request({"text": "a prize"}, *fields))
        status, _, answer = wire.answer()
        assert (status, answer["error"]["message"]) == (
            400,
            "Send a request with a body as HTTP/1.1, without Upgrade.",
        )
        assert wire.stream.read() == b""
    with Wire(served[0]) as wire:
        wire.socket.sendall(request(b"", *fields, path="/health", method="GET"))
        assert wire.answer()[0] == 200
