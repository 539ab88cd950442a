"""The HTTP service: verdicts, learning that lasts, versions, limits, and who may do what."""

import json
import socket
import subprocess
import sys
import threading

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "httpx"):
    pytest.importorskip(name)

import httpx  # noqa: E402

from tallywise import TextClassifier, load  # noqa: E402
from tallywise.serve import Settings  # noqa: E402
from tallywise.serve.settings import SettingsError  # noqa: E402
from tests.serving import _COMMAND, messages, running, start, until  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    texts, labels = zip(*messages(), strict=True)
    path = tmp_path_factory.mktemp("model") / "m.tally"
    TextClassifier("multinomial_nb", cv=2).fit(list(texts), list(labels)).save(path)
    return path


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    with running(
        model, "--store", tmp_path_factory.mktemp("store") / "s", "--max-body", 100_000, "--max-batch", 50
    ) as found:
        yield found


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.url, timeout=60) as found:
        yield found


def body(response, status=200):
    assert response.status_code == status, response.text
    return response.json()


def refused(response, status, code=None):
    error = body(response, status)["error"]
    assert error["status"] == status
    assert error["message"]
    assert "Traceback" not in response.text
    assert code is None or error["code"] == code
    return error["message"]


# --- verdicts ---


def test_verdicts_are_those_of_the_model_in_one_in_a_batch_and_in_a_stream(client, model):
    texts = [text for text, _ in messages(40)]
    expected = load(model)
    P = expected.predict_proba(texts)
    labels = expected.predict(texts).tolist()
    one = [body(client.post("/classify", json={"text": text})) for text in texts[:5]]
    many = body(client.post("/classify", json={"texts": texts, "probabilities": True}))
    lines = "".join(json.dumps({"text": text, "id": k}) + "\n" for k, text in enumerate(texts))
    stream = client.post("/classify", content=lines.encode(), headers={"content-type": "application/x-ndjson"})
    answers = [json.loads(line) for line in stream.text.splitlines()]
    assert [answer["label"] for answer in one] == labels[:5]
    assert [answer["label"] for answer in many["verdicts"]] == labels
    assert [(answer["id"], answer["label"]) for answer in answers] == list(enumerate(labels))
    for k, answer in enumerate(many["verdicts"]):
        assert list(answer["probabilities"].values()) == pytest.approx(P[k].tolist(), abs=1e-8)
    assert {answer["version"] for answer in [*one, many, *answers]} == {"1"}


def test_a_stream_is_answered_while_it_still_comes(server):
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as link:
        head = "POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        link.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        seen = b""
        for k in range(3):
            line = b'{"text": "win a prize", "id": %d}\n' % k
            link.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            while b'"id":%d' % k not in seen:
                seen += link.recv(4096)
        link.sendall(b"0\r\n\r\n")


def test_a_bad_line_of_a_stream_gets_an_error_and_the_rest_go_on(client):
    sent = b'"fine"\nnot json\n{"no": 1}\n\xff\xfe\n"fine again"'
    answer = client.post("/classify", content=sent, headers={"content-type": "application/x-ndjson"})
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert ["error" in line for line in lines] == [False, True, True, True, False]
    assert [line["line"] for line in lines if "error" in line] == [2, 3, 4]


def test_contributions_add_up_and_the_flip_flips(client):
    text = "Claim your free prize now, call today"
    found = body(client.post("/explain", json={"text": text}))
    assert found["bias"] + sum(word["contribution"] for word in found["words"]) == pytest.approx(found["score"])
    flip = body(client.post("/flip", json={"text": text}))
    if flip["add"]:
        changed = " ".join([text, *flip["add"]])
        assert body(client.post("/classify", json={"text": changed}))["label"] != flip["label"]


