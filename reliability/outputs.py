"""Outputs under every name of an input: refused, and no input changed.

Commands that write are run with each of their outputs, in turn, under another name of each of their inputs: its own, a
relative one, a link, a hard link, a path through a linked folder, or as redirected standard output.
"""

import contextlib
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from reliability.model_files import ROOT
from reliability.results import MEMORY, Limit, Measured, ended
from tallywise import TextClassifier
from tallywise.spam import SpamFilter

ALIASES = ("itself", "relative", "link", "hard link", "linked folder", "dots")
# Names of inputs stand as they are in the folder; OUT is the output.
COMMANDS = {
    "train {data.csv} -o OUT --no-report --model multinomial_nb": ("data.csv",),
    "train {data.csv} -o new.tally --report OUT --model multinomial_nb": ("data.csv",),
    "train {data.csv} --stop-words {words.txt} -o OUT --no-report": ("data.csv", "words.txt"),
    "train {classes} -o OUT --no-report": ("classes/ham/0.txt",),
    "train da*.csv --stream -o OUT --no-report": ("data.csv",),
    "spam export --store {mail.spam} OUT": ("mail.spam",),
    "spam learn --store OUT --spam {mail.eml}": ("mail.eml",),
    "spam import --store OUT {entries.jsonl}": ("entries.jsonl",),
}
# Outputs of these are named for their shards, or are standard output.
FOLDERS = ("classify {m.tally} 'shards/*.jsonl' -o shards", "classify {m.tally} shards/a.jsonl -o other")
STREAMS = (
    ("classify {m.tally} {data.csv} >> {data.csv}", "data.csv"),
    ("classify {m.tally} - < {data.csv} >> {data.csv}", "data.csv"),
    ("train - -o {data.csv} --no-report < {data.csv}", "data.csv"),
    ("train {data.csv} -o new.tally --no-report >> {data.csv}", "data.csv"),
)


def prepare(folder: Path) -> None:
    """Files of every kind that the commands read."""
    rows = [("win a prize", "spam"), ("lunch at noon", "ham")] * 10
    (folder / "data.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    (folder / "words.txt").write_text("a the at")
    (folder / "mail.eml").write_text("Subject: win\n\nwin a prize\n")
    for label in ("spam", "ham"):
        (folder / "classes" / label).mkdir(parents=True)
        for k in range(3):
            (folder / "classes" / label / f"{k}.txt").write_text(f"{label} {k}")
    (folder / "shards").mkdir()
    (folder / "shards" / "a.jsonl").write_text('{"text": "win a prize"}\n')
    (folder / "other").symlink_to("shards")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts, labels = zip(*rows, strict=True)
        TextClassifier("multinomial_nb", cv=2).fit(list(texts), list(labels)).save(folder / "m.tally")
    with SpamFilter(folder / "mail.spam") as mail:
        mail.learn(b"Subject: win\n\nwin a prize\n", "spam")
        entries = list(mail.export())
    (folder / "entries.jsonl").write_text("".join(f"{entry}\n" for entry in entries))


def alias(folder: Path, name: str, kind: str) -> str:
    """Another name of a file."""
    path, made = folder / name, folder / f"alias of {Path(name).name}"
    made.unlink(missing_ok=True)
    if kind == "link":
        made.symlink_to(name)
    elif kind == "hard link":
        made.hardlink_to(path)
    elif kind == "linked folder":
        made.symlink_to(path.parent)
        return f"{made.name}/{path.name}"
    elif kind == "dots":
        return f"{path.parent}/../{path.parent.name}/{path.name}"
    elif kind == "relative":
        return f"./{name}"
    else:
        return str(path)
    return made.name


def contents(folder: Path) -> dict[str, bytes]:
    """All files, links left alone."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and not path.name.startswith("alias of")
    }


def tries() -> Iterator[tuple[str, str, str]]:
    """Command lines with OUT, the input that it is to be, and the kind of its name."""
    for command, inputs in COMMANDS.items():
        for name in inputs:
            yield from ((command, name, kind) for kind in ALIASES)
    yield from ((command, "shards/a.jsonl", "itself") for command in FOLDERS)
    yield from ((command, name, kind) for command, name in STREAMS for kind in ALIASES)


def run(folder: Path, command: str, name: str, kind: str) -> str | None:
    """What went wrong, if anything did."""
    before = contents(folder)
    other = alias(folder, name, kind)
    line = command.replace("OUT", f"'{other}'").replace("{", "'").replace("}", "'")
    program = f'tally() {{ "{sys.executable}" -c "from tallywise.cli import main; main()" "$@"; }}; tally {line}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, cwd=folder, env=environment)
    (folder / f"alias of {Path(name).name}").unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        (folder / "new.tally").unlink()
    after = contents(folder)
    if after != before:
        return f"{line}: changed {sorted(set(before.items()) ^ set(after.items()))[0][0]}"
    if done.returncode == 0 or "written over" not in done.stderr + done.stdout:
        return f"{line}: exit code {done.returncode}, {done.stderr[-200:]!r}"
    return None


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """Every command, input and name with `full`, else a sample of twelve."""
    listed = list(tries())
    chosen = listed if full else random.Random(0).sample(listed, 12)
    limit, wrong, count = Limit(seconds), [], 0
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        folder = Path(place) / "files"
        folder.mkdir()
        prepare(folder)
        for command, name, kind in chosen:
            if limit.over():
                break
            count += 1
            if found := run(folder, command, name, kind):
                wrong.append(found)
    yield Measured(
        "outputs",
        "outputs that are an input under another name" + ended(count, len(chosen)),
        "refused, and every file as it was",
        {"command lines": count, "commands": len(COMMANDS) + len(FOLDERS) + len(STREAMS), "names": len(ALIASES)},
        wrong,
    )
