"""How fast is `tally serve`? wrk against a service on the same machine: ``python -m benchmarks.serve``.

Needs wrk (apt-get install wrk) and the extra "serve" with its uvloop and httptools, without which every request costs
several times as much. Prints requests a second and latencies for one text of 2 KiB a
request at 64 and 300 connections, batches against the model in the same process, durable learns from 64 clients, the
time from start to the first answer, and the memory of the service over that of its model.
"""

import argparse
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from tests.serving import CORPUS, running

_LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local k = 0
request = function() k = k %% #bodies + 1; return wrk.format(nil, nil, nil, bodies[k]) end
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %%d %%d %%d %%d\\n", summary.requests, summary.duration,
    latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def texts(n: int, size: int = 2048) -> list[str]:
    words = CORPUS.read_text(encoding="utf-8").split()
    draw = random.Random(0)
    return [" ".join(draw.choices(words, k=size // 4))[:size] for _ in range(n)]


def wrk(url: str, bodies: list[str], connections: int, seconds: int) -> tuple[float, float, int]:
    """Requests a second, the 99th percentile in milliseconds, errors."""
    with tempfile.TemporaryDirectory() as folder:
        lines, script = Path(folder, "bodies"), Path(folder, "wrk.lua")
        lines.write_text("\n".join(bodies))
        script.write_text(_LUA % lines)
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), url]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    requests, duration, p99, errors = map(int, re.search(r"RESULT (\d+) (\d+) (\d+) (\d+)", out).groups())
    return 1e6 * requests / duration, p99 / 1000, errors


def post(url: str, document: object) -> dict[str, object]:
    request = urllib.request.Request(url, json.dumps(document).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def first_answer(model: Path, store: Path) -> float:
    """Seconds from the start of the command to its first verdict."""
    began = time.perf_counter()
    with running(model, "--store", store) as server:
        post(server.url + "/classify", {"text": "a"})
        return time.perf_counter() - began


def memory(pid: int) -> float:
    """Resident megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--texts", type=int, default=0, help="put this many texts into the store first")
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is needed: apt-get install wrk")
    for name in ("uvloop", "httptools"):
        if importlib.util.find_spec(name) is None:
            sys.exit(f"{name} is needed: pip install 'tallywise[serve]'")
    import csv

    from tallywise import TextClassifier, load

    with CORPUS.open(encoding="utf-8") as stream:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(stream)]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "m.tally")
        TextClassifier("linear_svm", cv=2).fit([t for t, _ in rows], [c for _, c in rows]).save(model)
        print(f"start to first answer: {min(first_answer(model, Path(folder, f's{k}')) for k in range(3)):.2f} s")
        sample = texts(2000)
        bodies = [json.dumps({"text": text}) for text in sample]
        with running(model, "--store", Path(folder, "s"), "--max-batch", 20000, "--max-body", 100 << 20) as server:
            for n in (64, 300):
                rate, p99, errors = wrk(server.url + "/classify", bodies, n, arguments.seconds)
                print(f"{n} connections: {rate:,.0f} texts/s, p99 {p99:.1f} ms, {errors} errors")
            runtime = load(model)
            runtime.predict_proba(sample)
            began = time.perf_counter()
            for _ in range(5):
                runtime.decide(runtime.predict_proba(sample))
            inside = time.perf_counter() - began
            began = time.perf_counter()
            for _ in range(5):
                post(server.url + "/classify", {"texts": sample})
            outside = time.perf_counter() - began
            print(f"batches of {len(sample)}: {100 * inside / outside:.0f} % of the in-process speed")
            fresh = iter(range(10**9))
            lock = threading.Lock()
            learns = []
            draw = random.Random(1)
            words = CORPUS.read_text(encoding="utf-8").split()
            for _ in range(20_000):
                with lock:
                    k = next(fresh)
                text = f"{k} {' '.join(draw.choices(words, k=20))}"
                learns.append(json.dumps({"text": text, "label": "ab"[k % 2]}))
            rate, p99, errors = wrk(server.url + "/learn", learns, 64, arguments.seconds)
            print(f"durable learns, 64 clients: {rate:,.0f}/s, p99 {p99:.1f} ms, {errors} errors")
            if arguments.texts:
                some = texts(1000)
                for k in range(arguments.texts // 1000):
                    examples = [{"text": f"{k} {text}"[:2048], "label": "ab"[i % 2]} for i, text in enumerate(some)]
                    post(server.url + "/learn", {"examples": examples})
            size = model.stat().st_size / 1e6
            print(f"memory of the service: {memory(server.process.pid):.0f} MB; model file {size:.1f} MB")


if __name__ == "__main__":
    main()
