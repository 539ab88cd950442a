"""The tables of ``docs/scale.md`` and a plan for a cluster, both worked out from what `benchmarks.scale` has measured.

Nothing here is typed by hand but the cluster that is planned for. With one worker of one thread, at the largest size
that was measured, a job takes ``a`` seconds a character; on W workers it takes ``a N / (W e)`` for N characters, where
e is the efficiency of two workers against one. Between driver and workers go ``m0 + m1 W`` bytes, whatever the size of
the text: by the counts for one and two workers. The design takes as many bytes a character as it did.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "scale.md"
RESULTS = Path(__file__).parent / "results" / "scale"
BEGIN, END = "<!-- begin measured -->\n", "<!-- end measured -->\n"
TITLES = {"multinomial_nb": "naive Bayes", "logistic": "logistic regression", "scoring": "scoring"}
BAR = 1e-3  # share of the text that may go between driver and workers


@dataclass(frozen=True)
class Cluster:
    """What is planned for."""

    characters: float = 1e12
    machines: int = 32
    cores: int = 16
    memory: float = 128e9  # bytes a machine
    network: float = 1.25e9  # bytes a second into one machine: 10 Gbit/s

    @property
    def workers(self) -> int:
        """One a core."""
        return self.machines * self.cores


class Measured:
    """The figures of one size of text, by job, engine and workers."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.texts, self.characters, self.stored = found["texts"], found["characters"], found["stored"]
        self.machine = found["machine"]
        self.rows = {(row["job"], row["engine"], row["workers"]): row for row in found["rows"]}

    def get(self, job: str, engine: str, workers: int, name: str = "seconds") -> float | None:
        """A figure, if it was measured."""
        row = self.rows.get((job, engine, workers))
        return None if row is None else row.get(name)

    def efficiency(self, job: str) -> float | None:
        """Of two Ray workers against one."""
        one, two = self.get(job, "ray", 1), self.get(job, "ray", 2)
        return None if one is None or two is None else one / (2 * two)

    def overhead(self, job: str) -> float | None:
        """Of Ray against two threads of one process."""
        two, threads = self.get(job, "ray", 2), self.get(job, "threads", 2)
        return None if two is None or threads is None else two / threads - 1

    def moved(self, job: str) -> tuple[float, float] | None:
        """Bytes that go once, and those that go for each worker."""
        one, two = (self.get(job, "ray", workers, "bytes_moved") for workers in (1, 2))
        return None if one is None or two is None else (2 * one - two, two - one)


def known() -> list[Measured]:
    """What has been measured, smallest first."""
    found = [Measured(json.loads(path.read_text())) for path in RESULTS.glob("*.json")]
    return sorted(found, key=lambda one: one.texts)


# --- tables ---


