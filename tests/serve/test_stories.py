"""Labels are never wrong by the workbench's doing: one story per way in which they could be."""

import json
import re
import signal
import zipfile

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "playwright", "httpx"):
    pytest.importorskip(name)

import httpx  # noqa: E402
from playwright.sync_api import expect  # noqa: E402

from tests.serving import _COMMAND, PATIENCE, messages, ready, running, start, until, write_csv  # noqa: E402

MODEL = ("--model", "multinomial_nb")


def client_of(server):
    return httpx.Client(base_url=server.url, timeout=60, follow_redirects=True)


def stored(client):
    return float(re.search(r"^tally_texts (\S+)", client.get("/metrics").text, re.MULTILINE)[1])


def texts_of(client, **query):
    return client.get("/texts", params={"limit": 500, **query}).json()["texts"]


def token_of(client):
    return re.search('name="token" value="([^"]+)"', client.get("/data").text)[1]


def post(client, path, **fields):
    return client.post(path, data={"token": token_of(client), **fields})


def alert_of(answer):
    found = re.search(r'role="alert"[^>]*>([^<]*)<', answer.text)
    return found and found[1]


def test_undoing_a_bulk_step_leaves_labels_that_it_did_not_change(tmp_path, tab):
    rows = [(f"text number {k} of the file", "praise" if k < 4 else "") for k in range(50)]
    data = write_csv(tmp_path / "d.csv", [("text", "label"), *rows])
    with running(data, *MODEL) as server:
        tab.goto(server.url + "/history")
        expect(tab.locator("#count")).to_have_text("50")
        tab.locator('[data-all="ids"]').check()
        tab.get_by_role("button", name="Learn chosen").click()
        expect(tab.locator(".done span")).to_have_text("46 learned")
        tab.get_by_role("button", name="Undo this").click()
        expect(tab.locator(".done span")).to_have_text("46 undone")
        expect(tab.locator("#status")).to_contain_text("4 labelled")
        with client_of(server) as client:
            assert {row["label"] for row in texts_of(client, state="labelled")} == {"praise"}
        assert tab.problems == []


def test_equal_texts_labelled_together_are_undone_together(tmp_path, tab):
    data = write_csv(tmp_path / "d.csv", [("text",), *[("call me back",)] * 3, ("something else",)])
    with running(data, *MODEL) as server:
        tab.goto(server.url + "/label?order=as+given")
        tab.locator('[name="same"]').check()
        tab.fill('[name="new"]', "work")
        tab.keyboard.press("Enter")
        expect(tab.locator("#status")).to_contain_text("3 labelled")
        expect(tab.locator("ol.last li")).to_contain_text("and 2 more")
        tab.locator("ol.last").get_by_role("button").click()
        expect(tab.locator("#status")).to_contain_text("0 labelled")


def test_keys_of_classes_stay_and_can_be_moved(tmp_path, tab):
    data = write_csv(tmp_path / "d.csv", [("text",), *[(f"text number {k}",) for k in range(9)]])
    with running(data, *MODEL) as server:
        tab.goto(server.url + "/label?order=as+given")
        for k, label in enumerate(("praise", "complaint", "a question")):
            tab.fill('[name="new"]', label)
            tab.keyboard.press("Enter")
            expect(tab.locator("#status")).to_contain_text(f"{k + 1} labelled")
        keys = {
            button.get_attribute("value"): button.get_attribute("data-key")
            for button in tab.locator(".classes button").all()
        }
        assert keys == {"label:praise": "1", "label:complaint": "2", "label:a question": "3"}
        with client_of(server) as client:
            post(client, "/classes", old="a question", name="a question", about="asks", place="1", colour="3")
        tab.goto(server.url + "/label?order=as+given")
        expect(tab.locator('.classes button[value="label:a question"]')).to_have_attribute("data-key", "1")
        expect(tab.locator('.classes button[value="label:praise"]')).to_have_attribute("data-key", "3")


def test_a_class_is_renamed_and_merged_in_one_step(tmp_path):
    rows = [("one text", "Negative"), ("two texts", "negative"), ("three texts", "negative"), ("four", "positive")]
    data = write_csv(tmp_path / "d.csv", [("text", "label"), *rows])
    with running(data, *MODEL) as server, client_of(server) as client:
        until(lambda: len(texts_of(client, state="labelled")) == 4)
        assert "are these one class?" in client.get("/data").text
        post(client, "/classes", old="Negative", name="negative", place="1", colour="1")
        assert sorted(row["label"] for row in texts_of(client)) == ["negative"] * 3 + ["positive"]
        assert "are these one class?" not in client.get("/data").text
        step = re.search(r'name="step" value="(\d+)"', client.get("/history").text)[1]
        assert "1 undone" in post(client, "/undo", step=step).text
        assert sorted(row["label"] for row in texts_of(client))[0] == "Negative"


