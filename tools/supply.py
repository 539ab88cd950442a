"""What tallywise is built and tested with: pinned by hash, listed with licences, as a bill of materials.

``python -m tools.supply lock`` asks pip what it would install for CI. It writes requirements-ci.txt, a version and the
hash of its archive for each package, for `pip install --require-hashes`, and sbom.json (CycloneDX 1.5) with the
licences that the packages declare; ``python -m tools.supply licences`` shows them. ``python -m tools.supply audit``
asks pip-audit about known vulnerabilities, where it is installed and its data can be reached.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements-ci.txt"
BILL = ROOT / "sbom.json"
EXTRAS = ("test", "serve", "spam", "lint", "real-parts", "onnx")


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
    return " and ".join(classified) or (said if len(said) < 100 else "") or _installed_licence(facts) or "not declared"


def _installed_licence(facts: Mapping[str, Any]) -> str:
    """The expression that the same package says where it is installed: old versions of pip do not report the field."""
    try:
        found = metadata.metadata(str(facts["name"]))
    except (KeyError, metadata.PackageNotFoundError):
        return ""
    return str(found["License-Expression"] or "") if found["Version"] == facts.get("version") else ""


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


def licences(listed: Mapping[str, Any]) -> dict[str, list[str]]:
    """The packages of a bill of materials by their licence, the commonest first."""
    found: dict[str, list[str]] = {}
    for part in listed["components"]:
        found.setdefault(part["licenses"][0]["license"]["name"], []).append(part["name"])
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def audit() -> None:
    """Ask pip-audit; exit with 1 for a known vulnerability, with 2 where nothing could be looked up.

    By itself it succeeds where its data cannot be reached: every package is skipped then, and none found wanting.
    """
    tool = shutil.which("pip-audit", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if tool is None:
        sys.exit("pip-audit is not installed: pip install pip-audit")
    command = [tool, "--format", "json", "--require-hashes", "--disable-pip", "-r", str(LOCK)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(done.stderr)
    entries = json.loads(done.stdout)["dependencies"]
    known = [part for part in entries if "skip_reason" not in part]
    print(f"{len(known)} of {len(entries)} packages looked up")
    for part in known:
        for found in part["vulns"]:
            print(f"{part['name']} {part['version']}: {found['id']}, mended in {', '.join(found['fix_versions'])}")
    sys.exit(2 if not known else any(part["vulns"] for part in known))


def main() -> None:
    """Write the lock and the bill, audit, or list licences."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["lock", "audit", "licences"])
    what = parser.parse_args().what
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if what == "lock":
        optional = project["project"]["optional-dependencies"]
        wanted = ["cmake", "ninja", *project["build-system"]["requires"], *project["project"]["dependencies"]]
        wanted += [line for extra in EXTRAS for line in optional[extra]]
        found = ask_pip(wanted)
        head = "# Written by tools/supply.py lock: what CI installs, on Linux x86-64 with Python 3.11.\n"
        LOCK.write_text(head + "".join(f"{p.name}=={p.version} --hash=sha256:{p.sha256}\n" for p in found))
        BILL.write_text(json.dumps(bill(found, project["project"]["version"]), indent=1) + "\n")
    elif what == "licences":
        for name, packages in licences(json.loads(BILL.read_text())).items():
            print(f"{name}: {', '.join(packages)}")
    else:
        audit()


if __name__ == "__main__":
    main()
