"""Make the pictures of the documentation: ``python -m tools.pictures [NAME ...]``.

Names are course, plots, report, terminal and workbench. Plots are those of docs/plots.md, drawn by its own code; the
report, the terminal session and the workbench are photographed in Chromium (``apt-get install chromium``), the
workbench by Playwright while it is used. Plots and the terminal show the bundled corpus, the report and
the workbench the SMS spam collection.
"""

import csv
import doctest
import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import course_pictures

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CORPUS = ROOT / "src" / "tallywise" / "demo_corpus" / "messages.csv"


def tally(*arguments: str | Path, cwd: Path, columns: int = 118) -> str:
    """What a command prints."""
    command = [Path(sys.executable).parent / "tally", *arguments]
    env = dict(os.environ, COLUMNS=str(columns), NO_COLOR="1")
    return subprocess.run(command, cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


def browser() -> str:
    """The path of Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        sys.exit("Chromium is needed: apt-get install chromium")
    return found


def photograph(page: Path, name: str, width: int, height: int) -> None:
    """A page as Chromium shows it."""
    target = IMAGES / f"{name}.png"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}"]
    subprocess.run([browser(), *options, f"--screenshot={target}", page.as_uri()], check=True, capture_output=True)
    shrink(target)


def shrink(picture: Path) -> None:
    """A picture in 128 colours, which pages and plots are not told apart from in a third of the bytes."""
    from PIL import Image

    with Image.open(picture) as full:
        small = full.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


def plots() -> None:
    """The plots of docs/plots.md."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    page = doctest.DocTestParser().get_doctest(
        (ROOT / "docs" / "plots.md").read_text(), {}, "plots.md", "docs/plots.md", 0
    )
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(page, clear_globs=False)
    names = ["thresholds", "calibration", "learning", "path", "topics"]
    for name, number in zip(names, pyplot.get_fignums(), strict=True):
        figure = pyplot.figure(number)
        if name != "topics":
            figure.set_size_inches(6, 3.6)
            figure.set_layout_engine("constrained")
        figure.savefig(IMAGES / f"plot-{name}.png", dpi=110)


def real_messages() -> list[tuple[str, str]]:
    """The SMS spam collection, which `make data` fetches: texts and labels."""
    from benchmarks import datasets

    texts, labels = datasets.sms()
    return list(zip(texts, labels.tolist(), strict=True))


def write_messages(path: Path, rows: list[tuple[str, str]]) -> None:
    """A table of texts and labels."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])


def report() -> None:
    """The head of a report."""
    with tempfile.TemporaryDirectory() as folder:
        write_messages(Path(folder) / "messages.csv", real_messages())
        tally("train", "messages.csv", "--max-flagged", "ham=0.001", cwd=Path(folder))
        photograph(Path(folder) / "report.html", "report", 1100, 1300)


def terminal() -> None:
    """A session: train, then classify with reasons."""
    text = "free prize, call now"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copy(CORPUS, place)
        said = [f"$ tally train {CORPUS.name}", tally("train", CORPUS.name, cwd=place)]
        (place / "new.txt").write_text(text)
        said += ["$ tally classify model.tally new.txt --explain"]
        said += [tally("classify", "model.tally", "new.txt", "--explain", cwd=place)]
        shown = html.escape("\n".join(said))
        style = "margin:0;padding:18px;background:#16181d;color:#e6e6e6;font:13px/1.45 monospace"
        page = place / "terminal.html"
        page.write_text(f'<!doctype html><meta charset="utf-8"><body style="{style}"><pre style="margin:0">{shown}')
        photograph(page, "terminal", 1240, 40 + 19 * shown.count("\n"))


def workbench() -> None:
    """Try, Label and Model, while somebody labels."""
    from playwright.sync_api import sync_playwright

    from tests.serving import running

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        rows = real_messages()
        known = len(rows) * 3 // 4
        write_messages(Path(folder) / "messages.csv", [*rows[:known], *((text, "") for text, _ in rows[known:])])
        chromium = play.chromium.launch(executable_path=browser(), args=["--headless", "--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1100, "height": 760})
        page.set_default_timeout(300_000)
        with running("messages.csv", cwd=folder) as server:
            page.goto(server.url + "/label")
            page.wait_for_selector(".suggestion button")  # the page follows when the model is there
            page.wait_for_selector("aside figure")
            page.goto(server.url + "/label")  # the least certain text, and not the one that was there before the model
            page.screenshot(path=IMAGES / "serve-label.png")
            page.goto(server.url + "/try")
            page.fill("#text", "Congratulations! You have won a free prize. Call now to claim, see you at lunch")
            page.keyboard.press("Control+Enter")
            page.wait_for_selector(".verdict b")
            page.screenshot(path=IMAGES / "serve-try.png")
            page.goto(server.url + "/model")
            page.wait_for_selector(".confusion")
            page.screenshot(path=IMAGES / "serve-model.png")
        chromium.close()
    for name in ("try", "label", "model"):
        shrink(IMAGES / f"serve-{name}.png")


def main() -> None:
    """All, or those named."""
    IMAGES.mkdir(exist_ok=True)
    makers = {"plots": plots, "report": report, "terminal": terminal, "workbench": workbench}
    makers["course"] = course_pictures.draw
    for name in sys.argv[1:] or makers:
        if name not in makers:
            sys.exit(f"there is no picture {name!r}; there are: {', '.join(makers)}")
        makers[name]()


if __name__ == "__main__":
    main()
