"""A machine with nothing on it but what a test puts there: a checkout, and programs that are scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
MAKE = shutil.which("make") or ""
# What a script needs of any system.
_TOOLS = """
cat chmod cp cut grep ln ls mkdir sh sleep tail touch tr uname
"""
_FILES = """
Makefile docs/setup.sh pyproject.toml requirements.txt requirements-run.txt
tests/whatwg.txt package-lock.json opa/version.json
"""
# Makes a virtual environment whose programs are scripts: pip and OPA end as `status` says, and the sandbox
# lacks what is not on PATH.
_PYTHON = """\
case "$*" in
"-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/ironcurtain" ;;
"-m pip "*) {pip} ;;
*survey*)
    for each in bwrap socat rg; do command -v $each > /dev/null || printf "$each is not installed "; done
    ! command -v bwrap > /dev/null || bwrap || echo "no namespaces" ;;
"opa which") [ -e opa-was-installed ] && echo {opa} ;;
"opa install") touch opa-was-installed ;;
*) exec {python} "$@" ;;
esac
"""
# Takes input if there is any, and can say that it did.
_PACKAGES = """\
echo "$0 $*" >> called
if read answer; then touch waited; fi
[ "$DEBIAN_FRONTEND" = noninteractive ] || exit 3
{then}
"""


@dataclass
class Machine:
    """The machine.

    Attributes:
        root: Where the checkout lies.
        environment: What programs get.
    """

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Copy what is set up, and put what every machine has on PATH."""
        self.bin = self.root / "path"
        self.bin.mkdir()
        for name in _FILES.split():
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / name, self.root / name)
        for name in _TOOLS.split():
            (self.bin / name).symlink_to(str(shutil.which(name)))
        # No address can be reached.
        closed = "http://127.0.0.1:9"
        self.environment = {"PATH": str(self.bin), "HOME": str(self.root / "home"), "https_proxy": closed}
        self.has("git", "exit 0")
        self.has("node", "exit 0")
        self.has("npm", "mkdir -p node_modules")
        self.has("go", "echo go1.26.8")
        self.has("id", "echo 0")
        self.has_python()

    def has(self, name: str, script: str) -> None:
        """Put a program on PATH."""
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def lacks(self, *names: str) -> None:
        """Take programs from PATH."""
        for name in names:
            (self.bin / name).unlink()

    def has_python(self, pip: str = "echo installed") -> None:
        """Put a Python on PATH, in which pip is a script."""
        self.has("python3", _PYTHON.format(pip=pip, opa=self.bin / "sh", python=sys.executable))

    def has_packages(self, then: str, manager: str = "apt-get") -> None:
        """Put a package manager on PATH that does something."""
        self.has(manager, _PACKAGES.format(then=then))

    @property
    def called(self) -> list[str]:
        """How the package manager was called."""
        file = self.root / "called"
        return file.read_text().replace(f"{self.bin}{os.sep}", "").splitlines() if file.exists() else []

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run make, with input that never comes."""
        with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as silent:
            try:
                return subprocess.run(
                    [MAKE, *arguments],
                    cwd=self.root,
                    env=self.environment,
                    stdin=silent.stdout,
                    capture_output=True,
                    text=True,
                    timeout=50,
                    check=False,
                )
            finally:
                silent.kill()
