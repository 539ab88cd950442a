"""The native module, in the widest build that this processor runs.

``TALLYWISE_LEVEL=baseline`` asks for a narrower one, for comparing the two.
"""

import importlib
import os
import sys

from tallywise._cpu import levels


def _choose() -> str:
    wanted = os.environ.get("TALLYWISE_LEVEL")
    if wanted is None:
        return levels()[0]
    if wanted not in levels():
        msg = f"TALLYWISE_LEVEL must be one of {levels()} on this processor. Got {wanted!r}."
        raise ImportError(msg)
    return wanted


sys.modules[__name__] = importlib.import_module(f"tallywise._native_{_choose()}")
