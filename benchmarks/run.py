"""Run benchmarks: ``python -m benchmarks.run [problem ...] [--rivals name,name] [--minutes 10]``.

For each problem every rival gets a process; they take turns, so that ratios come from one run. Results go to
benchmarks/results/speeds.json; benchmarks/speed_tables.py makes tables of them.
"""

import argparse
import importlib.util
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.problems import Problem, all_problems
from tallywise.plain_text import number

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "speeds.json"  # by problem
OURS = "tallywise"
SLOW = 60.0  # seconds: a solver slower than this is timed once
PATIENCE = 240.0  # seconds: a solver slower than this is given up; the slowest that ends takes one minute


class Worker:
    """A rival's process."""

    def __init__(self, problem: Problem, rival: str, patience: float, loaded: str) -> None:
        env = dict(os.environ, TALLYWISE_NUM_THREADS=str(problem.threads), BENCHMARKS_LOADED=loaded)
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            env[variable] = str(problem.threads)
        command = [sys.executable, "-m", "benchmarks.worker", problem.name, rival, str(problem.threads)]
        self.rival, self.patience = rival, patience
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )
        self.runs: list[dict[str, Any]] = []
        self.error: str | None = None
        hello = self._read()
        self.version = hello.get("version")

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], self.patience)[0]:
            self.close()
            self.error = f"no answer after {self.patience:g} seconds"
            return {"error": self.error}
        line = self.process.stdout.readline()
        message: dict[str, Any] = json.loads(line) if line else {"error": "the process died"}
        self.error = message.get("error")
        return message

    def run(self) -> None:
        """One timed call."""
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        answer = self._read()
        if self.error is None:
            self.runs.append(answer)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def summary(self) -> dict[str, Any]:
        """What the results file keeps."""
        if self.error is not None:
            return {"version": self.version, "error": self.error.strip().splitlines()[-1]}
        seconds = [run["seconds"] for run in self.runs]
        return {
            "version": self.version,
            "best": min(seconds),
            "median": statistics.median(seconds),
            "spread": max(seconds) - min(seconds),
            "runs": len(seconds),
            "memory": max(run["memory"] for run in self.runs),
            "figures": self.runs[-1]["figures"],
        }