def test_two_tabs_get_different_texts_and_a_stale_label_is_refused_with_the_reason(tmp_path, browser):
    data = write_csv(tmp_path / "d.csv", [("text",), *[(f"text number {k}",) for k in range(6)]])
    with running(data, *MODEL) as server:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        one, other = context.new_page(), context.new_page()
        for page in (one, other):
            page.goto(server.url + "/label?order=as+given")
        shown = one.locator("#item-text").inner_text()
        assert shown != other.locator("#item-text").inner_text()
        with client_of(server) as client:
            client.post("/learn", json={"text": shown, "label": "by the program", "who": "ann"})
        one.fill('[name="new"]', "mine")
        one.keyboard.press("Enter")
        expect(one.get_by_role("alert")).to_contain_text("ann labelled it 'by the program' in the meantime")
        expect(one.locator("#item-text")).to_have_text(shown)
        assert one.locator('[name="new"]').input_value() == "mine"
        with client_of(server) as client:
            assert [row["label"] for row in texts_of(client, state="labelled")] == ["by the program"]
        context.close()


def test_the_columns_are_said_and_can_be_changed_and_options_that_contradict_are_refused(tmp_path, tab):
    rows = [(f"message {k} on a flight", "ab"[k % 2], "good bad".split()[k % 2 if k % 3 else 1]) for k in range(30)]
    data = write_csv(tmp_path / "d.csv", [("text", "label", "mood"), *rows])
    with running(data, *MODEL) as server:
        tab.goto(server.url + "/data")
        expect(tab.locator("#imports")).to_contain_text("label by its name")
        tab.get_by_role("link", name="change columns").click()
        tab.select_option('[name="label"]', "mood")
        tab.get_by_role("button", name="Read it again").click()
        expect(tab.locator("#class-table")).to_contain_text("good")
        expect(tab.locator("#status")).to_contain_text("30 texts")
    with running(data, "--label", "mood", *MODEL):
        pass
    with pytest.raises(AssertionError, match="was read before with label = mood, which --label label contradicts"):
        start(data, "--label", "label", *MODEL)


def write_xlsx(path, rows):
    from tallywise.models.table_writers import table_writer

    with table_writer(path, rows[0], [False] * len(rows[0])) as put:
        put(rows[1:])


def test_sheets_json_and_zips_are_tables_and_folders(tmp_path):
    rows = [("text", "label"), *messages(30)]
    write_xlsx(tmp_path / "a.xlsx", rows)
    (tmp_path / "b.json").write_text(json.dumps([dict(zip(rows[0], row, strict=True)) for row in rows[1:]]))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as packed:
        for k, (text, label) in enumerate(rows[1:]):
            packed.writestr(f"all/{label}/{k}.txt", text)
        packed.writestr("all/../../outside.txt", "x")
    expected = sorted(tuple(row) for row in rows[1:])
    for name in ("a.xlsx", "b.json"):
        with running("--store", tmp_path / f"s{name}", *MODEL) as server, client_of(server) as client:
            sent = client.post(
                "/data/upload", data={"token": token_of(client)}, files={"file": (name, (tmp_path / name).read_bytes())}
            )
            assert "Is this right?" in sent.text
            post(client, sent.url.path, text="text", label="label")
            until(lambda client=client: len(texts_of(client)) == 30)
            assert sorted((row["text"], row["label"]) for row in texts_of(client)) == expected
    with running("--store", tmp_path / "sz", *MODEL) as server, client_of(server) as client:
        sent = client.post(
            "/data/upload",
            data={"token": token_of(client)},
            files={"file": ("c.zip", (tmp_path / "c.zip").read_bytes())},
        )
        post(client, sent.url.path)
        until(lambda: len(texts_of(client, state="labelled")) == 30)
        assert not (tmp_path / "sz" / "outside.txt").exists()


def test_a_reading_that_was_killed_goes_on_where_it_ended(tmp_path):
    data = write_csv(tmp_path / "d.csv", [("text",), *[(f"text number {k} with some words",) for k in range(40_000)]])
    server = start("--store", tmp_path / "s", *MODEL)
    with client_of(server) as client:
        sent = client.post(
            "/data/upload", data={"token": token_of(client)}, files={"file": ("d.csv", data.read_bytes())}
        )
        post(client, sent.url.path, text="text")
        assert 0 < stored(client) < 40_000
    server.stop("kill")
    with running("--store", tmp_path / "s", *MODEL) as again, client_of(again) as client:
        until(lambda: stored(client) == 40_000)
        assert len({row["text"] for row in texts_of(client)}) == 500


