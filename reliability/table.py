"""Write the table of docs/reliability.md from reliability/results/*.json: ``python -m reliability.table``."""

from pathlib import Path
from typing import Any

from reliability.results import Measured, kept

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: made by reliability/table.py -->", "<!-- end of figures -->"


def rows(found: list[dict[str, Any]]) -> list[str]:
    """Lines of a Markdown table, one a result."""
    lines = ["| what was done | what must hold | figures | breaches | measured |", "|---|---|---|---|---|"]
    for entry in found:
        row = Measured(entry["name"], entry["title"], entry["claim"], entry["figures"], entry["wrong"]).as_row()
        lines.append(f"{row} {entry['date']}, commit {entry['commit']}: `{entry['command']}` |")
    return lines


def page(text: str, found: list[dict[str, Any]]) -> str:
    """The page with the present table between its marks."""
    head, rest = text.split(BEGIN)
    return head + BEGIN + "\n" + "\n".join(rows(found)) + "\n" + END + rest.split(END)[1]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(), kept()))


if __name__ == "__main__":
    main()
