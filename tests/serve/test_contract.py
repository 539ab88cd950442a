"""The OpenAPI document is the contract: requests made from it get the answers that it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

for name in ("apsw", "fastapi", "httptools", "jinja2", "schemathesis"):
    pytest.importorskip(name)

from tallywise import TextClassifier  # noqa: E402
from tests.serving import messages, running  # noqa: E402


def test_schemathesis_finds_nothing(tmp_path):
    texts, labels = zip(*messages(100), strict=True)
    TextClassifier("multinomial_nb", cv=2).fit(list(texts), list(labels)).save(tmp_path / "m.tally")
    quick = ["--model", "multinomial_nb", "--time-limit", "5"]  # fits that are asked for end in seconds
    with running(tmp_path / "m.tally", "--store", tmp_path / "s", *quick) as server:
        program = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
        phases = ["--phases", "coverage,fuzzing,stateful", "--max-examples", "20", "--seed", "1"]
        done = subprocess.run(
            [sys.executable, "-c", program, "run", server.url + "/openapi.json", *phases],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(tmp_path),
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr
        assert server.process.poll() is None
