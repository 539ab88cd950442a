"""The workbench as a person uses it, in a real browser: one test a story."""

import re

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "playwright", "httpx"):
    pytest.importorskip(name)

import httpx  # noqa: E402
from playwright.sync_api import Error, expect  # noqa: E402

from tests.serving import PATIENCE, PAYLOADS, messages, ready, running, write_csv  # noqa: E402

PAGES = ("/try", "/label", "/history", "/history/1", "/model", "/topics", "/file", "/data", "/data/file/1", "/login")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A service over labelled messages, with a model fitted from them."""
    folder = tmp_path_factory.mktemp("trained")
    rows = messages(160)
    data = write_csv(folder / "data.csv", [("text", "label"), *rows])
    with running(data, "--model", "multinomial_nb") as server:
        yield server


def test_twenty_texts_are_labelled_with_keys_and_a_model_appears(tmp_path, tab):
    rows = messages(60)
    truth = dict(rows)
    data = write_csv(tmp_path / "data.csv", [("text",), *((text,) for text, _ in rows)])
    with running(data, "--model", "multinomial_nb") as server:
        tab.goto(server.url + "/label?order=as+given")
        expect(tab.locator("#status")).to_contain_text("60 texts")
        tab.goto(server.url + "/label?order=as+given")
        for k in range(20):
            shown = tab.locator("#item-text").inner_text()
            label = next(label for text, label in truth.items() if " ".join(text.split()) == " ".join(shown.split()))
            button = tab.locator(f'.classes button[value="label:{label}"]')
            if button.count():
                tab.keyboard.press(button.get_attribute("data-key"))
            else:
                tab.keyboard.press("n")
                tab.keyboard.type(label)
                tab.keyboard.press("Enter")
            expect(tab.locator("#status")).to_contain_text(f"{k + 1} labelled")
        ready(tab)
        tab.goto(server.url + "/label?order=least+certain")
        expect(tab.locator(".suggestion button")).to_be_visible()
        before = tab.locator("#item-text").inner_text()
        tab.keyboard.press("Enter")
        expect(tab.locator("#status")).to_contain_text("21 labelled")
        tab.keyboard.press("u")
        expect(tab.locator("#status")).to_contain_text("20 labelled")
        expect(tab.locator("#item-text")).to_have_text(before)
        tab.keyboard.press("s")
        expect(tab.locator("#item-text")).not_to_have_text(before)
        assert tab.problems == []


def test_the_learning_curve_follows_the_labels_and_says_what_a_hundred_more_should_bring(tmp_path, tab):
    rows = messages(160)
    data = write_csv(tmp_path / "data.csv", [("text",), *((text,) for text, _ in rows)])
    with running(data, "--model", "multinomial_nb") as server:
        with httpx.Client(base_url=server.url, timeout=60) as client:

            def labelled(part):
                examples = [{"text": text, "label": label} for text, label in part]
                assert client.post("/learn", json={"examples": examples}).status_code == 200

            labelled(rows[:40])
            tab.goto(server.url + "/label")
            ready(tab)
            last = tab.locator("aside figure svg text").filter(has_text=re.compile(r"^\d+$"))
            expect(tab.locator("aside")).to_contain_text("Error on unseen texts")
            first = max(int(number) for number in last.all_text_contents())
            assert first <= 40
            item = tab.locator("#item-text").inner_text()
            labelled(rows[40:])  # the page follows without being loaded again
            tab.wait_for_function(
                "n => [...document.querySelectorAll('aside figure svg text')].some((e) => Number(e.textContent) > n)",
                arg=40,
            )
            assert tab.locator("#item-text").inner_text() == item
        promise = re.compile(r"The next hundred labels should bring it to about ([\d.]+) %")
        expect(tab.locator("#gain")).to_have_text(promise)
        promised = float(promise.match(tab.locator("#gain").inner_text())[1])
        now = float(re.search(r"texts: ([\d.]+) %", tab.locator("aside").inner_text())[1])
        assert promised < now
        assert tab.problems == []


def test_a_verdict_is_corrected_in_history_undone_and_found_gone(trained, tab):
    tab.goto(trained.url + "/try")
    ready(tab)
    tab.goto(trained.url + "/try")
    tab.fill("#text", "a wholly peculiar message about marzipan")
    tab.keyboard.press("Control+Enter")
    expect(tab.locator(".verdict b")).to_be_visible()
    tab.goto(trained.url + "/history?q=marzipan")
    row = tab.locator("tr[data-row]")
    expect(row).to_have_count(1)
    row.get_by_role("button", name="as spam").click()
    expect(tab.locator(".done span")).to_have_text("1 learned")
    expect(row.locator('[data-head="label"]')).to_have_text("spam")
    row.get_by_role("button", name="Undo").click()
    expect(tab.locator(".done span")).to_have_text("1 undone")
    expect(row.locator('[data-head="label"]')).to_have_text("")
    row.get_by_role("checkbox").check()
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Erase chosen").click()
    expect(tab.locator("tr[data-row]")).to_have_count(0)
    assert tab.problems == []


def test_the_threshold_moves_and_says_what_it_costs(trained, tab):
    tab.goto(trained.url + "/try")
    ready(tab)
    tab.goto(trained.url + "/try")
    tab.fill("#text", "You have won a free prize, call now to claim")
    tab.keyboard.press("Control+Enter")
    slider = tab.locator("#threshold")
    slider.focus()
    seen = []
    for key in ("Home", "End"):
        tab.keyboard.press(key)
        seen.append([tab.locator(f"#threshold-{part}").inner_text() for part in ("at", "lost", "caught", "this")])
    assert seen[0][1].startswith("100.0 %")
    assert float(seen[0][0]) < float(seen[1][0])
    assert " to " in seen[1][2]
    total = sum(float(cell.replace("−", "-")) for cell in tab.locator(".bars tr:not(.total) td.n").all_inner_texts())
    score = float(tab.locator(".bars tr.total td.n").inner_text().replace("−", "-"))
    assert abs(total - score) < 0.02
    assert tab.problems == []


def test_a_confusion_cell_and_a_term_open_the_texts_behind_them(trained, tab):
    tab.goto(trained.url + "/model")
    ready(tab)
    tab.goto(trained.url + "/model")
    cell = tab.locator(".confusion td a").first
    count = int(cell.inner_text().replace(",", ""))
    cell.click()
    expect(tab.locator("#count")).to_have_text(str(count))
    expect(tab.locator("tr[data-row]")).to_have_count(min(count, 50))
    tab.goto(trained.url + "/model")
    term = tab.locator(".terms a").first
    word = term.inner_text()
    term.click()
    expect(tab.locator("tr[data-row]").first).to_be_visible()
    tab.locator("tr[data-row] a").first.click()
    expect(tab.locator(".text")).to_contain_text(word.split()[0], ignore_case=True)
    assert tab.problems == []


def test_versions_are_fitted_compared_and_rolled_back(trained, tab):
    tab.goto(trained.url + "/model")
    ready(tab)
    tab.goto(trained.url + "/model")
    tab.get_by_role("button", name="Fit now").click()
    expect(tab.locator("#status b")).to_have_text("version 2", timeout=PATIENCE)
    tab.goto(trained.url + "/model/compare?one=1&other=2")
    expect(tab.locator("main")).to_contain_text("changed prediction")
    tab.goto(trained.url + "/model")
    tab.get_by_role("button", name="Roll back").click()
    expect(tab.locator(".done")).to_contain_text("back to version 1")
    tab.get_by_role("button", name="Activate 2").click()
    expect(tab.locator(".done")).to_contain_text("version 2 is active")
    assert tab.problems == []


def test_a_wrong_token_is_refused_and_the_right_one_lets_in(tmp_path, tab):
    env = {"TALLY_TOKEN": "a-long-secret", "TALLY_READER_TOKEN": "a-reader-secret"}
    with running("--store", tmp_path / "s", env=env) as server:
        tab.goto(server.url + "/history")
        assert tab.url.endswith("/login?then=/history")
        tab.fill('[name="secret"]', "wrong wrong")
        tab.get_by_role("button", name="Log in").click()
        expect(tab.locator(".wrong")).to_have_text("The token is not right.")
        tab.fill('[name="secret"]', "a-long-secret")
        tab.get_by_role("button", name="Log in").click()
        expect(tab.locator("h1")).to_have_text("History")
        assert tab.evaluate("document.cookie") == ""
        tab.get_by_role("button", name="Log out").click()
        expect(tab.locator("h1")).to_have_text("Log in")


def test_two_tabs_label_at_once_and_both_count(tmp_path, browser):
    data = write_csv(tmp_path / "data.csv", [("text", "label"), *messages(12)[:4]])
    with running(data, "--model", "multinomial_nb") as server:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        one, other = context.new_page(), context.new_page()
        one.goto(server.url + "/data")
        one.get_by_text("or paste texts").click()
        one.fill("#pasted", "\n".join(f"fresh text number {k}" for k in range(6)))
        one.get_by_role("button", name="Bring in").click()
        expect(one.locator("#status")).to_contain_text("10 texts")
        for page in (one, other):
            page.goto(server.url + "/label?order=as+given")
        for _ in range(2):
            for page in (one, other):
                before = page.locator("#item-text").inner_text()
                page.keyboard.press("1")
                expect(page.locator("#item-text")).not_to_have_text(before)
        one.goto(server.url + "/history?state=labelled&q=fresh")
        count = int(one.locator("#count").inner_text())
        assert 2 <= count <= 4
        context.close()


def test_texts_are_uploaded_doubted_and_exported(tmp_path, tab):
    rows = [(text, label) for text, label in messages(120)]
    rows[3] = (rows[3][0], "spam" if rows[3][1] == "ham" else "ham")
    data = write_csv(tmp_path / "up.csv", [("text", "label"), *rows, (rows[0][0], "ham"), (rows[0][0], "spam")])
    with running("--store", tmp_path / "s", "--model", "multinomial_nb") as server:
        tab.goto(server.url)
        tab.set_input_files('[name="file"]', data)
        tab.get_by_role("button", name="Bring in").click()
        tab.get_by_role("button", name="Read it in").click()
        expect(tab.locator("#status")).to_contain_text("122 texts")
        ready(tab)
        tab.goto(server.url + "/data")
        expect(tab.locator("main")).to_contain_text("Equal texts with different labels")
        doubt = tab.locator("main")
        expect(doubt).to_contain_text("held-out models say")
        before = tab.locator(".text").inner_text()
        tab.keyboard.press("v")
        expect(tab.locator(".done span")).to_have_text("1 kept")
        assert not tab.locator(".text").count() or tab.locator(".text").inner_text() != before
        with tab.expect_download() as download:
            tab.get_by_role("link", name="Labels as CSV").click()
        assert "text,label" in download.value.path().read_text(encoding="utf-8")
        with tab.expect_download() as download:
            tab.get_by_role("link", name="Model file").click()
        import tallywise

        assert set(tallywise.load(download.value.path()).classes) == {"ham", "spam"}
        assert tab.problems == []


def test_topics_are_found_and_their_words_follow_the_slider(trained, tab):
    tab.goto(trained.url + "/topics")
    tab.fill('[name="n_topics"]', "4")
    tab.get_by_role("button", name="Find topics").click()
    for _ in range(60):
        if tab.locator("svg.map circle").count() == 4:
            break
        tab.wait_for_timeout(1000)
        tab.goto(trained.url + "/topics")
    shown = tab.locator("#topic-1 p:visible")
    before = shown.inner_text()
    tab.locator("#relevance").focus()
    tab.keyboard.press("Home")
    assert shown.inner_text() != before
    assert tab.problems == []


@pytest.mark.parametrize("width", [360, 1600])
def test_no_page_is_wider_than_the_screen(trained, browser, width):
    context = browser.new_context(viewport={"width": width, "height": 800})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    for path in ("/", *PAGES):
        page.goto(trained.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()


def test_pages_can_be_read_without_a_script(trained, browser):
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(trained.url + "/history?q=free")
    expect(page.locator("tr[data-row]").first).to_be_visible()
    page.goto(trained.url + "/try")
    page.fill("#text", "win a prize")
    page.get_by_role("button", name="What is it?").click()
    expect(page.locator(".verdict b")).to_be_visible()
    context.close()


_CONTRAST = """
() => {
  const parse = (c) => {
    const m = c.match(/[\\d.]+/g).map(Number);
    const rgb = c.startsWith('color(') ? m.slice(0, 3).map((x) => 255 * x) : m.slice(0, 3);
    return [...rgb, m[3] ?? 1];
  };
  const linear = (x) => (x / 255 <= .04045 ? x / 255 / 12.92 : ((x / 255 + .055) / 1.055) ** 2.4);
  const light = (c) => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const behind = (element) => {
    const stack = [];
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) stack.push(c);
      if (c[3] === 1) break;
    }
    let base = [255, 255, 255];
    for (const c of stack.reverse()) base = base.map((x, k) => x * (1 - c[3]) + c[k] * c[3]);
    return base;
  };
  const bad = [];
  const out = 'svg, noscript, .skip, .visually-hidden, option, :disabled';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || element.closest(out) || !element.offsetParent) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parse(style.color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
      bad.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className} ${text.slice(0, 30)}`);
  }
  return bad;
}
"""
_UNNAMED = """
() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')]
  .filter((e) => !(e.labels && e.labels.length) && !e.getAttribute('aria-label') && !e.textContent.trim())
  .map((e) => e.outerHTML.slice(0, 100))
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa_and_every_control_a_name(trained, browser, scheme):
    context = browser.new_context(color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(trained.url + "/try")
    ready(page)
    for path in ("/", *PAGES):
        page.goto(trained.url + path)
        if path == "/try":
            page.fill("#text", "You have won a free prize, call now, see you at lunch tomorrow")
            page.keyboard.press("Control+Enter")
            expect(page.locator(".verdict b")).to_be_visible()
        assert page.evaluate(_CONTRAST) == [], path
        assert page.evaluate(_UNNAMED) == [], path
    context.close()


def test_texts_from_right_to_left_run_from_right_to_left(trained, tab):
    tab.goto(trained.url + "/try")
    ready(tab)
    tab.goto(trained.url + "/try")
    tab.fill("#text", "مرحبا بالعالم")
    tab.keyboard.press("Control+Enter")
    expect(tab.locator(".text")).to_be_visible()
    assert tab.evaluate("getComputedStyle(document.querySelector('.text')).direction") == "rtl"


def test_fifty_payloads_in_every_shown_field_and_none_runs(tmp_path, browser):
    assert len(PAYLOADS) == 50
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    context.add_init_script("window.hit = 0; window.alert = window.confirm = window.prompt = () => { window.hit = 1; }")
    page = context.new_page()
    with running("--store", tmp_path / "s", "--model", "multinomial_nb") as server:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            examples = [
                {"text": f"{payload} number {k} {word}", "label": label, "who": payload[:60]}
                for k, payload in enumerate(PAYLOADS)
                for label, word in ((" ".join(payload.split()).replace("\u202e", "")[:200], "one"), ("plain", "two"))
            ]
            assert client.post("/learn", json={"examples": examples}).status_code == 200
        page.goto(server.url + "/model")
        ready(page)

        def safe(where):
            assert page.evaluate("window.hit") == 0, where
            for script in page.locator("script").all():
                assert script.get_attribute("src") == "/static/page.js", where

        for path in ("/label", "/history", "/model", "/data", "/topics", "/history/1", "/model/compare?one=1&other=1"):
            page.goto(server.url + path)
            page.wait_for_timeout(200)
            safe(path)
        from urllib.parse import quote

        for payload in PAYLOADS:
            field = quote(payload)
            page.goto(
                f"{server.url}/history?q={field}&label={field}&verdict={field}&who={field}&note={field}&version={field}"
            )
            safe(payload)
        for payload in PAYLOADS[::7]:
            page.goto(server.url + "/try")
            page.fill("#text", payload)
            page.keyboard.press("Control+Enter")
            expect(page.locator(".verdict b")).to_be_visible()
            page.wait_for_timeout(100)
            safe(payload)
            page.goto(server.url + "/label")
            page.fill('[name="phrase"]', payload)
            page.fill('[name="label"]', payload)
            page.get_by_role("button", name="Add", exact=True).click()
            page.wait_for_timeout(100)
            safe(payload)
            page.goto(f"{server.url}/login?then={quote(payload)}")
            safe(payload)
        page.goto(server.url + "/data")
        hostile = tmp_path / "<img src=x onerror=window.hit=1>.csv"
        hostile.write_text("text\n<img src=x onerror=window.hit=1>\n")
        page.set_input_files('[name="file"]', hostile)
        page.get_by_role("button", name="Bring in").click()
        page.get_by_role("button", name="Read it in").wait_for()
        safe("upload")
    context.close()


def test_a_service_that_ends_is_noticed(tmp_path, tab):
    with running("--store", tmp_path / "s") as server:
        tab.goto(server.url + "/label")
        server.stop()
        expect(tab.locator("#status")).to_contain_text("does not answer")
        with pytest.raises(Error):
            tab.goto(server.url)
