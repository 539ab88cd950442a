"""The layer rules of ARCHITECTURE.md, read off the sources."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tallywise"
FAMILIES = {"text", "naive_bayes", "linear", "kernel", "neighbors", "topics"}

# From the bottom up; a module may import from its own layer's package and from layers below.
LAYERS = [
    {"_cpu", "_native", "_native_baseline", "_native_v3"},
    {"_arrays", "_base", "_penalty", "_threads", "errors"},
    FAMILIES | {"kernels"},
    {"evaluation", "reading"},
    {"classifier", "model_file", "runtime"},
    {"serve", "spam", "scale"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def part(module):
    """Top-level part of tallywise that a dotted name belongs to; None for the package itself."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else None


def imports():
    for path in sorted(PACKAGE.rglob("*.py")):
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if own == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module] if node.module != "tallywise" else [f"tallywise.{a.name}" for a in node.names]
            for name in names:
                if name.split(".")[0] == "tallywise" and part(name) is not None:
                    yield path.relative_to(PACKAGE), own, part(name)


def test_every_part_has_a_layer():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py"} | {
        path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()
    }
    assert parts - {"__init__"} <= set(LEVEL)


def test_nothing_imports_upward_and_families_never_sideways():
    for path, own, used in imports():
        if used == own or used not in LEVEL:
            continue
        assert LEVEL[used] <= LEVEL[own], f"{path} imports {used} from a layer above"
        assert not (own in FAMILIES and used in FAMILIES), f"{path} imports its neighbour family {used}"


def test_the_serve_side_imports_neither_scikit_learn_nor_scipy():
    for name in ("model_file.py", "runtime.py", "errors.py"):
        path = PACKAGE / name
        if path.exists():
            assert not re.search(r"^\s*(?:from|import) (?:sklearn|scipy)", path.read_text(), re.MULTILINE), name


SOURCES = sorted((ROOT / "cpp").rglob("*.[hc]pp"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_native_sources_keep_to_their_side(path):
    text = path.read_text()
    place = path.relative_to(ROOT / "cpp").parts[0]
    if place != "bindings":
        assert "nanobind" not in text
        assert "Python.h" not in text
    if path.name != "parallel.hpp":
        assert not re.search(r"std::(?:jthread|thread|async)\b|#include <thread>|pragma omp parallel", text)
