"""Make the tables of speeds from benchmarks/results/speeds.json: ``python -m benchmarks.speed_tables``.

All of them go to docs/speeds.md, five, against scikit-learn alone, to README.md; both keep what is outside the marks.
"""

import json
from pathlib import Path
from typing import Any

from tallywise.plain_text import number

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PAGE = HERE.parent / "docs" / "speeds.md"
# Of the README, with what a reader calls them.
SHOWN = {
    "text-bigrams": "count words and pairs of words, 22 MB of text",
    "logistic-news": "logistic regression, 20 classes, tf-idf of 20 Newsgroups",
    "linear-svc-newsgroups": "linear SVM, 20 classes, the same texts",
    "svc-a9a": "SVM with a Gaussian kernel, 32,561 rows",
    "knn-mnist": "5 nearest neighbours, 10,000 queries on 60,000 images",
}
BEGIN, END = "<!-- speeds: made by benchmarks/speed_tables.py -->", "<!-- end of speeds -->"


def results() -> list[dict[str, Any]]:
    """Every kept result, by family."""
    found = json.loads((HERE / "results" / "speeds.json").read_text())
    return sorted(found.values(), key=lambda result: (result["family"], result["problem"]))


def duration(seconds: float) -> str:
    """Seconds with a fitting unit."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{number(seconds * 1000, 3)} ms"


def comparison(rivals: list[tuple[float, str, dict[str, Any]]]) -> str:
    """What was compared with each rival; said once where it is the same for all."""
    said = {name: s.get("compared", "not compared") for _, name, s in rivals}
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{name}: {text}" for name, text in said.items())


def rows(found: list[dict[str, Any]]) -> list[str]:
    """Lines of a Markdown table, the rivals of a problem in one cell, the fastest first."""
    lines = ["| problem | tallywise | against | our answer, compared with theirs |", "|---|---|---|---|"]
    for result in found:
        ours = result["solvers"].get("tallywise", {})
        rivals = [(s["ratio"], name, s) for name, s in result["solvers"].items() if "ratio" in s]
        if "best" not in ours or not rivals:
            continue
        against = ", ".join(f"{name} {s['version']} **{ratio:.3g}x**" for ratio, name, s in sorted(rivals))
        lines.append(f"| {result['title']} | {duration(ours['best'])} | {against} | {comparison(sorted(rivals))} |")
    return lines


def summary(found: list[dict[str, Any]]) -> list[str]:
    """Lines of the README's table."""
    solvers = {result["problem"]: result["solvers"] for result in found}
    lines = ["| task | tallywise | scikit-learn over tallywise |", "|---|---|---|"]
    for name, title in SHOWN.items():
        ratio = solvers[name]["sklearn"]["ratio"]
        lines.append(f"| {title} | {duration(solvers[name]['tallywise']['best'])} | {ratio:.2g}x |")
    return lines


def write_between(path: Path, begin: str, end: str, lines: list[str]) -> None:
    """Put lines between two marks of a file, in place of what is there."""
    head, rest = path.read_text().split(begin)
    tail = rest.split(end)[1]
    path.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + tail)


def main() -> None:
    """Write the page and the README between their marks."""
    found = results()
    machine = found[0]["machine"] if found else ""
    note = (
        f"Two threads on {machine}; times of the rival over ours, best of several turns in one run. The last column "
        "says what was compared: an objective, a perplexity or a sum of distances is better when lower."
    )
    write_between(PAGE, BEGIN, END, [note, "", *rows(found)])
    write_between(README, BEGIN, END, summary(found))


if __name__ == "__main__":
    main()
