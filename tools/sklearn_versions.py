"""Check the oldest and the newest scikit-learn that we claim to work with: ``python -m tools.sklearn_versions``.

Each goes into a folder of its own under build/, without its dependencies, and in front of the installed one. With it,
every private name in `tallywise._sklearn` must be found, and the examples in the docstrings of the six families must
run.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FAMILIES = ("text", "naive_bayes", "linear", "kernels", "neighbors", "topics")
LOOK_UP = """
import sys, sklearn
from tallywise import _sklearn
assert sklearn.__file__.startswith(sys.argv[1]), sklearn.__file__
for name in _sklearn.HOMES:
    getattr(_sklearn, name)
print(f"scikit-learn {sklearn.__version__}: {len(_sklearn.HOMES)} private names found")
"""


def claimed() -> tuple[str, str]:
    """Requirements of the oldest and the newest version."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found = next(
        re.fullmatch(r"scikit-learn>=([\d.]+)(.*)", line) for line in listed if line.startswith("scikit-learn")
    )
    assert found is not None
    oldest = found[1] + ".0" * (2 - found[1].count("."))
    return f"scikit-learn=={oldest}", f"scikit-learn{found[2]}"


def main() -> None:
    """Install both beside each other, and try them."""
    for label, requirement in zip(("oldest", "newest"), claimed(), strict=True):
        folder = ROOT / "build" / f"scikit-learn-{label}"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--upgrade", "--target", str(folder), requirement], check=True)
        env = os.environ | {"PYTHONPATH": str(folder)}
        subprocess.run([sys.executable, "-c", LOOK_UP, str(folder)], check=True, env=env)
        examples = [str(ROOT / "src" / "tallywise" / family) for family in FAMILIES]
        options = ["-q", "-n", "2", "-p", "no:cacheprovider"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *examples], check=True, env=env, cwd=ROOT)


if __name__ == "__main__":
    main()
