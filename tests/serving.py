"""A service under test, in a process of its own, as a person would start it."""

import csv
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.resources import files

CORPUS = files("tallywise") / "demo_corpus" / "messages.csv"
SERVE = ["serve", "--no-browser", "--port", "0"]
_PROGRAM = "from tallywise.cli import main; main()"
_COMMAND = [sys.executable, "-c", _PROGRAM, *SERVE]


class Running:
    """The process and its address."""

    def __init__(self, process, url):
        self.process, self.url = process, url

    def stop(self, how="terminate"):
        getattr(self.process, how)()
        code = self.process.wait(30)
        self.process.stdout.close()
        return code


def start(*arguments, env=None, cwd=None, files=None):
    """Start a service; `files` is how many the system lets it open."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}));" if files else ""
    return answering(
        subprocess.Popen(
            [sys.executable, "-c", limited + _PROGRAM, *SERVE, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
        )
    )


def answering(process):
    """The service of a process, when it says where."""
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"serving at (http://\S+)/ ", line):
            return Running(process, found[1])
    process.wait(30)
    process.stdout.close()
    raise AssertionError("".join(said))


@contextmanager
def running(*arguments, **options):
    found = start(*arguments, **options)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.stop()


def until(condition, seconds=300):
    """Wait for something to become true; a fit on a busy machine takes a while."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.1)
    msg = "it did not happen"
    raise AssertionError(msg)


def messages(n=200):
    with CORPUS.open(encoding="utf-8") as stream:
        return [(row["text"], row["label"]) for row in csv.DictReader(stream)][:n]


PATIENCE = 120_000  # milliseconds; a fit on a busy machine takes a while


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return path


def ready(page):
    """Wait until a page shows that there is a model."""
    from playwright.sync_api import expect

    expect(page.locator("#status b")).to_contain_text("version", timeout=PATIENCE)


PAYLOADS = [
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "<svg onload=window.hit=1>",
    "<svg><script>window.hit=1</script></svg>",
    '"><script>window.hit=1</script>',
    "'><script>window.hit=1</script>",
    '" onmouseover="window.hit=1',
    "' onmouseover='window.hit=1",
    '" autofocus onfocus=window.hit=1 x="',
    "</textarea><script>window.hit=1</script>",
    "</title><script>window.hit=1</script>",
    "</style><script>window.hit=1</script>",
    "</script><script>window.hit=1</script>",
    "</option></select><img src=x onerror=window.hit=1>",
    "javascript:window.hit=1",
    "data:text/html,<script>window.hit=1</script>",
    "<a href=javascript:window.hit=1>x</a>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "<iframe src=javascript:parent.hit=1>",
    "<object data=javascript:window.hit=1>",
    "<embed src=javascript:window.hit=1>",
    "<body onload=window.hit=1>",
    "<input autofocus onfocus=window.hit=1>",
    "<details open ontoggle=window.hit=1>",
    "<video><source onerror=window.hit=1></video>",
    "<audio src=x onerror=window.hit=1>",
    "<marquee onstart=window.hit=1>",
    "<math><mtext><img src=x onerror=window.hit=1></mtext></math>",
    "<form><button formaction=javascript:window.hit=1>x",
    "<base href=javascript:window.hit=1//>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hit=1'>",
    "<link rel=stylesheet href=data:,*{x:expression(window.hit=1)}>",
    "<style>@import 'javascript:window.hit=1';</style>",
    "<div style=background:url(javascript:window.hit=1)>",
    "{{ 7 * 7 }}{{ cycler.__init__.__globals__ }}",
    "{% for x in ().__class__.__base__.__subclasses__() %}x{% endfor %}",
    "${window.hit=1}",
    "`-window.hit=1-`",
    "\\u003cscript\\u003ewindow.hit=1\\u003c/script\\u003e",
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "&#60;script&#62;window.hit=1&#60;/script&#62;",
    "<scr<script>ipt>window.hit=1</scr</script>ipt>",
    "<SCRIPT>window.hit=1</SCRIPT>",
    "<script\n>window.hit=1</script\n>",
    "<img/src=x/onerror=window.hit=1>",
    "<img src=`x`onerror=window.hit=1>",
    "<!--><script>window.hit=1</script-->",
    "<![CDATA[><script>window.hit=1</script>]]>",
    "+ADw-script+AD4-window.hit=1+ADw-/script+AD4-",
    "\u202e<script>window.hit=1</script>",
]