# --- bad input ---


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"not json", 400, "not_json"),
        (b'{"text": "\xff"}', 400, "not_json"),
        (b'{"text": 3}', 422, "invalid"),
        (b'{"text": null}', 422, "invalid"),
        (b"[]", 422, "invalid"),
        (b'"text"', 422, "invalid"),
        (b"{}", 422, "invalid"),
        (b'{"text": "a", "texts": []}', 422, "invalid"),
        (b'{"texts": ["a", 3]}', 422, "invalid"),
        (b'{"texts": "a"}', 422, "invalid"),
        (b'{"text": "a", "frobnicate": 1}', 422, "invalid"),
        (b'{"text": "a", "record": "yes"}', 422, "invalid"),
        (b'{"text": "\\ud800"}', 422, "invalid"),
        (b"[" * 90_000, 400, "not_json"),
        (b'{"text": "' + b"a" * 200_000 + b'"}', 413, "too_large"),
        (json.dumps({"texts": ["a"] * 51}).encode(), 413, "too_large"),
    ],
)
def test_bad_bodies_get_a_clear_answer(client, content, status, code):
    headers = {"content-type": "application/json"}
    refused(client.post("/classify", content=content, headers=headers), status, code)


@pytest.mark.parametrize("path", ["/explain", "/flip", "/learn", "/forget"])
@pytest.mark.parametrize(
    "content", [b"not json", b'{"text": 3}', b"[]", b"{}", b'{"text": "a", "x": 1}', b'{"id": -1}']
)
def test_bad_bodies_of_the_other_paths(client, path, content):
    response = client.post(path, content=content, headers={"content-type": "application/json"})
    refused(response, 400 if content == b"not json" else 422)


def test_texts_with_nul_and_of_any_script_are_texts(client):
    for text in ("a\0b", "", " ", "مرحبا بالعالم", "東京", "\U0001f600" * 50, "\u202egnp.exe"):
        assert body(client.post("/classify", json={"text": text}))["label"] in ("ham", "spam")
        learned = body(client.post("/learn", json={"text": text, "label": "ham"}))
        found = body(client.get("/texts", params={"before": learned["id"] + 1, "limit": 1}))["texts"][0]
        assert found["text"] == text


def test_other_content_types_methods_and_paths(client):
    refused(client.post("/classify", content=b"text=a", headers={"content-type": "text/plain"}), 415)
    refused(client.post("/learn", content=b"text=a", headers={"content-type": "text/plain"}), 415)
    refused(client.get("/classify"), 405)
    refused(client.get("/nothing/here"), 404)
    refused(client.get("/texts", params={"limit": 10**6}), 422)
    refused(client.get("/texts", params={"state": "odd"}), 422)


def test_an_unknown_label_is_named(client):
    assert "'egg'" in refused(client.post("/explain", json={"text": "a", "label": "egg"}), 404)


# --- learning ---


def test_a_learn_is_kept_searched_and_forgotten(client):
    learned = body(client.post("/learn", json={"text": "a xylophone in the post", "label": "ham", "who": "ann"}))
    again = body(client.post("/learn", json={"text": "a xylophone in the post", "label": "ham"}))
    assert (learned["changed"], again["changed"], again["id"]) == (True, False, learned["id"])
    (found,) = body(client.get("/texts", params={"q": "xylophone"}))["texts"]
    assert (found["label"], found["labelled_by"]) == ("ham", "ann")
    assert body(client.post("/forget", json={"id": learned["id"]}))["old"] == "ham"
    (found,) = body(client.get("/texts", params={"q": "xylophone"}))["texts"]
    assert found["label"] is None
    assert body(client.post("/forget", json={"text": "a xylophone in the post", "erase": True}))["changed"]
    assert body(client.get("/texts", params={"q": "xylophone"}))["texts"] == []
    refused(client.post("/forget", json={"id": learned["id"]}), 404)


def test_a_key_makes_a_retry_the_same_answer(client):
    request = {"json": {"text": "once only", "label": "spam"}, "headers": {"Idempotency-Key": "k-1"}}
    first, again = client.post("/learn", **request), client.post("/learn", **request)
    assert body(first) == body(again)
    assert body(first)["changed"]
    refused(client.post("/learn", json={"text": "other", "label": "spam"}, headers={"Idempotency-Key": "k-1"}), 409)


