"""Write the lists of public names in src/tallywise/__init__.py from the ``__all__`` of the modules they live in."""

import importlib
from pathlib import Path

INIT = Path(__file__).parent.parent / "src" / "tallywise" / "__init__.py"
WHOLE = ["errors", "kernels", "linear", "naive_bayes", "neighbors", "text", "topics"]
CHOSEN = {
    "classifier": ["MultiLabelTextClassifier", "TextClassifier"],
    "evaluation": ["compare"],
    "models.label_set_serving": ["MultiLabelTextModel"],
    "models.loading": ["load"],
    "models.text_serving": ["TextModel"],
    "patching": ["patch_sklearn", "unpatch_sklearn"],
    "table": ["TableModel", "TableRuntime"],
}


def homes() -> dict[str, list[str]]:
    """Public names by module."""
    found = dict(CHOSEN)
    for name in WHOLE:
        module = importlib.import_module(f"tallywise.{name}")
        own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        names = getattr(module, "__all__", own)
        if name == "kernels":  # a kernel is named with its module, kernels.Linear; what learns with it is not
            names = [key for key in names if hasattr(getattr(module, key), "fit")]
        found[name] = sorted(names)
    return dict(sorted(found.items()))


def main() -> None:
    """Rewrite between the marks."""
    text = INIT.read_text()
    found = homes()
    table = "".join(f'    "tallywise.{home}": {names!r},\n' for home, names in found.items())
    imports = "".join(f"    from tallywise.{home} import {', '.join(names)}\n" for home, names in found.items())
    every = "".join(f'    "{name}",\n' for name in sorted(name for names in found.values() for name in names))
    for begin, end, body in (
        ("_HOMES = {\n", "}\n_HOME_OF", table),
        ("if TYPE_CHECKING:\n", "\n__all__", imports),
        ("__all__ = [\n", "]\n\n\ndef __getattr__", every),
    ):
        head, rest = text.split(begin, 1)
        text = head + begin + body + end + rest.split(end, 1)[1]
    INIT.write_text(text)


if __name__ == "__main__":
    main()
