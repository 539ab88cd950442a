"""The native module, in the widest build that is here and that this processor runs.

A wheel holds one for every instruction set; a build from source, only this machine's (see the Makefile).
``TALLYWISE_LEVEL=baseline`` asks for a certain one.
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
        msg = f"No build of tallywise for {wanted or 'this processor'} is here. Built, and able to run: {built}."
        raise ImportError(msg)
    return wanted


sys.modules[__name__] = importlib.import_module(f"tallywise._native_{_choose()}")
