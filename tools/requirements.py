"""Print what pyproject.toml asks for: `python tools/requirements.py test`, or `build` for the build system's own."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
wanted = sys.argv[1]
print(
    *(project["build-system"]["requires"] if wanted == "build" else project["project"]["optional-dependencies"][wanted])
)
