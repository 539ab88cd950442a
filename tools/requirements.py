"""Print what pyproject.toml asks for: `python tools/requirements.py test serve`.

`build` is the build system's own, `package` what the package itself needs.
"""

import sys
import tomllib
from pathlib import Path


def wanted(*names: str) -> list[str]:
    """Requirements of these extras, each once, without spaces: the shell takes a space for the end of a requirement."""
    asked = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    project = asked["project"]
    known = {
        "build": asked["build-system"]["requires"],
        "package": project["dependencies"],
        **project["optional-dependencies"],
    }
    return list(dict.fromkeys(line.replace(" ", "") for name in names for line in known[name]))


if __name__ == "__main__":
    print(*wanted(*sys.argv[1:]))
