"""The tables of ``docs/scale.md`` and a plan for a cluster, both worked out from what `benchmarks.scale` has measured.

Nothing here is typed by hand but the cluster that is planned for and the bars. With one worker of one thread, at the
largest size at which a job was measured, it takes ``a`` seconds a character; on W workers it takes ``a N / (W e)`` for
N characters, where e is the efficiency of two workers against one. Between driver and workers go ``m0 + m1 W`` bytes,
whatever the size of the text: by the counts for one and two workers. The design takes as many bytes a character as it
did. Where other programs were running, CPU time stands for wall time, and the page says so.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallywise.plain_text import number

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "scale.md"
RESULTS = Path(__file__).parent / "results" / "scale"
BEGIN, END = "<!-- begin measured -->\n", "<!-- end measured -->\n"
TITLES = {"multinomial_nb": "naive Bayes", "logistic": "logistic regression", "scoring": "scoring"}
BAR = 1e-3  # share of the text that may go between driver and workers
ASKED = 8_000_000  # texts that the bars are for
QUIET = 0.05  # share of the machine that other programs may take


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

    @property
    def others(self) -> float:
        """The share of the machine that other programs took."""
        wall = sum(row["seconds"] for row in self.rows.values())
        return sum(row.get("other_cpu_seconds", 0.0) for row in self.rows.values()) / (wall * self.machine["cores"])

    @property
    def quiet(self) -> bool:
        """Whether wall times are those of the job alone."""
        return self.others <= QUIET

    def get(self, job: str, engine: str, workers: int, name: str = "seconds") -> float | None:
        """A figure, if it was measured."""
        row = self.rows.get((job, engine, workers))
        return None if row is None else row.get(name)

    def is_complete(self, job: str) -> bool:
        """Whether a job was measured in every way."""
        return all((job, *way) in self.rows for way in (("ray", 1), ("ray", 2), ("threads", 2)))

    def cost(self, job: str, engine: str, workers: int) -> float | None:
        """Wall time; where others were running the CPU time, as if the workers had shared it evenly."""
        if self.quiet:
            return self.get(job, engine, workers)
        used = self.get(job, engine, workers, "cpu_seconds")
        return None if used is None else used / workers

    def efficiency(self, job: str) -> float | None:
        """Of two Ray workers against one."""
        one, two = self.cost(job, "ray", 1), self.cost(job, "ray", 2)
        return None if one is None or two is None else one / (2 * two)

    def given(self, job: str) -> float | None:
        """The speed that a process keeps while another does the same beside it: what the machine gives to two."""
        one, two = self.get(job, "processes", 1), self.get(job, "processes", 2)
        return None if one is None or two is None or not self.quiet else one / two

    def overhead(self, job: str) -> float | None:
        """Of Ray against two threads of one process."""
        two, threads = self.cost(job, "ray", 2), self.cost(job, "threads", 2)
        return None if two is None or threads is None else two / threads - 1

    def room(self, job: str) -> float | None:
        """The largest memory of one of two workers, in designs of its share."""
        peak, design = (self.get(job, "ray", 2, name) for name in ("worker_bytes", "design_bytes"))
        return peak / design if peak and design else None

    def moved(self, job: str) -> tuple[float, float] | None:
        """Bytes that go once, and those that go for each worker."""
        one, two = (self.get(job, "ray", workers, "bytes_moved") for workers in (1, 2))
        return None if one is None or two is None else (2 * one - two, two - one)


def known() -> list[Measured]:
    """What has been measured, smallest first; what a quiet measurement of more texts has made worthless is left out."""
    found = sorted((Measured(json.loads(path.read_text())) for path in RESULTS.glob("*.json")), key=lambda m: m.texts)
    most = max((one.texts for one in found if one.quiet), default=0)
    return [one for one in found if one.quiet or one.texts > most]


# --- tables ---


def measured(one: Measured) -> str:
    """The figures of one size."""
    lines = [
        "| job | where | wall | texts per second | CPU | largest worker | its design | moved | of the text |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for job, title in TITLES.items():
        for engine, workers in (("threads", 2), ("ray", 1), ("ray", 2)):
            row = one.rows.get((job, engine, workers))
            if row is None:
                continue
            where = f"{workers} {'thread' if engine == 'threads' else 'Ray worker'}{'s' * (workers > 1)}"
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


def by_size(found: list[Measured]) -> str:
    """What two workers gain and what Ray costs, by the size of the text."""
    lines = [
        "| job | texts | efficiency of 2 workers | Ray against 2 threads | moved, of the text | memory, in designs |",
        "|---|---|---|---|---|---|",
    ]
    for job, title in TITLES.items():
        for one in found:
            e, over, room = one.efficiency(job), one.overhead(job), one.room(job)
            moved = one.get(job, "ray", 2, "bytes_moved")
            if over is None:
                continue
            cells = [
                "" if e is None else f"{e:.2f}",
                f"{100 * over:+.0f} %",
                "" if moved is None else f"{100 * moved / one.characters:.2f} %",
                "" if room is None else f"{room:.2f}",
            ]
            lines.append(f"| {title} | {one.texts:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def compared(found: list[Measured]) -> str:
    """Each figure beside its bar, at the largest size at which it was measured."""
    lines = []
    for job, title in TITLES.items():
        said = []
        for sentence in (_efficiency, _given, _overhead, _room, _share):
            one = next((one for one in reversed(found) if sentence(one, job)), None)
            if one is not None:
                said.append(f"{sentence(one, job)} at {one.texts:,} texts")
        if said:
            lines.append(f"- **{title[0].upper()}{title[1:]}**: {'; '.join(said)}.")
    return "\n".join(lines) + "\n"


def _efficiency(one: Measured, job: str) -> str:
    e = one.efficiency(job)
    if e is None:
        return ""
    return f"two workers of Ray are {2 * e:.2f} times as quick as one (efficiency {e:.2f}, {_held(e >= 0.9)} 0.9)"


def _given(one: Measured, job: str) -> str:
    share = one.given(job)
    if share is None:
        return ""
    return f"of two plain processes that do the same side by side each keeps {share:.2f} of its speed"


def _overhead(one: Measured, job: str) -> str:
    over = one.overhead(job)
    if over is None:
        return ""
    more = "more" if over > 0 else "less"
    return f"they take {abs(100 * over):.0f} % {more} time than two threads ({_held(over <= 0.15)} 15 % more)"


def _room(one: Measured, job: str) -> str:
    room = one.room(job)
    return "" if room is None else f"a worker holds {room:.2f} times its design ({_held(room <= 2)} 2)"


def _share(one: Measured, job: str) -> str:
    moved = one.get(job, "ray", 2, "bytes_moved")
    if not moved:
        return ""
    share, enough = moved / one.characters, _bytes(moved / BAR)
    bar = f"{100 * BAR:g} %"
    return f"what they move is {number(100 * share)} % of the text ({_held(share <= BAR)} {bar}; {bar} of {enough})"


def _held(met: bool) -> str:
    return "the bar is met:" if met else "the bar is missed:"


def largest(found: list[Measured], job: str) -> Measured | None:
    """The largest size at which a job was measured in every way."""
    return next((one for one in reversed(found) if one.is_complete(job)), None)


def break_even(few: Measured, found: list[Measured]) -> str:
    """The size from which workers are quicker than two threads here, and that from which they take 15 % more at most.

    A job on Ray takes f + c N: c by the rate of its workers, f what it takes longer with few texts.
    """
    lines = [
        "| job | Ray's own time | at most 15 % more from | 2 workers on this machine are quicker from "
        "| 4 elsewhere from | 32 elsewhere from |",
        "|---|---|---|---|---|---|",
    ]
    for job, title in TITLES.items():
        many = largest(found, job)
        small, local = few.get(job, "ray", 2), few.get(job, "threads", 2)
        if small is None or local is None or many is None or many is few:
            continue
        here, two, one = (many.get(job, *way) for way in (("threads", 2), ("ray", 2), ("ray", 1)))
        assert here is not None
        assert two is not None
        assert one is not None
        fixed = max(small - local, 0.0)
        cells = []
        for times, workers, seconds in ((1.15, 1, two), (1, 1, two), (1, 4, one), (1, 32, one)):
            # of a text: seconds that one process takes longer than the workers
            gain = times * (here - local) / many.texts - (seconds - fixed) / many.texts / workers
            cells.append(f"{_rounded(fixed / gain):,} texts" if gain > 0 else "no size")
        lines.append(f"| {title} | {fixed:.1f} s | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def plan(found: list[Measured], cluster: Cluster) -> str:
    """What the jobs would take on a cluster, and what ends first."""
    lines = [
        "| job | working | moved | on the network | together | memory of a machine |",
        "|---|---|---|---|---|---|",
    ]
    first: list[tuple[float, str]] = []
    for job, title in TITLES.items():
        one = largest(found, job)
        if one is None:
            continue
        seconds, e, moved = one.cost(job, "ray", 1), one.efficiency(job), one.moved(job)
        assert seconds is not None
        assert e is not None
        assert moved is not None
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
        f"Up to {many.texts:,} texts of {many.characters / many.texts:.0f} characters "
        f"({_bytes(many.characters)}; {_bytes(many.stored)} as Parquet) on {many.machine['processor']}, "
        f"{many.machine['cores']} cores. Each was drawn from sentences of 20 Newsgroups; terms and pairs of terms are "
        "hashed to 262,144 columns."
    )
    parts = [f"{about}\n"]
    busy = [one for one in found if not one.quiet]
    if busy:
        sizes = ", ".join(f"{one.texts:,} ({100 * one.others:.0f} %)" for one in busy)
        parts.append(
            f"**Not quiet**: other programs took much of the machine while these sizes were measured: {sizes}. "
            "Their wall times say little; efficiency, overhead and plan are worked out from CPU time instead, which "
            "leaves waiting out and has the CPU time of Ray's own processes in it.\n"
        )
    if many.texts < ASKED:
        parts.append(
            f"The bars are for {ASKED:,} texts. With fewer, much of the time and memory is that of starting workers, "
            "and what moves is much beside the text.\n"
        )
    for one in sorted({many, *filter(None, (largest(found, job) for job in TITLES))}, key=lambda one: -one.texts):
        parts += [f"{one.texts:,} texts:\n", measured(one)]
    parts += ["By the number of texts:\n", by_size(found), compared(found)]
    if few is not many and few.quiet and many.quiet:
        parts += ["Below these sizes one process with two threads is quicker:\n", break_even(few, found)]
    parts += [
        f"For {_bytes(cluster.characters)} of such texts on {cluster.machines} machines of {cluster.cores} cores, "
        f"{_bytes(cluster.memory)} and {8 * cluster.network / 1e9:.0f} Gbit/s, one worker a core, "
        "these figures give:\n",
        plan(found, cluster),
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
