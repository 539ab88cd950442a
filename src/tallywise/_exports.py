"""Public names of a package that are imported when first used; its stub (``__init__.pyi``) is the one list of them."""

import importlib
import sys
from collections.abc import Callable
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package, file : str
        Its ``__name__`` and ``__file__``. Each line ``from home import name as name, ...`` of the stub beside the file
        gives names.
    """
    home_of: dict[str, str] = {}
    with open(f"{file.rpartition('.')[0]}.pyi", encoding="utf-8") as stub:
        for line in stub:
            if line.startswith("from "):
                _, home, _, names = line.split(" ", 3)
                home_of.update((name.split()[0], home) for name in names.split(","))

    def get(name: str) -> Any:
        if name not in home_of:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *home_of}), sorted(home_of)
