"""A corpus larger than the memory allowed is learned from."""

import subprocess
import sys
from pathlib import Path

import pytest

OUT_OF_CORE = """
import re, resource, sys
from pathlib import Path
from tallywise import HashingVectorizer, MultinomialNB
from tallywise.cli import main
from tallywise.reading import layout_of

small, big, growth = sys.argv[1], sys.argv[2], int(sys.argv[3])


def tally(data):
    try:
        options = ["--stream", "--workers", "1", "--no-report", "--json"]
        main(["train", data, *options, "--model", "multinomial_nb", "-o", data + ".tally"])
    except SystemExit as left:
        assert left.code == 0, left.code


def learn(data):
    layout, _ = layout_of([data])
    vectorizer = HashingVectorizer(n_features=2**12, norm=None, alternate_sign=False, n_jobs=1)
    model = MultinomialNB()
    for piece in layout.pieces(data, rows=2000):
        model.partial_fit(vectorizer.transform(piece.texts), piece.labels)
    return model


tally(small)  # everything is imported
learn(small)
held = int(re.search(r"VmData:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + growth, held + growth))
tally(big)
print("rows", int(learn(big).class_count_.sum()))
try:
    everything = Path(big).read_bytes()
    print("no limit")
except MemoryError:
    print("limited")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
def test_a_file_several_times_larger_than_the_memory_allowed_is_trained_on(tmp_path):
    lines = [f"{' '.join(f'paragraph{k * j % 300}' for j in range(1, 60))},{'ab'[k % 2]}" for k in range(400)]
    (tmp_path / "small.csv").write_text("\n".join(["text,label", *lines]) + "\n")
    growth, block = 56 << 20, ("\n".join(lines) + "\n").encode()
    repeats = 5 * growth // (2 * len(block))
    with (tmp_path / "big.csv").open("wb") as stream:
        stream.write(b"text,label\n")
        for _ in range(repeats):
            stream.write(block)
    command = [sys.executable, "-c", OUT_OF_CORE, tmp_path / "small.csv", tmp_path / "big.csv", str(growth)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"rows {400 * repeats}" in done.stdout
    assert f'"texts": {400 * repeats}' in done.stdout
    assert done.stdout.endswith("limited\n")  # the whole file would not have been allowed
    assert Path(f"{tmp_path}/big.csv.tally").stat().st_size < growth