def measured(one: Measured) -> str:
    """The figures of one size."""
    lines = [
        "| job | where | wall | texts per second | CPU | largest worker | its design | moved | of the text |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for job, title in TITLES.items():
        for engine, workers in (("threads", 1), ("threads", 2), ("ray", 1), ("ray", 2)):
            row = one.rows.get((job, engine, workers))
            if row is None:
                continue
            plural = "s" * (workers > 1)
            where = f"{workers} thread{plural}" if engine == "threads" else f"{workers} Ray worker{plural}"
            design = f"{row['design_bytes'] / 1e6:,.0f} MB" if row.get("design_bytes") else ""
            moved, share = "", ""
            if engine == "ray":
                moved = f"{row['bytes_moved'] / 1e6:,.1f} MB"
                share = f"{100 * row['bytes_moved'] / one.characters:.2f} %"
            lines.append(
                f"| {title} | {where} | {row['seconds']:.1f} s | {row['texts'] / row['seconds']:,.0f} "
                f"| {row['cpu_seconds']:.1f} s | {row['worker_bytes'] / 1e6:,.0f} MB | {design} | {moved} | {share} |"
            )
    return "\n".join(lines) + "\n"


def compared(one: Measured) -> str:
    """What two workers gain, and what Ray costs."""
    lines = []
    for job, title in TITLES.items():
        e, over, moved = one.efficiency(job), one.overhead(job), one.moved(job)
        said = []
        if e is not None:
            said.append(f"two workers of Ray are {2 * e:.2f} times as quick as one (efficiency {e:.2f})")
        if over is not None:
            said.append(f"they take {abs(100 * over):.0f} % {'more' if over > 0 else 'less'} time than two threads")
        if moved is not None:
            enough = (moved[0] + 2 * moved[1]) / BAR
            said.append(f"what they move is {100 * BAR:g} % of a text of {_bytes(enough)}")
        if said:
            lines.append(f"- **{title[0].upper()}{title[1:]}**: {'; '.join(said)}.")
    return "\n".join(lines) + "\n"


def break_even(few: Measured, many: Measured) -> str:
    """The size from which workers elsewhere are quicker than two threads here.

    A job on Ray takes f + c N: c by the rate of one worker, f what it takes with few texts, and the start of Ray.
    """
    lines = ["| job | Ray's own time | 4 workers are quicker from | 32 workers from |", "|---|---|---|---|"]
    for job, title in TITLES.items():
        small, here, there = few.get(job, "ray", 2), many.get(job, "threads", 2), many.get(job, "ray", 1)
        local = few.get(job, "threads", 2)
        if small is None or local is None or here is None or there is None:
            continue
        fixed = max(small - local, 0.0)
        cells = []
        for workers in (4, 32):
            # of a text: seconds that one process takes longer than the workers
            gain = (here - local) / many.texts - (there - fixed) / many.texts / workers
            cells.append(f"{_rounded(fixed / gain):,} texts" if gain > 0 else "never")
        lines.append(f"| {title} | {fixed:.1f} s | {cells[0]} | {cells[1]} |")
    return "\n".join(lines) + "\n"


def plan(one: Measured, cluster: Cluster) -> str:
    """What the jobs would take on a cluster, and what ends first."""
    lines = [
        "| job | working | moved | on the network | together | memory of a machine |",
        "|---|---|---|---|---|---|",
    ]
    first: list[tuple[float, str]] = []
    for job, title in TITLES.items():
        seconds, e, moved = one.get(job, "ray", 1), one.efficiency(job), one.moved(job)
        if seconds is None or e is None or moved is None:
            continue
        working = seconds / one.characters * cluster.characters / (cluster.workers * min(e, 1.0))
        # What goes to workers is sent once a machine; what comes from each comes to the driver.
        bytes_moved = max(moved[0], 0.0) * cluster.machines + max(moved[1], 0.0) * cluster.workers
        network = bytes_moved / cluster.network
        design = one.get(job, "ray", 1, "design_bytes") or 0
        memory = design / one.characters * cluster.characters / cluster.machines
        held = f"{_bytes(memory)} of {_bytes(cluster.memory)}" if memory else "pieces only"
        lines.append(
            f"| {title} | {_time(working)} "
            f"| {_bytes(bytes_moved)} ({100 * bytes_moved / cluster.characters:.3f} % of the text) "
            f"| {_time(network)} | {_time(working + network)} | {held} |"
        )
        first.append((memory / cluster.memory, f"the memory of the machines: {title} keeps its design there"))
        first.append((network / working, f"the network into the driver, by the sums of {title}"))
    if not first:
        return ""
    worst, what = max(first)
    memory_ratio = max(ratio for ratio, name in first if name.startswith("the memory"))
    needed = -(-cluster.machines * memory_ratio // 1)
    said = [
        f"What would break first: {what} ({worst:.1f} times what there is)."
        if worst > 1
        else f"Nothing is beyond what there is; nearest to its end is {what} ({100 * worst:.0f} %)."
    ]
    if memory_ratio > 1:
        said.append(
            f"The design of logistic regression would need {needed:,.0f} such machines, or fewer terms a text "
            "(`--ngrams 1`)."
        )
    return "\n".join(lines) + "\n\n" + " ".join(said) + "\n"


def page() -> str:
    """All that stands between the markers."""
    found = known()
    if not found:
        return "Nothing has been measured.\n"
    cluster, many, few = Cluster(), found[-1], found[0]
    about = (
        f"{many.texts:,} texts of {many.characters / many.texts:.0f} characters "
        f"({_bytes(many.characters)}; {_bytes(many.stored)} as Parquet) on {many.machine['processor']}, "
        f"{many.machine['cores']} cores"
    )
    parts = [f"{about}:\n", measured(many), compared(many)]
    if few is not many:
        parts += ["With few texts, the time is Ray's own:\n", break_even(few, many)]
    parts += [
        f"For {_bytes(cluster.characters)} of such texts on {cluster.machines} machines of {cluster.cores} cores, "
        f"{_bytes(cluster.memory)} and {8 * cluster.network / 1e9:.0f} Gbit/s, one worker a core, "
        "these figures give:\n",
        plan(many, cluster),
    ]
    return "\n".join(parts)


def write_docs() -> None:
    """Put it all into its place in the documentation."""
    text = DOCS.read_text()
    before, rest = text.split(BEGIN)
    DOCS.write_text(before + BEGIN + page() + END + rest.split(END)[1])


def _bytes(n: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}" if n < 1e3 * size else f"{n / size:,.0f} {unit}"
    return f"{n:.0f} bytes"


def _time(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.1f} s"


def _rounded(n: float) -> int:
    """To two digits."""
    return int(float(f"{n:.1e}"))
