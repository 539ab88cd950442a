"""One rival at work on one problem, in a process of its own; the runner says when. JSON lines in and out.

A process a rival keeps thread settings apart and makes peak memory mean something; the runner takes turns between the
processes, so that a slow moment of the machine hits all rivals alike.
"""

import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import pickle
import resource
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from benchmarks.problems import Problem, all_problems


def _peak() -> float:
    """Most memory ever resident, in MB, since the kernel's counter was last cleared."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _clear_peak() -> None:
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")


def _load(problem: Problem) -> Any:
    """The problem's data; the first process of a run leaves it for its rivals, whose reading would outlast the fits."""
    folder = os.environ.get("BENCHMARKS_LOADED")
    if folder is None:
        return problem.load()
    stored = Path(folder) / f"{problem.name}.pickle"
    if stored.exists():
        return pickle.loads(stored.read_bytes())
    data = problem.load()
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):  # then every rival loads for itself
        stored.write_bytes(pickle.dumps(data, protocol=5))
    return data


def main() -> None:
    """Serve `run` requests for the problem and rival named on the command line."""
    name, rival, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not reach the runner's pipe
    warnings.simplefilter("ignore")

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        problem = all_problems()[name]
        adapter = importlib.import_module(f"benchmarks.rivals.{rival}")
        data = _load(problem)
        call = adapter.SOLVERS[name](data, threads)
        say({"ready": True, "version": importlib.metadata.version(adapter.PACKAGE)})
        for _ in sys.stdin:
            gc.collect()
            _clear_peak()
            before = _peak()
            began = time.perf_counter()
            result = call()
            seconds = time.perf_counter() - began
            memory = _peak() - before
            say({"seconds": seconds, "memory": memory, "figures": problem.check(data, result)})
            del result
    except Exception:
        say({"error": traceback.format_exc(limit=4)})


if __name__ == "__main__":
    main()
