"""The service over a model of a table: verdicts, reasons, the page with a form, limits, and who may ask."""

import socket

import pytest

for name in ("apsw", "httptools", "httpx"):
    pytest.importorskip(name)

import httpx  # noqa: E402

from tallywise import TableModel, load  # noqa: E402
from tests.serving import running  # noqa: E402
from tests.table_rows import HOSTILE, rows  # noqa: E402

CITY = HOSTILE + "city"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    TableModel("logistic", ignore=["rent", "grade"], cv=2).fit(rows(), "kind").save(folder / "kind.tally")
    TableModel("ridge", ignore=["kind", "grade"], cv=2).fit(rows(), "rent").save(folder / "rent.tally")
    return folder


@pytest.fixture(scope="module")
def kind(models):
    with running(models / "kind.tally", "--max-body", 20_000, "--max-batch", 50) as server:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            yield client


@pytest.fixture(scope="module")
def rent(models):
    with running(models / "rent.tally", "--token", "a-long-token") as server:
        headers = {"authorization": "Bearer a-long-token"}
        with httpx.Client(base_url=server.url, timeout=60, headers=headers) as client:
            yield client


def test_verdicts_on_records_are_those_of_the_model(kind, models):
    model, records = load(models / "kind.tally"), rows()[:20]
    one = kind.post("/classify", json={"record": records[0], "probabilities": True}).json()
    many = kind.post("/classify", json={"records": records}).json()["verdicts"]
    P = model.predict_proba(records)
    assert list(one["probabilities"].values()) == pytest.approx(P[0].tolist())
    assert [verdict["label"] for verdict in many] == model.predict(records).tolist()
    assert kind.post("/classify", json={"records": []}).json() == {"verdicts": []}
    assert kind.post("/classify", json={"record": {"size": None}}).json()["label"] in model.classes


def test_reasons_add_up_and_say_what_would_change_the_verdict(kind):
    found = kind.post("/explain", json={"record": rows()[0], "label": "large"}).json()
    assert found["bias"] + sum(c["contribution"] for c in found["columns"]) == pytest.approx(found["score"])
    assert found["label"] == "large"
    assert found["flip"]["becomes"] in ("large", "small")


def test_numbers_come_with_an_interval_and_only_for_those_who_know_the_token(rent):
    found = rent.post("/classify", json={"record": rows()[0]}).json()
    assert found["interval"][0] < found["value"] < found["interval"][1]
    assert "in 9 of 10 cases" in rent.post("/try", data={"c0": "50", "c1": "Jena"}).text
    assert rent.get("/model").json()["task"] == "numbers"
    assert httpx.post(rent.base_url.join("/classify"), json={"record": {}}).status_code == 401
    assert httpx.get(rent.base_url.join("/health")).json()["status"] == "ok"


def test_what_cannot_be_answered_is_refused_in_one_shape(kind):
    big = {"record": {"size": "9" * 30_000}}
    for sent, status in (
        ({"record": 3}, 422),
        ({"records": {}}, 422),
        ({"records": [3]}, 422),
        ({"record": {"size": [1]}}, 422),
        ({"record": {"size": 50, "colour": "red"}}, 422),
        ({"record": {"size": True}}, 422),
        ({"record": {"size": "abc"}}, 422),
        ({"records": [{"size": 50}, {}]}, 422),
        ({}, 422),
        ([], 422),
        ({"record": {}}, 422),
        ({"record": {"size": 1}, "recrods": []}, 422),
        ({"records": [{"size": 1}] * 51}, 413),
        (big, 413),
    ):
        answer = kind.post("/classify", json=sent)
        assert answer.status_code == status, sent
        assert answer.json()["error"]["status"] == status
    assert kind.post("/explain", json={"record": {"size": 1}, "label": "tiny"}).status_code == 422
    assert kind.post("/classify", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    assert kind.post("/classify", content=b"size=1").status_code == 415
    assert kind.post("/try", json={}).status_code == 415
    assert kind.get("/classify").status_code == 404
    assert kind.post("/learn", json={}).status_code == 404
    assert kind.get("/", headers={"host": "elsewhere.example"}).status_code == 400
    huge = b'{"record": {"size": 1e400}}'
    assert kind.post("/classify", content=huge, headers={"content-type": "application/json"}).status_code == 422
    assert kind.post("/classify", json={"record": {"size": None, CITY: "Jena", "kind": "large"}}).status_code == 200


def test_a_number_that_was_never_missing_has_no_interval_without_it(rent):
    assert rent.post("/classify", json={"record": {CITY: "Jena"}}).json()["interval"] is None
    assert "no interval" in rent.post("/try", data={"c0": "", "c1": "Jena"}).text


def test_the_page_has_a_field_for_each_column_and_shows_reasons(kind):
    page = kind.get("/").text
    assert page.count("<input") == page.count("<select") == 1  # a number, and a category with its levels
    assert "Jena" in page
    error = kind.get("/model").json()["figures"]["error"]
    assert f"<b>{error[0]:.4g}</b>" in page
    assert 'tally_requests_total{route="/",status="200"}' in kind.get("/metrics").text
    answer = kind.post("/try", data={"c0": "99", "c1": "Jena"})
    assert "large" in answer.text
    assert "it would be <b>small</b>" in answer.text
    assert HOSTILE not in page + answer.text
    wrong = kind.post("/try", data={"c0": HOSTILE, "c1": HOSTILE}).text
    assert "is not a number" in wrong
    assert HOSTILE not in wrong
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert kind.get("/static/report.css").headers["content-type"] == "text/css"


def test_a_header_without_end_is_refused(kind):
    """The same bound as for models of texts: the parser would gather it in memory."""
    pytest.importorskip("httptools")
    host, port = kind.base_url.host, kind.base_url.port
    with socket.create_connection((host, port), 30) as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 800_000)
        assert wire.recv(12) == b"HTTP/1.1 431"


def test_the_form_says_what_it_did_not_understand_and_promises_nothing_beyond_the_training_data(rent):
    wrong = rent.post("/try", data={"c0": "-122,23", "c1": "Jena"}).text
    assert "&#39;-122,23&#39; is not a number" in wrong
    assert "in 9 of 10 cases" not in wrong
    assert 'value="-122,23"' in wrong
    far = rent.post("/try", data={"c0": "1e9", "c1": "Jena"}).text
    assert "beyond the values learned from" in far
    assert "in 9 of 10 cases" not in far
    unknown = rent.post("/try", data={"c0": "50", "c1": "Atlantis"}).text
    assert "is not among the values learned from" in unknown
    assert "<option>Jena</option>" in unknown
