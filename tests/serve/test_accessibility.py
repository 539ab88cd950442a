"""Every page in both colour schemes without a violation that axe-core finds (npm's, fetched once; see below)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "playwright", "httpx"):
    pytest.importorskip(name)

from playwright.sync_api import expect  # noqa: E402

from tests.serving import PATIENCE, messages, ready, running, write_csv  # noqa: E402

AXE = "axe-core@4.10.3"
PAGES = (
    *("/", "/label", "/history", "/history?low=50", "/history/1", "/model", "/model/compare?one=1&other=1", "/topics"),
    *("/try", "/file", "/data", "/data/file/1", "/login"),
)


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script: TALLYWISE_AXE names it, or npm fetches it."""
    if path := os.environ.get("TALLYWISE_AXE"):
        return Path(path).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs axe-core: install npm, or name axe.min.js in TALLYWISE_AXE")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), AXE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"needs {AXE}, which npm could not fetch: {done.stderr.strip()[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    rows = [(text, label if k % 4 else "") for k, (text, label) in enumerate(messages(160))]
    with running(write_csv(folder / "data.csv", [("text", "label"), *rows]), "--model", "multinomial_nb") as server:
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_no_page_has_a_violation_that_axe_finds(trained, browser, axe, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(trained.url + "/try")
    ready(page)
    found = {}
    for path in PAGES:
        page.goto(trained.url + path)
        if path == "/try":
            page.fill("#text", "You have won a free prize, call now, see you at lunch tomorrow")
            page.keyboard.press("Control+Enter")
            expect(page.locator(".verdict b")).to_be_visible()
        page.evaluate(axe)
        for one in page.evaluate("axe.run().then((result) => result.violations)"):
            found[path, one["id"]] = [node["html"][:200] for node in one["nodes"][:3]]
    assert found == {}
    context.close()
