"""What do models over shards cost? ``python -m benchmarks.scale --all`` on a machine with nothing else to do.

Short texts are made by drawing two sentences from the computer and science groups of 20 Newsgroups, or two from the
others, and written as Parquet shards with the label "technical" or "other", once: they stay in a folder of temporary
files. Naive Bayes, scoring and the default model then run in one process with two threads, on Ray with one and two
workers of one thread each, and as one and two plain processes of one thread that know nothing of each other (two take
half of the shards each): what the machine gives to two workers, whoever carries their sums. Wall time, CPU time, that
of other programs meanwhile, the largest memory of a worker and the bytes between driver and workers go to
``benchmarks/results/scale/`` with ``--keep``. ``--all`` does it all within ``--minutes``, what says most first: a
measurement that would not end in time, by what fewer texts took, is left out and said.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "scale"
JOBS = ("multinomial_nb", "scoring", "auto")
ENGINES = (("ray", 2), ("threads", 2), ("ray", 1))
PAIRS = (("processes", 1), ("processes", 2))
COLUMNS = 1 << 18  # hashed, of naive Bayes: the model does not grow with the texts
SHARDS = 16  # of any corpus: two workers get the same number
FEW = 10_000  # texts of which nearly all time is that of starting
# What --all measures, what says most first: texts, jobs, and where they run.
ALL: tuple[tuple[int, Any, Any], ...] = (
    (FEW, JOBS, ENGINES[:2]),
    (8_000_000, JOBS[:2], ENGINES),
    (200_000, JOBS, PAIRS),
    (2_000_000, JOBS[2:], ENGINES),
    (1_000_000, JOBS, ENGINES),
)
ALL_MINUTES = 15.0
STARTING = 8.0  # seconds of a measurement that no text has to do with
CORPORA = Path(tempfile.gettempdir()) / "tallywise-scale"


# --- the corpus ---


def sentences() -> dict[str, list[str]]:
    """Sentences of 20 Newsgroups, those of technical groups and others."""
    from benchmarks.datasets import newsgroups

    found: dict[str, list[str]] = {}
    for text, group in zip(*newsgroups(), strict=True):
        body = text.partition("\n\n")[2]
        label = "technical" if str(group).startswith(("comp.", "sci.")) else "other"
        for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", body):
            words = " ".join(sentence.split())
            if 20 <= len(words) <= 300:
                found.setdefault(label, []).append(words)
    return found


def corpus(texts: int) -> tuple[Path, dict[str, int]]:
    """A folder with the shards, from a run before where there was one; characters of the texts and bytes of files."""
    folder = CORPORA / str(texts)
    note = folder / "about.json"
    if not note.exists():  # it is written last
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(write(folder, texts)))
    return folder, json.loads(note.read_text())


def write(folder: Path, texts: int, seed: int = 0) -> dict[str, int]:
    """Write the shards; characters of the texts and bytes of the files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    draw, by_label = np.random.default_rng(seed), sentences()
    labels = sorted(by_label)
    starts = np.cumsum([0, *(len(by_label[label]) for label in labels)])
    pool = pa.array([sentence for label in labels for sentence in by_label[label]])
    characters = 0
    for k, rows in enumerate(np.diff(np.linspace(0, texts, SHARDS + 1).astype(int))):
        c = draw.integers(len(labels), size=rows)
        first, second = (pool.take(starts[c] + draw.integers(np.diff(starts)[c])) for _ in range(2))
        both = pc.binary_join_element_wise(first, second, " ")
        characters += pc.sum(pc.utf8_length(both)).as_py()
        table = pa.table({"text": both, "label": pa.array(labels).take(c)})
        parquet.write_table(table, folder / f"part-{k:02}.parquet", compression="zstd")
    return {"characters": characters, "stored": sum(path.stat().st_size for path in folder.glob("*.parquet"))}


# --- one measurement, in a process of its own ---