def test_many_clients_learn_at_once_and_each_counts_once(client):
    before = body(client.get("/texts", params={"q": "simultaneous"}))["texts"]
    assert before == []

    def work(k):
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            for i in range(10):
                body(own.post("/learn", json={"text": f"simultaneous {(k + i) % 20}", "label": "ham"}))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    found = body(client.get("/texts", params={"q": "simultaneous", "limit": 500}))["texts"]
    assert len(found) == len({text["text"] for text in found}) == 17


def test_recorded_texts_are_in_the_store_with_their_verdict(client):
    answer = body(client.post("/classify", json={"text": "remember this marmalade", "record": True}))
    (found,) = body(client.get("/texts", params={"q": "marmalade"}))["texts"]
    assert (found["id"], found["verdict"], found["version"]) == (answer["id"], answer["label"], answer["version"])


def test_a_model_whose_texts_are_elsewhere_is_not_replaced_unasked(client):
    learned = body(client.post("/learn", json={"text": "one more", "label": "spam"}))
    assert learned["changed"]
    assert [model["version"] for model in body(client.get("/models"))["models"]] == [1]


# --- versions ---


def test_labels_become_a_model_that_goes_on_learning_and_can_be_rolled_back(tmp_path):
    rows = messages(60)
    with running("--store", tmp_path / "s", "--model", "multinomial_nb") as server:
        client = httpx.Client(base_url=server.url, timeout=60)
        refused(client.post("/classify", json={"text": "a"}), 503, "no_model")
        refused(client.post("/models/fit"), 409)
        examples = [{"text": text, "label": label} for text, label in rows]
        assert body(client.post("/learn", json={"examples": examples}))["learned"] == 60
        until(lambda: client.get("/health").json()["status"] == "ok")
        first = body(client.get("/models"))["models"][0]
        assert first["figures"]["error"][0] < 0.5
        probe = {"text": "quixotic zephyr quixotic zephyr"}
        before = body(client.post("/classify", json=probe))
        for k in range(5):
            body(client.post("/learn", json={"text": f"quixotic zephyr {k}", "label": "spam"}))
        after = until(lambda: (a := body(client.post("/classify", json=probe)))["version"] != "1" and a)
        assert after["version"].startswith("1.")
        until(lambda: body(client.post("/classify", json=probe))["label"] == "spam")
        assert before["version"] == "1"
        assert client.post("/models/fit").status_code == 202
        until(lambda: client.get("/health").json()["version"] == "2")
        assert body(client.post("/models/rollback"))["version"].startswith("1")
        assert body(client.get("/models"))["pinned"]
        assert body(client.post("/models/2/activate"))["version"] == "2"
        assert not body(client.get("/models"))["pinned"]
        refused(client.post("/models/99/activate"), 404)
        client.close()


def test_requests_go_on_while_a_model_is_swapped(tmp_path, model):
    rows = messages(80)
    with running(model, "--store", tmp_path / "s", "--model", "multinomial_nb") as server:
        client = httpx.Client(base_url=server.url, timeout=60)
        body(client.post("/learn", json={"examples": [{"text": text, "label": label} for text, label in rows]}))
        seen, done = set(), threading.Event()

        def ask():
            with httpx.Client(base_url=server.url, timeout=60) as own:
                while not done.is_set():
                    seen.add(body(own.post("/classify", json={"text": "a prize"}))["version"])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        [thread.start() for thread in threads]
        client.post("/models/fit")
        until(lambda: client.get("/health").json()["version"] == "2")
        done.set()
        [thread.join() for thread in threads]
        assert seen <= {"1", "2"}
        client.close()


# --- ends and beginnings ---


def test_acknowledged_learns_survive_kill_nine_and_the_model_comes_back(tmp_path, model):
    store = tmp_path / "s"
    server = start(model, "--store", store)
    client = httpx.Client(base_url=server.url, timeout=60)
    numbers = [body(client.post("/learn", json={"text": f"lasting {k}", "label": "ham"}))["id"] for k in range(30)]
    client.close()
    server.stop("kill")
    with running("--store", store) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        found = body(client.get("/texts", params={"q": "lasting", "limit": 100}))["texts"]
        assert {text["id"] for text in found} == set(numbers)
        assert body(client.post("/classify", json={"text": "a"}))["version"] == "1"


