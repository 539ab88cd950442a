"""Memory that the C library keeps after it was freed."""

import contextlib
import ctypes


def return_memory() -> None:
    """Give memory that is free back to the system, where the C library keeps it: half a gigabyte of a million texts."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # a library without the call, or none to be found
        ctypes.CDLL(None).malloc_trim(0)
