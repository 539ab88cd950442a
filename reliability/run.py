"""Measure what is promised: ``python -m reliability.run [NAME[/PART] ...] [--full] [--seconds N] [--keep]``.

A measurement is a module of this package with ``measure(full, seconds) -> iterator of Measured``; one that has several
rows takes the name of one: ``fuzz/arrow``, ``kills/http``. Short by default, `--full` for the figures; `--keep` writes
them to reliability/results, where `reliability.table` finds them. SIGTERM ends it with the figures it has.
"""

import argparse
import importlib
import sys

from reliability.results import Limit, end_when_told, shown

MEASUREMENTS: tuple[str, ...] = (
    "coverage",
    *("fuzz", "readers", "spreadsheets", "model_files", "bridge_files", "outputs", "determinism", "calls", "power"),
    *("states", "threads", "processes", "clients", "load", "kills", "stores", "mail", "attacks"),
)


def main() -> None:
    """Run the measurements; exit with 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MEASUREMENTS)}; all by default")
    parser.add_argument("--full", action="store_true", help="as many as the published figures")
    parser.add_argument("--seconds", type=float, help="end each measurement after about so long")
    parser.add_argument("--keep", action="store_true", help="write reliability/results/*.json")
    options = parser.parse_args()
    if unknown := sorted({name.partition("/")[0] for name in options.names} - {*MEASUREMENTS}):
        parser.error(f"there is no measurement {', '.join(unknown)}. Known: {', '.join(MEASUREMENTS)}")
    failed = False
    end_when_told()
    for given in options.names or MEASUREMENTS:
        if Limit.told:
            break
        name, _, part = given.partition("/")
        only = {"only": part} if part else {}
        for found in importlib.import_module(f"reliability.{name}").measure(options.full, options.seconds, **only):
            print(f"{found.name}: {shown(found.figures)}; {len(found.wrong)} wrong", flush=True)
            for line in found.wrong[:20]:
                print(f"  {line}", file=sys.stderr)
            failed = failed or bool(found.wrong)
            if options.keep:
                found.keep()
    sys.exit(failed)


if __name__ == "__main__":
    main()
