"""Public data sets are those that were tested, wherever they come from."""

import gzip
import io
import json
import tarfile

import pytest

from benchmarks import datasets, fetch

SETS = json.loads(fetch.TABLE.read_text())


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A set of two sources, one packed and one a folder of a repository, and an empty cache."""
    monkeypatch.setenv("TALLYWISE_DATA", str(tmp_path / "cache"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path in ("repository-1/in/a.txt", "repository-1/other.txt"):
            member = tarfile.TarInfo(path)
            member.size = 3
            archive.addfile(member, io.BytesIO(b"one"))
    pages = {
        "https://codeload.github.com/some/where/tar.gz/1": packed.getvalue(),
        "https://x.example/b.gz": gzip.compress(b"two"),
    }
    table = {
        "made": {
            "what": "made",
            "files": r"text/.*|b",
            "sources": [
                {"folder": "some/where@1", "pattern": r"in/(.+)", "path": r"text/\1"},
                {"url": "https://x.example/b.gz", "path": "b", "changes": ["unpacked"]},
            ],
            "sha256": fetch.digest({"text/a.txt": b"one", "b": b"two"}),
        }
    }
    (tmp_path / "table.json").write_text(json.dumps(table))
    monkeypatch.setattr(fetch, "TABLE", tmp_path / "table.json")
    return pages


@pytest.mark.parametrize("name", SETS)
def test_the_sets_here_have_the_content_that_was_tested(name):
    if not fetch.stored(name):
        raise datasets.Missing(name)


def test_a_fetched_set_is_read_like_one_that_was_there(made):
    assert not fetch.stored("made")
    fetch.fetch("made", made.__getitem__)
    assert fetch.stored("made")
    assert dict(datasets.members("made")) == {"text/a.txt": b"one", "b": b"two"}


def test_other_content_is_refused_and_not_kept(made):
    made["https://x.example/b.gz"] = gzip.compress(b"twO")
    with pytest.raises(SystemExit, match="other content"):
        fetch.fetch("made", made.__getitem__)
    assert not fetch.stored("made")


def test_a_damaged_set_is_named(made):
    fetch.fetch("made", made.__getitem__)
    (datasets.folder() / "made.tar.gz").write_bytes((datasets.folder() / "made.tar.gz").read_bytes()[:-30])
    with pytest.raises(SystemExit, match="damaged"):
        fetch.stored("made")
