"""Instruction sets that the native module is built for here and that this processor runs, widest first.

``python -m tools.levels [--narrower]``: all of them, or all but the one that `import tallywise` takes.
"""

import sys
from importlib.util import find_spec

from tallywise._cpu import levels


def built_levels() -> list[str]:
    """Those of the processor's levels that are built."""
    return [level for level in levels() if find_spec(f"tallywise._native_{level}") is not None]


if __name__ == "__main__":
    print(*built_levels()["--narrower" in sys.argv[1:] :])
