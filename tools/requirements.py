"""Print what pyproject.toml asks for: `python tools/requirements.py test serve`; `build` is the build system's own."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
known = {"build": project["build-system"]["requires"], **project["project"]["optional-dependencies"]}
# A marker's spaces would be taken for the end of a requirement.
print(*dict.fromkeys(line.replace(" ", "") for name in sys.argv[1:] for line in known[name]))
