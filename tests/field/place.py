"""Where the rows run: what is installed for them, a person's home for each, and the commands typed there."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from field.rows import Package

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / ".cache" / "field"
HOMES = ROOT / "build" / "field"
"""Not below a name that begins with a dot: some servers refuse to work there."""

_PASSED = ("PATH", "LANG", "USER", "LOGNAME", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
_INSTALLING = ("npm_config_", "NPM_CONFIG_", "UV_", "PIP_")

_CLUSTER = """\
apiVersion: v1
kind: Config
clusters: [{name: near, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: you, user: {token: dummy-token}}]
contexts: [{name: near, context: {cluster: near, user: you}}]
current-context: near
"""


class CommandError(Exception):
    """A command failed; its text is what it printed."""


@dataclass
class Home:
    """A person's home.

    Attributes:
        variables: Of its programs, beside what all have.
        typed: The commands that were typed in it, with their outputs.
    """

    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        _furnish(self.path)

    @property
    def project(self) -> Path:
        """Where the policy is made."""
        return self.path / "policy"

    def environment(self, **more: str) -> dict[str, str]:
        """Return what programs get here: nothing of the machine's but what finds and installs programs."""
        passed = {
            name: value
            for name, value in os.environ.items()
            if name in _PASSED or name.startswith(_INSTALLING)
        }
        caches = {
            "npm_config_cache": str(SCRATCH / "cache" / "npm"),
            "UV_CACHE_DIR": str(SCRATCH / "cache" / "uv"),
        }
        return {**passed, **caches, **self.variables, "HOME": str(self.path), "TERM": "dumb", **more}

    def type(self, *words: str, cwd: Path | None = None, ok: tuple[int, ...] = (0,), **env: str) -> str:
        """Run a command of ours, or another; return what it printed to standard output.

        Raises:
            CommandError: If it ends otherwise than expected.
        """
        ended = subprocess.run(
            words,
            cwd=cwd or self.project,
            env=self.environment(**env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=900,
            check=False,
        )
        self.typed.append(
            f"$ {' '.join(words)}\n{ended.stdout[-4000:]}{ended.stderr}[exit {ended.returncode}]"
        )
        if ended.returncode not in ok:
            raise CommandError(ended.stderr.strip() or ended.stdout.strip() or f"exit {ended.returncode}")
        return ended.stdout


def _furnish(home: Path) -> None:
    notes = home / "notes"
    for directory in (home / "work", home / "policy", notes / "vault" / ".obsidian", notes / "repository"):
        directory.mkdir(parents=True)
    (notes / "today.txt").write_text("buy milk\n")
    (notes / "table.csv").write_text("word,number\none,1\n")
    (notes / "a.js").write_text("let a = 1;\nconsole.log(a);\n")
    (notes / "vault" / "hello.md").write_text("# hello\n")
    (notes / "vault" / ".obsidian" / "app.json").write_text("{}\n")
    (notes / "kubeconfig.yaml").write_text(_CLUSTER)
    with sqlite3.connect(notes / "base.db") as database:
        database.execute("create table words (word text)")
        database.execute("insert into words values ('hello')")
    who = ("-c", "user.name=you", "-c", "user.email=you@example.com")
    for words in (("init", "-q", "-b", "main"), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *words], cwd=notes / "repository", check=True)


def install(name: str, package: Package) -> Path:
    """Install a package and what stands beside it, once; return its program.

    Install scripts of npm packages are not run: they fetch from elsewhere.

    Raises:
        CommandError: If the registry or its client fails.
    """
    place = SCRATCH / "programs" / name
    mark, wanted = place / "installed", f"{package.npm or package.pypi} {' '.join(package.beside)}".strip()
    if not (mark.exists() and mark.read_text() == wanted):
        shutil.rmtree(place, ignore_errors=True)
        _install(place, package)
        mark.write_text(wanted)
    programs = place / ("node_modules/.bin" if package.npm else "bin")
    return programs / (package.program or _only_program(place, package))


def _only_program(place: Path, package: Package) -> str:
    """Return the name of a package's program: its own, unless npm's package has one of another name."""
    name = package.name.rpartition("/")[2]
    if package.npm is None:
        return name
    listed = json.loads((place / "node_modules" / package.name / "package.json").read_text())["bin"]
    return name if isinstance(listed, str) or name in listed else next(iter(listed))


def _install(place: Path, package: Package) -> None:
    if package.npm:
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        commands = [("npm", "install", "--prefix", str(place), *quiet, package.npm, *package.beside)]
    else:
        uv, python = str(Path(sys.executable).with_name("uv")), str(place / "bin" / "python")
        commands = [
            (uv, "venv", "--quiet", "--python", os.path.realpath(sys.executable), str(place)),
            (uv, "pip", "install", "--quiet", "--python", python, package.pypi or "", *package.beside),
        ]
    person = Home(HOMES / "installer")
    for command in commands:
        person.type(*command)
    if package.setup:
        person.type(*package.setup, cwd=place)
