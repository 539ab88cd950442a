"""The layer rules of ARCHITECTURE.md (tools/layers.py), read off the sources."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from tallywise import _sklearn
from tests.places import ROOT, TESTS
from tools import layers
from tools.layers import LEVEL

PACKAGE = ROOT / "src" / "tallywise"
CORE = ROOT / "cpp" / "core"
# The folders of cpp/core from the bottom up, and the Python family that each serves. Sub-folders are parts of their
# folder; those of linear/ mirror the subpackages of tallywise.linear.
CORE_LAYERS = [
    {"base"},
    {"data"},
    {"text", "naive_bayes", "linear", "kernels", "neighbors", "topics", "trees"},
    {"reading", "serve", "spam"},
]
CORE_LEVEL = {name: level for level, names in enumerate(CORE_LAYERS) for name in names}


def part(module):
    """Top-level part of tallywise that a dotted name belongs to; None for the package itself."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else None


def imports():
    """Parts and the parts that they use: imports anywhere in a file, also those made when a name is used."""
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("__init__.pyi")]):
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if own == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module] if node.module != "tallywise" else [f"tallywise.{a.name}" for a in node.names]
            elif isinstance(node, ast.Constant) and re.fullmatch(r"tallywise(\.\w+)+", str(node.value)):
                names = [node.value] if part(node.value) in LEVEL else []  # of the beginning of a name
            for name in names:
                if name.split(".")[0] == "tallywise" and part(name) not in (None, "__version__", own):
                    yield path.relative_to(PACKAGE), own, part(name)


def test_every_part_has_a_layer_and_every_layer_is_there():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py"} | {
        path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()
    }
    assert parts - {"__init__"} == {*LEVEL} - {"_cpu"}
    assert {path.name for path in CORE.iterdir()} == set(CORE_LEVEL)


def test_a_layer_imports_only_layers_below_it_never_its_neighbours():
    upward = [f"{path} imports {used}" for path, own, used in imports() if not LEVEL[used] < LEVEL[own]]
    assert not upward


def test_the_picture_of_the_layers_is_that_of_the_table():
    text = layers.ARCHITECTURE.read_text()
    assert text == layers.with_picture(text), "python -m tools.layers writes it"


def test_every_file_that_the_architecture_names_is_there():
    paths = [
        f"/{path.relative_to(ROOT)}"
        for place in ("src", "cpp", "tests", "tools", "benchmarks")
        for path in (ROOT / place).rglob("*.*")
    ]
    named = re.findall(r"`([\w./]+\.(?:py|pyi|hpp|cpp))`", layers.ARCHITECTURE.read_text())
    assert len(named) > 50
    gone = [name for name in named if not any(path.endswith(f"/{name}") for path in paths)]
    assert not gone


def test_files_for_users_are_written_by_one_module():
    """`files.replacing` writes whole files or none, never over an input. The service writes into its own folder."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "files.py" or path.relative_to(PACKAGE).parts[0] == "serve":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            opened = name == "open" and any(re.fullmatch("[rwaxb+t]*[wax+][rwaxb+t]*", mode) for mode in modes)
            assert not opened, f"{path.name}:{node.lineno} opens a file to write"
            assert name not in ("write_text", "write_bytes", "savez"), f"{path.name}:{node.lineno} writes a file"


def test_the_command_uses_public_names_only():
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("tallywise"):
                continue
            if node.module.startswith("tallywise.cli"):
                continue
            private = [part for part in node.module.split(".") if part.startswith("_")]
            private += [alias.name for alias in node.names if alias.name.startswith("_")]
            assert not private, f"{path.name} reaches inside: {private}"
            home = importlib.import_module(node.module)
            public = {*home.__all__} if hasattr(home, "__all__") else {*vars(home)}
            for alias in node.names:
                assert alias.name in public, f"{path.name} uses {node.module}.{alias.name}, which is not public"


def core_includes():
    for path in sorted(CORE.rglob("*.hpp")):
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            yield path.relative_to(CORE), Path(name)


def test_the_core_includes_downward_and_families_never_sideways():
    for path, name in core_includes():
        own, used = path.parts[0], name.parts[1]
        assert name.parts[0] == "core", f"{path} includes {name} from outside the core"
        assert CORE_LEVEL[used] < CORE_LEVEL[own] or used == own, f"{path} includes {name}: not from below"


def core_namespace(path):
    """Namespace of a header of the core: one per folder, but what lies in base/ and data/ is of all of them."""
    parts = path.relative_to(CORE).parts[:-1]
    return "::".join(["tallywise", *(() if parts[0] in ("base", "data") else parts)])


def test_headers_of_the_core_are_in_the_namespace_of_their_folder():
    for path in sorted(CORE.rglob("*.hpp")):
        opened = re.findall(r"^namespace (tallywise[\w:]*) \{", path.read_text(), re.MULTILINE)
        own = core_namespace(path)
        assert all(name == own or name.startswith(f"{own}::") for name in opened), f"{path.name} opens {opened}"


def test_a_namespace_of_the_core_has_each_name_in_one_header():
    """Two classes of one name would be one to the linker, which keeps the functions of either."""
    homes, doubled = {}, []
    for path in sorted(CORE.rglob("*.hpp")):
        spaces = [core_namespace(path)]
        for line in path.read_text().splitlines():
            if opened := re.match(r"namespace (\w+) \{", line):
                spaces.append(opened[1])
            elif re.match(r"\}  // namespace \w+$", line) and len(spaces) > 1:
                spaces.pop()
            elif found := re.match(
                r"(?:struct|class|enum class|concept|using) (\w+)(?: final)?(?: :.*| =.*| \{.*)?$", line
            ):
                home = homes.setdefault(("::".join(spaces), found[1]), path)
                if home != path:
                    doubled.append(f"{found[1]}: {home.name}, {path.name}")
    assert len(homes) > 300
    assert not doubled


def test_parts_of_the_linear_core_know_what_they_share_but_not_each_other():
    for path, name in core_includes():
        if path.parts[0] != "linear" or name.parts[1] != "linear":
            continue
        part, used = path.parts[1:-1], name.parts[2:-1]
        assert used in ((), part), f"{path} includes {name}"


def test_the_parts_of_the_linear_core_are_those_of_the_package():
    parts = {path.name for path in (CORE / "linear").iterdir() if path.is_dir()}
    assert parts == {path.parent.name for path in (PACKAGE / "linear").glob("*/__init__.py")}


def test_private_names_of_scikit_learn_are_where_we_look_for_them():
    for name in _sklearn.HOMES:
        assert getattr(_sklearn, name) is not None


def test_private_names_of_scikit_learn_come_through_one_module():
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], f"{path.name}: {node.module}"


def test_the_serve_side_imports_neither_scikit_learn_nor_scipy():
    for path in [PACKAGE / "errors.py", *(PACKAGE / "models").glob("*.py"), *(PACKAGE / "reading").glob("*.py")]:
        found = re.search(r"^\s*(?:from|import) (?:sklearn|scipy)", path.read_text(), re.MULTILINE)
        assert not found, path.name


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


def test_no_test_imports_a_test():
    """What tests share is in modules beside them: a test file can be moved, or run alone."""
    for path in sorted(TESTS.rglob("*.py")):
        for line in path.read_text().splitlines():
            found = re.match(r"\s*(?:from|import)\s+(?:tests|\.)[\w.]*", line)
            assert not (found and re.search(r"(?:^|[. ])test_\w", line)), f"{path.name}: {line}"
