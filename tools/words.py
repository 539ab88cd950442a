"""Check the words of the documentation: ``python -m tools.words`` fails where a page has a word that we do not use.

Pages are checked for spelling (codespell) and for private words and patterns, each with what to write instead;
``--report`` lists words per sentence by page, the longest first. Developers' notes and the changelog are only reported.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPORTED = ("docs/dev/", "docs/api/", "CHANGELOG.md")
ITEMS = "row|column|label|class|text|byte|bit|entry|score|weight|vector|line|term|topic|fold|shard"
INSTEAD = {
    r"verdicts?": "prediction",
    r"commonest": "majority, most frequent",
    r"(to|of) those who": "who; whoever",
    r"(without|but for|by the|mere) luck": "within one standard error; by chance",
    r"remember(s|ed|ing)? rows|rows (to )?remember": "store training rows",
    r"(rows|texts|messages) (that were )?not seen": "held-out rows",
    r"mend(ed|s)?": "fix",
    r"beyond doubt|be it": "plain words",
    rf"(one|two|a) ({ITEMS}) an? ({ITEMS})": "one X per Y",
    r"\d(\.\d+)?e\+\d+ ?(%|ms|s|MB)": "the number written out",
    r"(Gaussian|kernel|linear) machines?": "SVM",
}
SPELLED = "foldin,hart,nd,coo,sie,alle,tre,bord,calle,caf,foto,womens,numer,ans,te"  # names, and other languages


def pages() -> list[Path]:
    """Pages under version control."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\n") if name and (ROOT / name).is_file()]


def prose(text: str) -> str:
    """A page without code, tables' rules and marks; as many lines as before."""
    blank = lambda found: "\n" * found.group(0).count("\n")  # noqa: E731
    text = re.sub(r"^```.*?^```$|^\$\$$.*?^\$\$$|<!--.*?-->", blank, text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`|\$[^$\n]*\$|\]\([^)]*\)", " x ", text)


def private(text: str) -> Iterator[tuple[int, str, str]]:
    """Lines of a page with a word that we do not use: number, word, what to write instead."""
    for number, line in enumerate(prose(text).split("\n"), 1):
        for pattern, instead in INSTEAD.items():
            for found in re.finditer(rf"(?<!\w)({pattern})(?!\w)", line, re.I):
                yield number, found.group(0), instead


def sentence_lengths(text: str) -> list[int]:
    """Words of each sentence of a page, without tables and headings."""
    lengths = []
    plain = re.sub(r"^[|#].*$", "\n", prose(text), flags=re.M)
    for block in re.split(r"\n\s*\n|^\s*[-*] ", plain, flags=re.M):
        for sentence in re.split(r"(?<=[.!?:;])\s+", " ".join(block.split())):
            words = re.findall(r"[\w'-]+", sentence)
            lengths += [len(words)] if len(words) > 2 else []
    return lengths


def main() -> None:
    """Check, or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="words per sentence by page")
    if parser.parse_args().report:
        found = {page: lengths for page in pages() if (lengths := sentence_lengths(page.read_text()))}
        for page, lengths in sorted(found.items(), key=lambda one: -sum(one[1]) / len(one[1])):
            print(f"{sum(lengths) / len(lengths):5.1f} mean  {max(lengths):4} longest  {page.relative_to(ROOT)}")
        return
    failed = False
    checked = [page for page in pages() if not str(page.relative_to(ROOT)).startswith(REPORTED)]
    for page in checked:
        for line, word, instead in private(page.read_text()):
            failed = True
            print(f"{page.relative_to(ROOT)}:{line}: {word!r}: write {instead}")
    command = [sys.executable, "-m", "codespell_lib", "-q", "3", "-L", SPELLED, *map(str, checked), str(ROOT / "src")]
    spelled = subprocess.run([*command, "--skip", "*.csv,*.js,*.json"], check=False)
    sys.exit(failed or spelled.returncode != 0)


if __name__ == "__main__":
    main()
