"""The layers of src/tallywise: the table that the tests check imports by, and the picture of it in ARCHITECTURE.md."""

import re
from pathlib import Path
from typing import NamedTuple

ARCHITECTURE = Path(__file__).parent.parent / "ARCHITECTURE.md"
FAMILIES = ("text", "naive_bayes", "linear", "kernels", "neighbors", "topics")


class Layer(NamedTuple):
    """Parts that import parts of the layers below alone, never each other."""

    packages: tuple[str, ...]
    modules: tuple[str, ...]
    meaning: str


# From the top down.
LAYERS = (
    Layer(("cli",), (), "one file per command: reads options, calls the library, prints"),
    Layer(("training",), (), "one call from data to a model, its summary and its report, whatever the data are"),
    Layer(
        ("serve", "spam", "scale"),
        (),
        "applications: HTTP service and workbench; mail filter; models from shards, on threads or on Ray",
    ),
    Layer(
        ("table_model",),
        ("installation", "patching"),
        "table models; `tally doctor`; our classes as scikit-learn's",
    ),
    Layer(("text_model", "bridges"), (), "text models; other programs' model files, pipelines, ONNX"),
    Layer(
        ("selection", "report"),
        (),
        "candidates on the same folds -> their weighted sum, calibrated on held-out rows; report page and plots",
    ),
    Layer(
        ("models",),
        (),
        "what is saved and served, NumPy only: the file, text, label-set and table models, kind -> reader",
    ),
    Layer(FAMILIES, (), "the six families"),
    Layer(
        ("evaluation", "reading"),
        (),
        "splits, metrics, intervals, comparison; any file or frame -> texts and columns",
    ),
    Layer((), ("_sqlite",), "SQLite files: of one application, private, in whole transactions"),
    Layer((), ("_base", "_private_files"), "the base class of estimators; files that their owner alone reads"),
    Layer((), ("files", "_stopping"), "files written whole or not at all; work that stops when it is not wanted"),
    Layer(
        (),
        (
            *("errors", "_allocator", "_arrays", "_byte_budget", "_highlight"),
            *("_penalty", "_prometheus", "_sklearn", "_threads", "plain_text"),
        ),
        "errors; user input -> validated arrays; penalties, threads, scikit-learn's private names; metrics",
    ),
    Layer(
        (), ("_native", "_certificate", "_exports"), "the C++ core (cpp/bindings -> cpp/core); certificates; lazy names"
    ),
    Layer(
        (),
        ("_cpu", "_lazy", "_separation"),
        "what the processor can run; attributes made when first read; separated classes",
    ),
)
LEVEL = {name: -height for height, layer in enumerate(LAYERS) for name in (*layer.packages, *layer.modules)}
_WIDTH = 39


def picture() -> str:
    """The layers as ARCHITECTURE.md shows them."""
    lines = []
    for layer in LAYERS:
        names = " ".join([*(f"{name}/" for name in layer.packages), *(f"{name}.py" for name in layer.modules)])
        if len(names) < _WIDTH:
            lines.append(f"{names:<{_WIDTH}}{layer.meaning}")
        else:
            lines += [names, " " * _WIDTH + layer.meaning]
    return "```\n" + "\n".join(lines) + "\n```\n"


def with_picture(text: str) -> str:
    """ARCHITECTURE.md with this picture: its first block of code."""
    return re.sub(r"```\n.*?\n```\n", lambda _: picture(), text, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    ARCHITECTURE.write_text(with_picture(ARCHITECTURE.read_text()))
