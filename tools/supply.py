"""What tallywise is built and tested with: pinned by hash, listed with licences, as a bill of materials.

``python -m tools.supply lock`` asks pip what it would install for CI. It writes requirements-ci.txt, a version and the
hash of its archive for each package, for `pip install --require-hashes`, and sbom.json (CycloneDX 1.5) with the
licences that the packages declare. ``python -m tools.supply audit`` asks pip-audit about known vulnerabilities, where
it is installed and its data can be reached.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements-ci.txt"
BILL = ROOT / "sbom.json"
EXTRAS = ("test", "serve", "spam", "lint", "real-parts")


class Pinned(NamedTuple):
    """A package at one version, and the SHA-256 of its archive."""

    name: str
    version: str
    sha256: str
    licence: str = "not declared"


def ask_pip(wanted: list[str]) -> list[Pinned]:
    """What pip would install, by name."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    report = json.loads(subprocess.run([*command, *wanted], check=True, capture_output=True, text=True).stdout)
    found = []
    for entry in report["install"]:
        hashes = entry["download_info"]["archive_info"]["hashes"]
        facts = entry["metadata"]
        found.append(Pinned(canonical(facts["name"]), facts["version"], hashes["sha256"], licence(facts)))
    return sorted(found)


def canonical(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(text: str) -> list[Pinned]:
    """The packages of a lock file.

    Examples
    --------
    >>> from tools.supply import pinned
    >>> pinned("numpy==2.1.0 --hash=sha256:ab12")
    [Pinned(name='numpy', version='2.1.0', sha256='ab12', licence='not declared')]
    """
    return [Pinned(*found) for found in re.findall(r"^(\S+)==(\S+) --hash=sha256:([0-9a-f]+)$", text, re.MULTILINE)]


def licence(facts: Mapping[str, Any]) -> str:
    """The licence that the metadata of a package declare: an SPDX expression, a name, or "not declared".

    Examples
    --------
    >>> from tools.supply import licence
    >>> licence({"classifier": ["License :: OSI Approved :: MIT License"]}), licence({})
    ('MIT License', 'not declared')
    """
    if expression := facts.get("license_expression"):
        return str(expression)
    classified = [line.rsplit(" :: ", 1)[1] for line in facts.get("classifier", []) if line.startswith("License ::")]
    said = str(facts.get("license") or "").strip().partition("\n")[0]
    return " and ".join(classified) or (said if len(said) < 100 else "") or "not declared"


def bill(packages: list[Pinned], version: str) -> dict[str, Any]:
    """A bill of materials in CycloneDX's form."""
    components = []
    for package in packages:
        purl = f"pkg:pypi/{package.name}@{package.version}"
        components.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": package.name,
                "version": package.version,
                "purl": purl,
                "hashes": [{"alg": "SHA-256", "content": package.sha256}],
                "licenses": [{"license": {"name": package.licence}}],
            }
        )
    root = {"type": "library", "bom-ref": f"pkg:pypi/tallywise@{version}", "name": "tallywise", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**root, "licenses": [{"license": {"id": "BSD-3-Clause"}}]}},
        "components": components,
    }


def main() -> None:
    """Write the lock or the bill, or audit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["lock", "audit"])
    what = parser.parse_args().what
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if what == "lock":
        optional = project["project"]["optional-dependencies"]
        wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
        wanted += [line for extra in EXTRAS for line in optional[extra]]
        found = ask_pip(wanted)
        head = "# Written by tools/supply.py lock: what CI installs, on Linux x86-64 with Python 3.11.\n"
        LOCK.write_text(head + "".join(f"{p.name}=={p.version} --hash=sha256:{p.sha256}\n" for p in found))
        BILL.write_text(json.dumps(bill(found, project["project"]["version"]), indent=1) + "\n")
    elif (tool := shutil.which("pip-audit")) is None:
        sys.exit("pip-audit is not installed: pip install pip-audit")
    else:
        sys.exit(subprocess.run([tool, "--require-hashes", "--disable-pip", "-r", str(LOCK)]).returncode)


if __name__ == "__main__":
    main()