def test_a_request_under_way_is_finished_before_the_end(tmp_path, model):
    server = start(model, "--store", tmp_path / "s")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as link:
        head = b"POST /learn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        content = b'{"text": "the last one", "label": "ham"}'
        link.sendall(head + b"Content-Length: %d\r\n\r\n" % len(content) + content[:10])
        until(lambda: httpx.get(server.url + "/health", timeout=60).json()["status"] == "ok")
        server.process.terminate()
        link.sendall(content[10:])
        seen = b""
        while part := link.recv(4096):
            seen += part
    assert b"200 OK" in seen
    assert server.stop() in (0, -15)


def fails(*arguments):
    done = subprocess.run([*_COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_what_cannot_be_served_is_said_in_one_line(tmp_path, server, model):
    (tmp_path / "bad.tally").write_bytes(b"tally\r\n\x1a" + b"x" * 100)
    (tmp_path / "text.tally").write_bytes(b"hello")
    (tmp_path / "empty.csv").write_text("text,label\n")
    assert "Cannot read" in fails(tmp_path / "bad.tally", "--store", tmp_path / "s")
    assert "not a tallywise model" in fails(tmp_path / "text.tally", "--store", tmp_path / "s")
    assert "does not exist" in fails(tmp_path / "none.csv", "--store", tmp_path / "s")
    assert "no texts" in fails(tmp_path / "empty.csv", "--store", tmp_path / "s")
    assert "give a --token" in fails(model, "--host", "0.0.0.0", "--store", tmp_path / "s")
    port = server.url.rpartition(":")[2]
    assert "port is in use" in fails(model, "--port", port, "--store", tmp_path / "s")


def test_a_store_in_use_is_refused(tmp_path, model):
    with running(model, "--store", tmp_path / "s"):
        assert "in use by another process" in fails(model, "--store", tmp_path / "s")


def test_rows_of_a_file_without_a_label_wait_for_one(tmp_path):
    rows = [f"text number {k} of the file,{'ab'[k % 2] if k < 20 else ''}" for k in range(30)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]))
    with (
        running(tmp_path / "data.csv", "--model", "multinomial_nb") as server,
        httpx.Client(base_url=server.url, timeout=60) as client,
    ):
        until(lambda: len(client.get("/texts", params={"limit": 500}).json()["texts"]) == 30)
        assert len(client.get("/texts", params={"state": "unlabelled"}).json()["texts"]) == 10