class Watch(threading.Thread):
    """CPU time of this process and all below it, and the largest memory of it and of a Ray worker, while it works."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.cpu: dict[int, float] = {}
        self.driver = self.worker = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Look every fifth of a second: what a process has used and its peak are its own count, not ours."""
        while not self.over.wait(0.2):
            self.look()

    def look(self) -> None:
        """Take the counts of all processes."""
        import psutil

        me = psutil.Process()
        for process in [me, *me.children(recursive=True)]:
            try:
                times = process.cpu_times()
                self.cpu[process.pid] = times.user + times.system
                peak = _peak(process.pid)
                if process.pid == me.pid:
                    self.driver = max(self.driver, peak)
                elif "ray::_" in " ".join(process.cmdline()):
                    self.worker = max(self.worker, peak)
            except (psutil.Error, OSError):
                continue


def _peak(pid: int) -> int:
    """The most resident bytes that a process has held."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) << 10 if found else 0


def machine_seconds() -> float:
    """CPU seconds that all programs of this machine have used since it was started."""
    import psutil

    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def measure(folder: str, job: str, engine: str, workers: int) -> dict[str, Any]:
    """Run a job and say what it took. Starting Ray is told apart: a cluster runs before its jobs."""
    from tallywise.scale import classify, train  # noqa: F401  loading them is no part of what is measured
    from tallywise.scale.engines import connect

    ray, started = ("local", 0.0) if engine == "ray" else (None, 0.0)
    if ray:
        began = time.perf_counter()
        connect(ray, workers)  # what is running already is not started again by the job
        started = time.perf_counter() - began
    watch = Watch()
    watch.look()
    before, busy = sum(watch.cpu.values()), machine_seconds()
    watch.start()
    began = time.perf_counter()
    found, made = beside(folder, job, workers) if engine == "processes" else work(folder, job, ray, workers)
    seconds = found.pop("seconds", time.perf_counter() - began)
    watch.over.set()
    watch.join()
    watch.look()
    used = sum(watch.cpu.values()) - before
    others = max(machine_seconds() - busy - used, 0.0)
    if job == "multinomial_nb" and made is not None:
        made.save(f"{folder}/model.tally")
    return found | {
        "job": job,
        "engine": engine,
        "workers": workers,
        "seconds": seconds,
        "cpu_seconds": used,
        "other_cpu_seconds": others,
        "start_seconds": started,
        "worker_bytes": watch.worker or watch.driver,
        "driver_bytes": watch.driver,
    }


def work(folder: str, job: str, ray: str | None, workers: int) -> tuple[dict[str, Any], Any]:
    """Run a job: what it says of itself, and what was trained."""
    from tallywise.scale import classify, train

    shards = f"{folder}/*.parquet"
    if job == "scoring":
        with tempfile.TemporaryDirectory() as out:
            scored = classify(f"{folder}/model.tally", shards, out, ray=ray, workers=workers)
        return {"texts": scored.rows, "bytes_moved": scored.bytes_moved}, None
    columns = {"n_features": COLUMNS} if job == "multinomial_nb" else {}
    made = train(shards, model=job, ray=ray, workers=workers, **columns)
    return {"texts": made.rows, "bytes_moved": made.bytes_moved, "error": made.trials[0]["error"]}, made


def beside(folder: str, job: str, processes: int) -> tuple[dict[str, Any], Any]:
    """Run a job, whole and on one thread, in several processes at once that know nothing of each other.

    What the slowest takes longer than one alone is what the machine does not give to two: memory, caches, clock.
    """
    command = [sys.executable, "-m", "benchmarks.scale", "--alone", folder, job]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    pipes["env"] = {**os.environ, "TALLYWISE_NUM_THREADS": "1"}
    running = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for one in running:
        one.stdout.readline()  # it is ready
    for one in running:
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [json.loads(one.communicate()[0].strip().splitlines()[-1]) for one in running]
    return {**said[0], "seconds": max(one["seconds"] for one in said)}, None


def alone(folder: str, job: str) -> None:
    """One of the processes of `beside`: get ready, wait for a line, work."""
    from tallywise.scale import classify, train  # noqa: F401

    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    found, _ = work(folder, job, None, 1)
    print(json.dumps(found | {"seconds": time.perf_counter() - began}), flush=True)


# --- all of them ---


class Clock:
    """The time that is left, and what earlier measurements say of the next."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.rates: dict[tuple[str, str, int], float] = {}  # seconds a text
        for path in sorted(RESULTS.glob("*.json"), key=lambda path: int(path.stem)):
            for row in json.loads(path.read_text())["rows"]:
                self.took(row)

    def allows(self, job: str, engine: str, workers: int, texts: int) -> bool:
        """Whether a measurement would end in time; where nothing is known of it, whether there is time at all."""
        return time.monotonic() + STARTING + self.rates.get((job, engine, workers), 0.0) * texts < self.end

    def took(self, row: dict[str, Any]) -> None:
        """Learn from a measurement; few texts say nothing of many."""
        if row["texts"] > 10 * FEW:
            self.rates[row["job"], row["engine"], row["workers"]] = row["seconds"] / row["texts"]


