"""Real data for tests and benchmarks, fetched and checked: ``python -m benchmarks.fetch [name ...]``, or ``make data``.

Each set comes from a public repository at a fixed commit. It is accepted only if the SHA-256 of its content is the one
in `data_sets.json`, of paths and bytes, so that it does not depend on how they were packed. Accepted sets lie
as one archive each in the cache (``TALLYWISE_DATA``, else the user's cache folder); what is there is not fetched again.
None of it is part of the project; each set has the licence of its source.
"""

import argparse
import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import datasets

TABLE = Path(__file__).parent / "data_sets.json"
MOST = 400 << 20  # bytes of one download: the largest is 50 MB
_WINE = (
    b'"fixed acidity";"volatile acidity";"citric acid";"residual sugar";"chlorides";"free sulfur dioxide";'
    b'"total sulfur dioxide";"density";"pH";"sulphates";"alcohol";"quality"\n'
)

# What the stored form of a file changes of its source's, where it is not the source's bytes.
CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "unpacked": gzip.decompress,
    "first of zip": lambda raw: (lambda archive: archive.read(archive.namelist()[0]))(zipfile.ZipFile(io.BytesIO(raw))),
    "without header": lambda raw: raw.split(b"\n", 1)[1],
    "with header of wine": lambda raw: _WINE + raw,
    "without blank end": lambda raw: raw.rstrip(b"\n") + b"\n",
}


def digest(files: dict[str, bytes]) -> str:
    """SHA-256 over paths and contents, in the order of paths."""
    whole = hashlib.sha256()
    for path, content in sorted(files.items()):
        whole.update(f"{path}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()


def download(url: str) -> bytes:
    """Bytes of a page; too many are an error."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        content: bytes = answer.read(MOST + 1)
    if len(content) > MOST:
        sys.exit(f"{url} has more than {MOST >> 20} MB")
    return content


def parts(source: dict[str, Any], get: Callable[[str], bytes]) -> Iterator[tuple[str, bytes]]:
    """(path, content) of what one source gives: a file of a repository, a folder of it, or the answer of an address."""
    if "folder" in source:
        repository, commit = source["folder"].split("@")
        pattern = re.compile(source["pattern"])
        with tarfile.open(
            fileobj=io.BytesIO(get(f"https://codeload.github.com/{repository}/tar.gz/{commit}"))
        ) as archive:
            for member in archive:
                path = member.name.partition("/")[2]
                if member.isfile() and pattern.fullmatch(path):
                    stream = archive.extractfile(member)
                    assert stream is not None
                    yield pattern.sub(source["path"], path), stream.read()
        return
    content = get(source["url"])
    for change in source.get("changes", []):
        content = CHANGES[change](content)
    yield source["path"], content


def stored(name: str) -> bool:
    """Whether the set is there, with the right content."""
    wanted = json.loads(TABLE.read_text())[name]
    try:
        files = {path: content for path, content in datasets.members(name) if read(path, wanted)}
    except datasets.Missing:
        return False
    except (EOFError, OSError, tarfile.TarError, zlib.error):
        files = {}
    if digest(files) != wanted["sha256"]:
        sys.exit(f"{name}.tar.gz in {datasets.folder()} is damaged or of another origin: delete it and fetch again")
    return True


def read(path: str, wanted: dict[str, Any]) -> bool:
    """Whether tests and benchmarks read this file of the set."""
    return re.fullmatch(wanted["files"], path) is not None


def fetch(name: str, get: Callable[[str], bytes] = download) -> None:
    """Bring one set into the cache."""
    wanted = json.loads(TABLE.read_text())[name]
    files = {path: content for source in wanted["sources"] for path, content in parts(source, get)}
    if (found := digest(files)) != wanted["sha256"]:
        sys.exit(f"{name}: the source has other content (SHA-256 {found[:16]}) than the one that was tested: not kept")
    target = datasets.folder()
    target.mkdir(parents=True, exist_ok=True)
    partial = target / f"{name}.tar.gz.part"
    with tarfile.open(partial, "w:gz") as archive:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    partial.replace(target / f"{name}.tar.gz")


def main(names: list[str]) -> None:
    """Fetch what is missing; one that fails does not keep the others."""
    known = json.loads(TABLE.read_text())
    failed = []
    for name in names or known:
        if name not in known:
            sys.exit(f"there is no data set {name!r}; there are {', '.join(known)}")
        if stored(name):
            print(f"{name}: there", flush=True)
            continue
        print(f"{name}: {known[name]['what']} ...", flush=True)
        try:
            fetch(name)
        except (OSError, SystemExit) as error:
            failed.append(name)
            print(f"{name}: {error}", file=sys.stderr)
    if failed:
        sys.exit(f"not fetched: {', '.join(failed)}; their tests skip and their benchmark rows are left out")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name")
    main(parser.parse_args().names)