def adapters() -> dict[str, Any]:
    """Modules of benchmarks.rivals whose library is installed, by name."""
    found = {}
    for path in sorted((HERE / "rivals").glob("*.py")):
        if path.stem.startswith("_"):
            continue
        spec = importlib.util.spec_from_file_location(f"benchmarks.rivals.{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            importlib.metadata.version(module.PACKAGE)
        except ImportError:
            continue
        found[path.stem] = module
    return found


def compared(problem: Problem, ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What was compared of a rival's figures with ours, and how close it came; "not compared" where nothing was."""
    said = []
    for name, figure in theirs.items():
        if name not in ours:
            continue
        mine = ours[name]
        if isinstance(figure, str):
            said.append(f"{name} {'equal' if mine == figure else 'DIFFERENT'}")
        elif isinstance(figure, list):
            said.append(_rows(name, mine, figure))
        elif name == problem.lower:
            said.append(_number(name, mine, figure, problem.tolerance))
    return ", ".join(said) or "not compared"


def _rows(name: str, ours: list[Any], theirs: list[Any]) -> str:
    """How many labels are the same, or how far values are apart, in standard deviations of the rival's."""
    if len(ours) != len(theirs):
        return f"{name} DIFFERENT: {len(ours):,} of ours, {len(theirs):,} of theirs"
    if not any(isinstance(value, float) for value in theirs):
        equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
        return f"{equal:,} of {len(theirs):,} {name} equal"
    apart = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    return f"{name} within {apart / (statistics.pstdev(theirs) or 1.0):.1e} standard deviations"


def _number(name: str, ours: float, theirs: float, tolerance: float) -> str:
    """By how much ours is lower or higher, relative; in capitals where it is higher than the problem allows."""
    share = (ours - theirs) / abs(theirs) if theirs else ours - theirs
    size = f"{abs(share):.1e}" if abs(share) < 1e-3 else f"{number(100 * abs(share))} %"
    way = "lower" if share < 0 else "higher"
    beyond = not ours <= theirs + tolerance * abs(theirs)  # NaN is beyond
    if beyond:
        return f"{name} TOO HIGH: {ours:.8g} against {theirs:.8g}"
    return f"{name} {size} {way}" if share else f"{name} equal"


def measure(problem: Problem, rivals: list[str], patience: float, tell: Any) -> dict[str, Any]:
    """Results of one problem over all rivals, taking turns."""
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory() as loaded:
        for rival in rivals:
            tell(f"{problem.name}: loading for {rival}")
            workers.append(Worker(problem, rival, patience, loaded))
    try:
        for turn in range(problem.repeats):
            for worker in workers:
                if worker.error is None and not (turn > 0 and worker.runs[-1]["seconds"] > SLOW):
                    tell(f"{problem.name}: {worker.rival}, turn {turn + 1}")
                    worker.run()
    finally:
        for worker in workers:
            worker.close()
    solvers = {worker.rival: worker.summary() for worker in workers}
    ours = solvers[OURS]
    for rival, summary in solvers.items():
        if rival != OURS and "best" in summary and "best" in ours:
            summary["ratio"] = summary["best"] / ours["best"]
            summary["compared"] = compared(problem, ours["figures"], summary["figures"])
            summary["goal"] = problem.goals.get(rival)
    for summary in solvers.values():  # rows have been compared and are not kept
        if "figures" in summary:
            summary["figures"] = {k: v for k, v in summary["figures"].items() if not isinstance(v, list)}
    return {
        "problem": problem.name,
        "title": problem.title,
        "family": problem.family,
        "threads": problem.threads,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "solvers": solvers,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="names (or beginnings of names); all by default")
    parser.add_argument("--rivals", help="only these, comma-separated")
    parser.add_argument("--minutes", type=float, default=10, help="stop starting problems after this long")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds after which a rival is given up")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/speeds.json")
    options = parser.parse_args()
    console = Console()
    known = all_problems()
    chosen = [
        p for name, p in known.items() if not options.problems or any(name.startswith(w) for w in options.problems)
    ]
    if not chosen:
        sys.exit(f"no problem is called {' or '.join(options.problems)}; there are: {', '.join(known)}")
    modules = adapters()
    wanted = options.rivals.split(",") if options.rivals else list(modules)
    began = time.perf_counter()
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("benchmarks", total=len(chosen))
        for problem in chosen:
            if time.perf_counter() - began > options.minutes * 60:
                console.print(f"left out after {options.minutes:g} minutes: {problem.name} and what follows")
                break
            rivals = [r for r in modules if problem.name in modules[r].SOLVERS and (r in wanted or r == OURS)]
            results = measure(problem, rivals, options.patience, lambda text: progress.update(task, description=text))
            report(console, results)
            if options.keep:
                kept = json.loads(RESULTS.read_text()) | {problem.name: results}
                RESULTS.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
            progress.advance(task)


def report(console: Console, results: dict[str, Any]) -> None:
    """A line a solver."""
    console.print(f"[bold]{results['title']}[/bold]")
    for rival, summary in results["solvers"].items():
        if "error" in summary:
            console.print(f"  {rival:12} failed: {summary['error']}", style="red")
            continue
        line = f"  {rival:12} {summary['best']:9.4f} s  +- {summary['spread']:.4f}  {summary['memory']:7.0f} MB"
        if "ratio" in summary:
            goal = f" (goal {summary['goal']:g}x)" if summary["goal"] else ""
            line += f"  {summary['ratio']:6.2f}x{goal}  {summary['compared']}"
        figures = {k: v for k, v in summary["figures"].items() if not isinstance(v, str)}
        console.print(line, *(f"{k}={v:.8g}" for k, v in figures.items()), highlight=False)


if __name__ == "__main__":
    main()