def run(texts: int, jobs: Any, engines: Any, clock: Clock, keep: bool) -> None:
    """Measure what there is time for; what is kept replaces what was known of the same measurement."""
    path = RESULTS / f"{texts}.json"
    # What needs the most time comes last: one worker alone.
    wanted = [(job, *engine) for some in (engines[:2], engines[2:]) for job in jobs for engine in some]
    allowed = [one for one in wanted if clock.allows(*one, texts)]
    if not allowed:
        print(f"{texts:,} texts: no time", flush=True)
        return
    place, sizes = corpus(texts)
    folder, about = str(place), {"texts": texts, "shards": SHARDS, "columns": COLUMNS, **sizes}
    known = json.loads(path.read_text()) if keep and path.exists() else {"rows": []}
    for job, engine, workers in wanted:
        if not clock.allows(job, engine, workers, texts):
            print(f"{texts:,} texts, {job}, {engine} {workers}: no time", flush=True)
            continue
        if job == "scoring" and not Path(folder, "model.tally").exists():
            _child(folder, "multinomial_nb", "threads", 2)
        row = _child(folder, job, engine, workers)
        clock.took(row)
        print(
            f"{texts:,} texts, {job}, {engine} {workers}: {row['seconds']:.1f} s, "
            f"CPU {row['cpu_seconds']:.1f} s (others {row['other_cpu_seconds']:.1f} s), "
            f"worker {row['worker_bytes'] / 1e6:,.0f} MB, moved {row['bytes_moved'] / 1e6:,.2f} MB",
            flush=True,
        )
        same = [(r["job"], r["engine"], r["workers"]) for r in known["rows"]]
        rows = [r for r, key in zip(known["rows"], same, strict=True) if key != (job, engine, workers)]
        known = {**about, "machine": machine(), "rows": [*rows, row]}
        if keep:
            RESULTS.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(known, indent=1) + "\n")


def _child(folder: str, job: str, engine: str, workers: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale", "--child", folder, job, engine, str(workers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def machine() -> dict[str, Any]:
    """Where it was measured."""
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return {"processor": (names or [platform.machine()])[0], "cores": os.cpu_count()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    parser.add_argument("--minutes", type=float, help=f"for all of it; {ALL_MINUTES:g} with --all, else any number")
    sizes = ", ".join(f"{texts:,}" for texts, _, _ in ALL)
    parser.add_argument("--all", action="store_true", help=f"measure {sizes} texts and keep the results")
    parser.add_argument("--share", type=float, default=1.0, help="of the texts, to try --all; nothing is kept")
    parser.add_argument("--write", action="store_true", help="only write the shards that --all reads")
    parser.add_argument("--keep", action="store_true", help="write the figures to benchmarks/results/scale")
    parser.add_argument("--child", nargs=4, metavar=("FOLDER", "JOB", "ENGINE", "WORKERS"), help=argparse.SUPPRESS)
    parser.add_argument("--alone", nargs=2, metavar=("FOLDER", "JOB"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(*options.alone)
        return
    if options.child:
        folder, job, engine, workers = options.child
        print("\n" + json.dumps(measure(folder, job, engine, int(workers))))
        return
    planned = [(max(int(texts * options.share), 500), jobs, engines) for texts, jobs, engines in ALL]
    if not options.all and not options.write:
        few = (FEW, options.jobs, ENGINES[:2])
        planned = [few, *((texts, options.jobs, ENGINES + PAIRS) for texts in options.texts if texts != FEW)]
    if options.write:
        for texts, _, _ in planned:
            print(corpus(texts)[0], flush=True)
        return
    clock = Clock(options.minutes or (ALL_MINUTES if options.all else 1e9))
    for texts, jobs, engines in planned:
        run(texts, jobs, engines, clock, (options.keep or options.all) and options.share == 1)


if __name__ == "__main__":
    main()
