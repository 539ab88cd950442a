"""Write src/tallywise/__init__.pyi, the list of public names, from the ``__all__`` of the modules they live in."""

import importlib
from pathlib import Path

STUB = Path(__file__).parent.parent / "src" / "tallywise" / "__init__.pyi"
WHOLE = ["errors", "kernels", "linear", "naive_bayes", "neighbors", "text", "topics"]
CHOSEN = {
    "text_model": ["MultiLabelTextClassifier", "TextClassifier"],
    "evaluation": ["compare"],
    "models.label_set_serving": ["MultiLabelTextModel"],
    "models.loading": ["load"],
    "models.table_serving": ["TableRuntime"],
    "models.text_serving": ["TextModel"],
    "reading": ["open_data"],
    "training": ["Trained", "train"],
    "patching": ["patch_sklearn", "unpatch_sklearn"],
    "table_model": ["TableModel"],
}
HEADER = "# Public names and their homes, which tallywise/_exports.py reads; written by python -m tools.exports.\n"


def homes() -> dict[str, list[str]]:
    """Public names by module."""
    found = dict(CHOSEN)
    for name in WHOLE:
        module = importlib.import_module(f"tallywise.{name}")
        names = module.__all__
        if name == "kernels":  # a kernel is named with its module, kernels.Linear; what learns with it is not
            names = [key for key in names if hasattr(getattr(module, key), "fit")]
        found[name] = sorted(names)
    return dict(sorted(found.items()))


def stub() -> str:
    """The stub: one import per home."""
    lines = [HEADER, "__version__: str\n__all__: list[str]\n\n"]
    for home, names in homes().items():
        lines.append(f"from tallywise.{home} import {', '.join(f'{name} as {name}' for name in names)}\n")
    return "".join(lines)


if __name__ == "__main__":
    STUB.write_text(stub())
