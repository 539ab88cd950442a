"""Compile the core without linking it: `python -m tools.compile_check clang++-22 --headers`.

Each source on its own: the module, the native tests and the fuzz targets; with --headers each header on its own too,
which shows those that rely on what another one includes. A compiler may be several words, and for another system:
`"python -m ziglang c++ -target aarch64-macos"`. Warnings of sources are errors.
"""

import argparse
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLAGS = ("-std=c++20", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math")
WARNINGS = ("-Wall", "-Wextra", "-Werror")  # of sources: a header alone has functions that nobody calls
# clang's own: what libstdc++ 12 has in its headers, and a pragma in a header that is compiled alone.
CLANG_FLAGS = ("-Wno-deprecated-declarations", "-Wno-pragma-once-outside-header")


def sources(headers: bool) -> Iterator[Path]:
    """What is compiled: sources of all parts, and headers where asked for."""
    yield from sorted((ROOT / "cpp").glob("*/*.cpp"))
    if headers:
        yield from sorted((ROOT / "cpp").rglob("*.hpp"))


def command(compiler: list[str], source: Path, scratch: str) -> list[str]:
    """The command that checks a source: syntax and templates, no code. zig always writes objects."""
    import nanobind

    zig, gcc = "ziglang" in compiler, "g++" in compiler[0] and "clang" not in compiler[0]
    includes = [ROOT / "cpp", nanobind.include_dir(), sysconfig.get_paths()["include"]]
    return [
        *compiler,
        *FLAGS,
        *(() if gcc else CLANG_FLAGS),
        *(f"-I{path}" for path in includes),
        "-DTALLYWISE_MODULE=_native_checked",
        '-DTALLYWISE_LEVEL="checked"',
        *(("-c", "-O0", "-o", f"{scratch}/{'-'.join(source.parts[-3:])}.o") if zig else ("-fsyntax-only",)),
        *(("-x", "c++") if source.suffix == ".hpp" else WARNINGS),
        str(source),
    ]


def main() -> int:
    """Print what each compiler says of the sources that it refuses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compilers", nargs="+")
    parser.add_argument("--headers", action="store_true", help="each header on its own, too")
    parser.add_argument("--only", default="", help="only sources with this in their path")
    asked = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        for compiler in asked.compilers:
            words = shlex.split(compiler)

            def check(source: Path, words: list[str] = words) -> tuple[Path, subprocess.CompletedProcess[str]]:
                asked_for = command(words, source, scratch)
                return source, subprocess.run(asked_for, capture_output=True, text=True, check=False)

            which = [source for source in sources(asked.headers) if asked.only in str(source)]
            for source, done in pool.map(check, which):
                if done.returncode != 0:
                    failed += 1
                    print(f"{compiler}: {source.relative_to(ROOT)}\n{done.stderr}", file=sys.stderr)
            print(f"{compiler}: {len(which)} files")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
