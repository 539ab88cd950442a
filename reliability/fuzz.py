"""Native code under libFuzzer with AddressSanitizer and UBSan: the targets of cpp/fuzz.

``python -m reliability.fuzz`` builds the targets, replays their corpora and fuzzes each for 20 s; ``--merge`` puts what
was found into the corpora, one small archive a target. Needs clang with its runtime (apt-get install clang).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reliability.results import Measured, ended

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "cpp" / "fuzz"
CORPORA = SOURCES / "corpora"
BUILD = ROOT / "build" / "fuzz"
RUNS, SECONDS = 20_000_000, 20
_FLAGS = [
    *"-std=c++20 -g -O1 -Icpp -pthread -fopenmp-simd -fno-math-errno -fno-trapping-math".split(),
    *"-Wall -Wextra -Werror -Wno-pass-failed".split(),  # at -O1 loops are not vectorised, as they ask for
    "-Wno-deprecated-declarations",  # in the headers of libstdc++ 12, by clang 22
]
_TOLD = 72  # how a fuzzer ends that got SIGTERM
# Where memory was allocated is said with four frames, and little freed memory is kept: a tenth of the time.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "malloc_context_size=4:quarantine_size_mb=8"}
_SANITIZED = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
_COVERED = ["-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping"]


def targets() -> list[str]:
    """Names of the targets."""
    return sorted(path.stem for path in SOURCES.glob("*.cpp"))


def tool(name: str) -> str | None:
    """A program of clang's, of the newest version installed."""
    versions = [f"{name}-{number}" for number in range(25, 12, -1)]
    return next(filter(None, map(shutil.which, [name, *versions])), None)


def build(target: str, flags: list[str], folder: str) -> Path:
    """Compile a target."""
    out = BUILD / folder / target
    out.parent.mkdir(parents=True, exist_ok=True)
    cached = [found] if (found := shutil.which("ccache")) else []
    compiler = tool("clang++")
    if compiler is None:
        msg = "Fuzzing needs clang: apt-get install clang"
        raise SystemExit(msg)
    piece = out.with_suffix(".o")
    source = str((SOURCES / f"{target}.cpp").relative_to(ROOT))
    subprocess.run([*cached, compiler, *_FLAGS, *flags, "-c", source, "-o", str(piece)], cwd=ROOT, check=True)
    subprocess.run([compiler, *_FLAGS, *flags, str(piece), "-o", str(out)], cwd=ROOT, check=True)
    return out


def unpacked(target: str) -> Path:
    """The folder of a target's corpus, with what its archive holds."""
    folder = BUILD / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    archive = CORPORA / f"{target}.zip"
    if archive.exists():
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
    return folder


def merge(target: str) -> int:
    """Put the least set of inputs with the coverage of all found into the archive; how many there are."""
    found = unpacked(target)
    least = BUILD / "least" / target
    shutil.rmtree(least, ignore_errors=True)
    least.mkdir(parents=True)
    program = build(target, _SANITIZED, "sanitized")
    subprocess.run([program, "-merge=1", "-max_len=600", least, found], check=True, capture_output=True)
    CORPORA.mkdir(exist_ok=True)
    with zipfile.ZipFile(CORPORA / f"{target}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(least.iterdir()):
            packed.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return len(list(least.iterdir()))


def fuzz(target: str, runs: int | None, seconds: float | None) -> tuple[int, list[str]]:
    """Executions, the corpus among them, and what was found."""
    program = build(target, _SANITIZED, "sanitized")
    crashes = BUILD / "crashes" / target
    crashes.mkdir(parents=True, exist_ok=True)
    # Weighing inputs by how rare their features are took half of the time where executions are short.
    limits = [
        "-timeout=25",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={crashes}/",
        "-entropic=0",
    ]
    limits += ["-max_len=600"]  # what reaches all of the code, as the corpora show
    limits += [] if runs is None else [f"-runs={runs}"]
    limits += [] if seconds is None else [f"-max_total_time={int(seconds)}"]
    done = subprocess.run(
        [program, *limits, unpacked(target)], capture_output=True, text=True, errors="replace", env=ENVIRONMENT
    )
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    wrong = [] if done.returncode in (0, _TOLD) else [f"{target}: {done.stderr[-3000:]}"]
    return int(executions.group(1)) if executions else 0, wrong


def meant(target: str) -> set[str]:
    """Headers of the core that a target is there for: those that its source includes itself."""
    return {*re.findall(r'#include "(core/[^"]+)"', (SOURCES / f"{target}.cpp").read_text())}


def coverage(target: str) -> tuple[int, int]:
    """Lines that the corpus executes of the headers that a target is there for, and all of theirs with code."""
    program = build(target, _COVERED, "covered")
    raw, data = program.with_suffix(".profraw"), program.with_suffix(".profdata")
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(raw)}
    subprocess.run([program, "-runs=0", unpacked(target)], env=environment, check=True, capture_output=True)
    profdata, cov = tool("llvm-profdata"), tool("llvm-cov")
    if profdata is None or cov is None:
        return 0, 0
    subprocess.run([profdata, "merge", "-sparse", raw, "-o", data], check=True)
    command = [cov, "export", "-format=lcov", f"-instr-profile={data}", program]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return lines_covered(lines, meant(target))


