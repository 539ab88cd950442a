"""Build the Debian package of the mail filter into dist/: ``python -m tools.deb [--python python3]``.

Under /usr/lib/tally-spam it has the library, from the wheel in dist/ that fits Debian's Python, and the packages
that the filter needs. Beside them: a command, a unit of systemd with a user of its own, and a configuration file. The
interpreter given must have the version of Debian's, since compiled modules are named by it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tools.requirements import wanted
from tools.wheel import DIST, ROOT, moment

SOURCES = ROOT / "packaging" / "debian"
NEEDED = ("numpy", "click", "jinja2", "rich")  # of what the library needs, all that serving takes
FILES = {  # in the package: (source, mode)
    "usr/bin/tally-spam": (SOURCES / "tally-spam", 0o755),
    "lib/systemd/system/tally-spam.service": (SOURCES / "tally-spam.service", 0o644),
    "etc/default/tally-spam": (SOURCES / "tally-spam.default", 0o644),
    "usr/share/doc/tally-spam/spam.md": (ROOT / "docs" / "spam.md", 0o644),
    "usr/share/doc/tally-spam/copyright": (ROOT / "LICENSE", 0o644),
    **{f"DEBIAN/{name}": (SOURCES / name, 0o755) for name in ("postinst", "prerm", "postrm")},
}
CONTROL = """\
Package: tally-spam
Version: {version}
Architecture: {architecture}
Maintainer: The tallywise developers <maintainers@tallywise.example>
Installed-Size: {size}
Depends: python3 (>= {python}), python3 (<< {after}), adduser, libc6, libstdc++6
Suggests: spamc, postfix | exim4 | default-mta, dovecot-sieve
Section: mail
Priority: optional
Description: mail filter that learns, forgets and explains
 Answers mail servers over the protocols of spamd and rspamd, learns from what users move into
 and out of Junk, forgets exactly what was taught by mistake, and says which words decided.
"""


def build(python: str) -> Path:
    """The package, from a wheel that is there."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    asked = "import sys; print(*sys.version_info[:2])"
    major, minor = map(int, subprocess.check_output([python, "-c", asked], text=True).split())
    wheels = sorted(DIST.glob(f"tallywise-{version}-cp{major}{minor}-*linux*.whl"))
    if not wheels:
        sys.exit(
            f"no wheel of tallywise {version} for Python {major}.{minor} in dist/: run `make wheel` with that Python"
        )
    architecture = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
    needed = [line for line in wanted("package", "spam") if line.startswith((*NEEDED, "apsw"))]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tally-spam"
        library = root / "usr" / "lib" / "tally-spam"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]
        target = ["--target", str(library), "--only-binary", ":all:"]
        subprocess.run([*pip, *target, *needed], check=True)
        subprocess.run([*pip, *target, "--no-deps", str(wheels[-1])], check=True)
        shutil.rmtree(library / "bin", ignore_errors=True)  # commands of the libraries
        for unused in ("tests", "include"):
            for place in [*library.rglob(unused)]:
                shutil.rmtree(place, ignore_errors=True)
        for place, (source, mode) in FILES.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, root / place)
            (root / place).chmod(mode)
        (root / "DEBIAN" / "conffiles").write_text("/etc/default/tally-spam\n")
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
        control = CONTROL.format(
            version=version,
            architecture=architecture,
            size=size,
            python=f"{major}.{minor}",
            after=f"{major}.{minor + 1}",
        )
        (root / "DEBIAN" / "control").write_text(control)
        for path in (root, *root.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
        made = DIST / f"tally-spam_{version}_{architecture}.deb"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": moment()}
        command = ["dpkg-deb", "--root-owner-group", "--build", str(root), str(made)]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    print(f"{made.relative_to(ROOT)}  {made.stat().st_size / 1e6:.1f} MB")
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the version that Debian has")
    build(parser.parse_args().python)