def test_a_table_of_numbers_is_not_taken_for_texts_and_errors_name_the_file_that_was_sent(tmp_path):
    rows = [(k / 7, 1000 * k + 0.5, k % 90) for k in range(200)]
    data = write_csv(tmp_path / "housing.csv", [("income", "price", "age"), *rows])
    with pytest.raises(AssertionError, match="no column that looks like text: it is a table of numbers"):
        start(data)
    with running("--store", tmp_path / "s", *MODEL) as server, client_of(server) as client:
        for name, content in (
            ("housing.csv", data.read_bytes()),
            ("x.xlsx", b"no sheet"),
            ("y.parquet", b"PAR1 no"),
            ("e.csv", b""),
        ):
            answer = client.post("/data/upload", data={"token": token_of(client)}, files={"file": (name, content)})
            assert answer.status_code == 422
            assert name in alert_of(answer), alert_of(answer)
            assert str(tmp_path) not in answer.text
        assert list((tmp_path / "s" / "uploads").iterdir()) == []


def test_entities_of_an_import_are_decoded(tmp_path):
    data = write_csv(tmp_path / "d.csv", [("text",), ("so funny &#128514; &amp; sad",)])
    with running(data, *MODEL) as server, client_of(server) as client:
        assert until(lambda: texts_of(client))[0]["text"] == "so funny \U0001f602 & sad"


def test_an_error_stands_beside_its_form_and_loses_nothing(tmp_path, tab):
    data = write_csv(tmp_path / "d.csv", [("text", "label"), *messages(40)])
    with running(data, *MODEL, "--max-body", 2000) as server:
        tab.goto(server.url + "/history?state=labelled")
        expect(tab.locator("tr[data-row]").first).to_be_visible()
        tab.get_by_text("More filters").click()
        tab.fill('[name="low"]', "much")
        tab.locator("tr[data-row] input").first.check()
        tab.get_by_role("button", name="Show", exact=True).click()
        expect(tab.get_by_role("alert")).to_contain_text("A number of percent from 0 to 100 is wanted")
        assert tab.locator("tr[data-row] input").first.is_checked()
        assert tab.locator('[name="state"]').input_value() == "labelled"
        tab.goto(server.url + "/try")
        ready(tab)
        tab.goto(server.url + "/try")
        tab.fill("#text", "x" * 5000)
        tab.keyboard.press("Control+Enter")
        expect(tab.get_by_role("alert")).to_contain_text("A request may have 2,000 bytes")
        assert len(tab.locator("#text").input_value()) == 5000


def test_a_reader_reads_classifies_and_logs_out_and_strangers_see_nothing(tmp_path, browser):
    data = write_csv(tmp_path / "secret.csv", [("text", "label"), *messages(40)])
    env = {"TALLY_TOKEN": "a-long-secret", "TALLY_READER_TOKEN": "a-reader-secret"}
    with running(data, *MODEL, env=env) as server:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(server.url + "/login")
        for word in ("40", "version", "labelled", "secret.csv", "ham", "spam"):
            expect(page.locator("body")).not_to_contain_text(word)
        page.fill('[name="secret"]', "a-reader-secret")
        page.get_by_role("button", name="Log in").click()
        ready(page)
        for path in ("/label", "/history", "/history/1", "/data", "/model", "/"):
            page.goto(server.url + path)
            assert page.locator('main [name="act"]').count() == 0, path
            assert page.locator('main [name="step"]').count() == 0, path
        page.get_by_role("button", name="Log out").click()
        expect(page.locator("h1")).to_have_text("Log in")
        page.goto(server.url + "/history")
        expect(page.locator("h1")).to_have_text("Log in")
        context.close()


def test_topics_that_are_found_at_once_are_shown(tmp_path, tab):
    data = write_csv(tmp_path / "d.csv", [("text",), *((text,) for text, _ in messages(40))])
    with running(data, *MODEL) as server:
        tab.goto(server.url + "/topics")
        tab.fill('[name="n_topics"]', "2")
        tab.get_by_role("button", name="Find topics").click()
        tab.locator("body").click(position={"x": 5, "y": 5})
        expect(tab.locator("svg.map circle")).to_have_count(2, timeout=PATIENCE)


def test_warnings_of_a_fit_are_on_the_page_and_not_in_the_terminal(tmp_path):
    import subprocess

    data = write_csv(tmp_path / "d.csv", [("text", "label"), *messages(24)])
    process = subprocess.Popen(
        [*_COMMAND, str(data), "--model", "logistic"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"serving at (http://\S+)/ ", line):
            with httpx.Client(base_url=found[1], timeout=60) as client:
                until(lambda client=client: client.get("/models").json()["models"])
            process.send_signal(signal.SIGTERM)
    process.wait(30)
    process.stdout.close()
    assert "Warning" not in "".join(said)
