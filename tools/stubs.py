"""Write src/tallywise/_native.pyi from the built module; `--check` only says whether it is up to date."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tallywise._native import level

STUB = Path(__file__).parent.parent / "src" / "tallywise" / "_native.pyi"


def generate() -> str:
    """Text of the stub that the built module asks for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "_native.pyi"
        module = f"tallywise._native_{level}"
        subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", module, "-o", path], check=True)
        return path.read_text().replace(f"_native_{level}", "_native").replace(f"'{level}'", "...")


if __name__ == "__main__":
    if "--check" not in sys.argv:
        STUB.write_text(generate())
    elif STUB.read_text() != generate():
        sys.exit("src/tallywise/_native.pyi is out of date: run `make stubs`")
