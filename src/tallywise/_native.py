"""The native module: the build for the widest instruction set that is installed and that this processor supports.

A wheel holds a build for each instruction set; an installation from source, only this machine's (see the Makefile).
``TALLYWISE_LEVEL=baseline`` chooses one.
"""

import importlib
import importlib.util
import os
import sys

from tallywise._cpu import levels


def _choose() -> str:
    built = [level for level in levels() if importlib.util.find_spec(f"tallywise._native_{level}") is not None]
    wanted = os.environ.get("TALLYWISE_LEVEL")
    if wanted is None and built:
        return built[0]
    if wanted not in built:
        msg = f"No build of tallywise for {wanted or 'this processor'} is installed. Installed and supported: {built}."
        raise ImportError(msg)
    return wanted


sys.modules[__name__] = importlib.import_module(f"tallywise._native_{_choose()}")
