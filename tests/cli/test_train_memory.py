"""``tally train -v`` says what memory it took."""

import re
import sys

import pytest

from tallywise.cli import main


@pytest.mark.skipif(sys.platform == "win32", reason="the peak is that of resource.getrusage")
def test_training_says_its_peak_of_memory_when_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("text,label\n" + "see you at noon,ham\nwin a prize,spam\n" * 20)
    said = []
    for options in ([], ["-v"]):
        with pytest.raises(SystemExit) as left:
            main(["train", "a.csv", "--model", "multinomial_nb", "--no-report", *options])
        assert left.value.code == 0
        said.append(capsys.readouterr().out)
    assert "memory:" not in said[0]
    peak = re.search(r"memory: ([\d,]+) MB at most", said[1])
    assert 20 < int(peak[1].replace(",", "")) < 1_000_000
