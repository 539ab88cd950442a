"""What the workbench can do for people: a file classified, an honest error, History as a table."""

import csv
import io
import random
import re

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "playwright", "httpx"):
    pytest.importorskip(name)

import httpx  # noqa: E402
from playwright.sync_api import expect  # noqa: E402

from tests.serving import PATIENCE, PAYLOADS, messages, ready, running, until, write_csv  # noqa: E402

MODEL = ("--model", "multinomial_nb")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    rows = [(text, label if k % 3 else "") for k, (text, label) in enumerate(messages(240))]
    with running(write_csv(folder / "data.csv", [("text", "label"), *rows]), *MODEL) as server:
        yield server


def test_a_file_comes_back_whole_with_predictions_beside_each_row(trained, tab, tmp_path):
    rows = [(str(k), text, f"=1+{k}") for k, (text, _) in enumerate(messages(300)[240:])]
    rows.append(("61", "漢字 仮名 交じり 文", ""))
    data = write_csv(tmp_path / "new.csv", [("id", "text", "note"), *rows])
    tab.goto(trained.url + "/model")
    ready(tab)
    tab.goto(trained.url + "/file")
    tab.set_input_files('[name="file"]', data)
    tab.get_by_role("button", name="Classify it").click()
    expect(tab.locator(".lead b")).to_have_text("61", timeout=PATIENCE)
    expect(tab.locator("main")).to_contain_text("unlike the training data")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="new_with_predictions.csv").click()
    found = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert found[0] == ["id", "text", "note", "prediction", "probability", "likely", "unlike_training"]
    assert [tuple(row[:3]) for row in found[1:]] == rows
    assert {row[3] for row in found[1:]} <= {"ham", "spam"}
    assert tab.problems == []


def test_a_text_unlike_the_training_data_is_marked(trained, tab):
    tab.goto(trained.url + "/try")
    ready(tab)
    tab.goto(trained.url + "/try")
    tab.fill("#text", "漢字 仮名 交じり 文 言葉")
    tab.keyboard.press("Control+Enter")
    expect(tab.locator(".unlike")).to_contain_text("unlike the training data")


def test_one_text_in_five_is_drawn_at_random_and_the_error_is_measured_on_these(tmp_path):
    texts = [text for text, _ in messages(200)]
    truth = dict(messages(200))
    data = write_csv(tmp_path / "d.csv", [("text",), *((text,) for text in texts)])
    with (
        running(data, *MODEL) as server,
        httpx.Client(base_url=server.url, timeout=60, follow_redirects=True) as client,
    ):
        until(lambda: "200 texts" in client.get("/status").text)
        page, drawn = client.get("/label"), 0
        for _ in range(60):
            fields = dict(
                re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text.split("label-form")[1])
            )
            drawn += "Drawn at random" in page.text
            number = int(fields["id"])
            stored = client.get("/texts", params={"limit": 500}).json()["texts"]
            text = next(row["text"] for row in stored if row["id"] == number)
            page = client.post("/label", data={**fields, "act": f"label:{truth[text]}"})
        assert drawn == 12
        until(lambda: "texts that were chosen because the model was unsure" in client.get("/label").text)
        assert "The next hundred labels" not in client.get("/label").text


def test_history_sorts_pages_both_ways_and_accepts_what_is_sure(trained, tab):
    tab.goto(trained.url + "/model")
    ready(tab)
    tab.goto(trained.url + "/history?sort=least+confident")
    shares = [
        float(re.search(r"([\d.]+) %", cell)[1]) for cell in tab.locator('[data-head="prediction"]').all_inner_texts()
    ]
    assert shares == sorted(shares)
    first = tab.locator("tr[data-row] a").first.inner_text()
    tab.get_by_role("link", name="Next").click()
    expect(tab.locator("nav.pages span")).to_contain_text("Page 2 of 5")
    tab.get_by_role("link", name="Previous").click()
    expect(tab.locator("tr[data-row] a").first).to_have_text(first)
    tab.goto(trained.url + "/history?state=unlabelled&low=90")
    count = int(tab.locator("#count").inner_text())
    tab.fill('[name="above"]', "90")
    tab.get_by_role("button", name="Accept among those found").click()
    expect(tab.locator(".done span")).to_have_text(f"{count} accepted")
    tab.get_by_role("button", name="Undo this").click()
    expect(tab.locator(".done span")).to_have_text(f"{count} undone")
    tab.fill('[name="name"]', "sure ones")
    tab.get_by_role("button", name="Keep the view").click()
    expect(tab.get_by_role("link", name="sure ones")).to_be_visible()


def test_payloads_stay_inert_in_new_fields(trained, browser):
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_init_script("window.hit = 0; window.alert = window.confirm = window.prompt = () => { window.hit = 1; }")
    page = context.new_page()
    with httpx.Client(base_url=trained.url, timeout=60, follow_redirects=True) as client:
        token = re.search('name="token" value="([^"]+)"', client.get("/data").text)[1]
        client.post("/learn", json={"text": "one more text", "label": "a class"})
        for payload in random.Random(0).sample(PAYLOADS, len(PAYLOADS)):
            fields = {"token": token, "old": "a class", "name": "a class", "place": "9", "about": payload}
            assert client.post("/classes", data=fields).status_code == 200
            client.post("/views", data={"token": token, "name": payload[:60], "filters": "q=" + payload})
            sent = client.post(
                "/data/upload",
                data={"token": token},
                files={"file": (f"{payload}.csv", f'"{payload.replace(chr(34), "")}",text\nx,y z\n')},
            )
            page.goto(str(sent.url) if "/data/file/" in str(sent.url) else trained.url + "/data")
            assert page.evaluate("window.hit") == 0, payload
            if payload in PAYLOADS[::10]:
                for path in ("/data", "/history", "/label", "/"):
                    page.goto(trained.url + path)
                    assert page.evaluate("window.hit") == 0, (payload, path)
            client.post("/views", data={"token": token, "drop": " ".join(payload[:60].split())})
    context.close()


def test_the_colours_are_chosen_and_stay(trained, tab):
    tab.goto(trained.url + "/data")
    tab.get_by_role("button", name="Colours: as the system").click()
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
    assert tab.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    tab.goto(trained.url + "/")
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
