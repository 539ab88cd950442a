"""Settings of the documentation site: ``make docs``; pages in docs/, the API from docstrings."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

import tallywise

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools import reference

project, author, release = "tallywise", "The tallywise developers", tallywise.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "index"
html_theme, html_title = "furo", f"tallywise {release}"
html_copy_source = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
autodoc_typehints = "none"  # numpydoc gives the types in words
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False
html_math_renderer = "mathml"  # browsers draw it themselves: no script, no fonts from elsewhere
suppress_warnings = ["ref.python"]  # an attribute of several classes is named without its class

exclude_patterns = ["README.md"]  # for readers of the folder in the repository


def write_reference(app: Any) -> None:
    """The pages made from the code."""
    reference.write()


def no_routing(app: Any, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Methods that scikit-learn adds to every estimator are not repeated on every page."""
    return True if re.fullmatch(r"(get|set)_(.*_request|metadata_routing|params)", name) else None


def plain_text(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Bars and trailing underscores in our docstrings are mathematics and names, not markup."""
    literal: int | None = None  # indentation above a literal block
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "...")):
            head, colon, rest = line.partition(" : ")
            if not colon:
                head, rest = "", line
            parts = re.split(r"(``.*?``|`.*?`)", rest)
            parts[::2] = [re.sub(r"(?<=\w)_(?=\W|$)", r"\_", part.replace("|", r"\|")) for part in parts[::2]]
            lines[k] = head + colon + "".join(parts)
        if literal is None and line.rstrip().endswith("::"):
            literal = indent


def formula(display: str) -> Any:
    """Writer of a node of mathematics as MathML."""

    def visit(writer: Any, node: Any) -> None:
        writer.body.append(convert(node.astext(), display=display))
        raise nodes.SkipNode

    return visit, None


def setup(app: Any) -> None:
    """Connect them; numpydoc reads docstrings after us."""
    app.add_html_math_renderer("mathml", formula("inline"), formula("block"))
    app.connect("autodoc-process-docstring", plain_text, priority=100)
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-skip-member", no_routing)