def lines_covered(report: str, headers: set[str]) -> tuple[int, int]:
    """Lines of some headers that were executed, and all of theirs with code, by a report in lcov's form.

    Examples
    --------
    >>> from reliability.fuzz import lines_covered
    >>> report = ["SF:/x/cpp/core/a.hpp", "DA:1,5", "DA:2,0", "end_of_record", "SF:/x/cpp/core/b.hpp", "DA:1,7"]
    >>> lines_covered(chr(10).join(report), {"core/a.hpp"})
    (1, 2)
    """
    covered = total = 0
    inside = False
    for line in report.splitlines():
        if line.startswith("SF:"):
            inside = line.rpartition("/cpp/")[2] in headers
        elif line.startswith("DA:") and inside:
            total += 1
            covered += not line.endswith(",0")
    return covered, total


def measure(full: bool, seconds: float | None = None, only: str = "") -> Iterator[Measured]:
    """Each target: 20 million executions with `full`, else its corpus and 20 s."""
    limit = seconds if full or seconds else SECONDS
    with ThreadPoolExecutor(1 if full else 2) as pool:  # hours of work leave a processor to others
        every = [only] if only else targets()
        for target, (executions, wrong) in zip(
            every, pool.map(lambda name: fuzz(name, RUNS if full else None, limit), every), strict=True
        ):
            figures = {"executions": executions}
            if full:
                covered, total = coverage(target)
                figures |= {"inputs kept": len(list(unpacked(target).iterdir()))}
                figures |= (
                    {f"% of {total:,} lines of what it is there for executed": round(100 * covered / total, 1)}
                    if total
                    else {}
                )
            yield Measured(
                f"fuzz-{target}",
                f"fuzzing: {title(target)}" + (ended(executions, RUNS) if full else ""),
                "no report of ASan or UBSan, no law of the target broken, 25 s and 2 GiB at most",
                figures,
                wrong,
                "python -m reliability.run fuzz --full",
            )


def title(target: str) -> str:
    """What a target says it does: the first sentence of its source."""
    lines = (SOURCES / f"{target}.cpp").read_text().split("\n")
    comment = " ".join(
        line.removeprefix("// ") for line in lines[: next(k for k, x in enumerate(lines) if x[:2] != "//")]
    )
    return comment[0].lower() + re.split(r"[:;.] ", comment[1:])[0].rstrip(".")


def main() -> None:
    """Short runs of some or all targets, for work on them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(targets())}")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--merge", action="store_true", help="keep what was found in the corpora")
    options = parser.parse_args()
    failed = False
    for target in options.targets or targets():
        executions, wrong = fuzz(target, None, options.seconds)
        print(f"{target}: {executions:,} executions, {'FAILED' if wrong else 'nothing found'}", flush=True)
        for text in wrong:
            print(text, file=sys.stderr)
        if options.merge and not wrong:
            print(f"{target}: {merge(target)} inputs kept")
        failed = failed or bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