def test_a_file_of_texts_is_read_once(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("text,label\n" + "".join(f"text number {k},{'ab'[k % 2]}\n" for k in range(450)))
    for _ in range(2):
        with running(data) as server, httpx.Client(base_url=server.url, timeout=60) as client:
            until(lambda client=client: "tally_labelled_texts 450\n" in client.get("/metrics").text)
    assert (tmp_path / "data.csv.store").is_dir()


# --- who may do what ---


@pytest.fixture(scope="module")
def closed(model, tmp_path_factory):
    env = {"TALLY_TOKEN": "the-secret-token", "TALLY_READER_TOKEN": "the-reader-token"}
    with running(model, "--store", tmp_path_factory.mktemp("closed") / "s", env=env) as found:
        yield found


def test_without_the_token_nothing_is_told(closed):
    with httpx.Client(base_url=closed.url, timeout=60) as client:
        for path in ("/texts", "/models", "/metrics", "/openapi.json", "/try", "/data/labels.csv"):
            response = client.get(path)
            refused(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
        refused(client.post("/classify", json={"text": "a"}), 401)
        refused(client.get("/texts", headers={"authorization": "Bearer wrong"}), 401)
        refused(client.get("/texts", headers={"authorization": "Basic dGVzdA=="}), 401)
        assert client.get("/health").status_code == 200
        page = client.get("/try", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login?then=/try")


def test_the_reader_reads_and_the_owner_writes(closed):
    with httpx.Client(base_url=closed.url, timeout=60, headers={"authorization": "Bearer the-reader-token"}) as reader:
        body(reader.post("/classify", json={"text": "a"}))
        body(reader.post("/explain", json={"text": "a"}))
        body(reader.get("/texts"))
        refused(reader.post("/learn", json={"text": "a", "label": "ham"}), 403)
        refused(reader.post("/models/rollback"), 403)
        refused(reader.post("/classify", json={"text": "a", "record": True}), 403)
    with httpx.Client(base_url=closed.url, timeout=60, headers={"authorization": "Bearer the-secret-token"}) as owner:
        assert body(owner.post("/learn", json={"text": "a", "label": "ham"}))["changed"]


def test_a_login_gives_a_cookie_that_forms_need_more_than(closed):
    with httpx.Client(base_url=closed.url, timeout=60) as client:
        wrong = client.post("/login", data={"secret": "nonsense", "then": "/try"})
        assert wrong.status_code == 401
        done = client.post("/login", data={"secret": "the-secret-token", "name": "Ann", "then": "//evil.example"})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        cookie = done.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/history").status_code == 200
        assert client.post("/model", data={"act": "fit"}).status_code == 403
        assert client.post("/model", data={"act": "fit", "token": "0" * 64}).status_code == 403
        client.cookies.set(cookie.split("=")[0], cookie.split("=", 1)[1].split(";")[0][:-1] + "0")


def test_guessing_tokens_is_slowed_down(model, tmp_path):
    with running(model, "--store", tmp_path / "s", env={"TALLY_TOKEN": "the-secret-token"}) as server:
        codes = [
            httpx.post(server.url + "/login", data={"secret": f"guess {k}"}, timeout=60).status_code for k in range(12)
        ]
    assert codes[:10] == [401] * 10
    assert codes[10:] == [429] * 2


def test_other_hosts_and_origins_are_refused(client):
    refused(client.get("/texts", headers={"host": "evil.example"}), 400, "unknown_host")
    refused(client.get("/texts", headers={"host": ""}), 400)
    refused(client.post("/models/rollback", headers={"origin": "http://evil.example"}), 403, "wrong_origin")
    refused(client.post("/models/rollback", headers={"origin": "null"}), 403, "wrong_origin")
    refused(client.post("/models/rollback", headers={"sec-fetch-site": "cross-site"}), 403, "wrong_origin")
    own = str(client.base_url).rstrip("/")
    body(client.post("/classify", json={"text": "a"}, headers={"origin": own}))


def test_forms_of_other_pages_do_nothing(client):
    for path, data in (("/label", {"act": "undo"}), ("/history", {"act": "erase:1"}), ("/topics", {"n_topics": "3"})):
        assert client.post(path, data=data).status_code == 403


def test_pages_carry_a_strict_policy(client):
    for path in ("/try", "/label", "/history", "/model", "/topics", "/data", "/static/page.js"):
        response = client.get(path)
        assert response.status_code == 200
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["x-content-type-options"] == "nosniff"


def test_settings_that_would_leave_the_door_open_are_refused():
    for wrong in (
        {"host": "0.0.0.0"},
        {"host": "example.org"},
        {"reader_token": "12345678"},
        {"token": "short"},
        {"token": "same-same", "reader_token": "same-same"},
    ):
        with pytest.raises(SettingsError):
            Settings(**wrong)
    assert Settings(host="::1").local
    assert not Settings(host="0.0.0.0", token="12345678").local


def test_the_hot_path_loads_neither_scikit_learn_nor_scipy():
    program = (
        "import sys, tallywise.serve, tallywise.serve.api, tallywise.serve.pages;"
        "print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_metrics_count(client):
    body(client.post("/classify", json={"text": "a"}))
    text = client.get("/metrics").text
    assert 'tally_requests_total{route="/classify",status="200"}' in text
    assert "tally_classifications_total" in text
    assert "# TYPE tally_request_seconds histogram" in text
