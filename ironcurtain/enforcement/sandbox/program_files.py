"""What a server's program needs to read: itself, its packages, its interpreter."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.enforcement.sandbox.reach.personal import outermost
from ironcurtain.servers.config_model import Server

_MARKS = ("package.json", "pyproject.toml", "setup.py", "setup.cfg", "node_modules", ".venv", "Cargo.toml")
"""What shows that a directory is the root of a program."""
_SEARCHED = ("PYTHONPATH", "NODE_PATH", "VIRTUAL_ENV", "CLASSPATH", "GEM_PATH", "PERL5LIB")
"""Variables that name directories in which an interpreter looks for a program's parts."""
_PROGRAMS = frozenset({"bin", "sbin", "Scripts"})
_CODE = frozenset(
    {*(".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".jar"), *(".rb", ".pl", ".php", ".sh", ".lua")}
)
_MOST_LINKS = 20
_FIRST_BYTES = 256


@dataclass(frozen=True)
class _Start:
    """How a server is started, and what is no place of a program: the home, and what holds it."""

    cwd: Path
    path: str
    home: Path

    def is_too_much(self, place: Path) -> bool:
        return place == self.home or place in self.home.parents


def program_places(server: Server, directory: Path, home: Path) -> list[Path]:
    """Return real paths of what a server's program is made of, as far as its configuration tells.

    That is its command with its interpreter; files among its arguments and variables, programs with the
    package or project that they belong to; the directories of PATH and of its interpreter's search path. The
    home itself is never among them.

    Args:
        server: Its configuration.
        directory: The directory that relative paths of it start from.
        home: The home directory, a real path.
    """
    path = server.env.get("PATH", os.environ.get("PATH", os.defpath))
    start = _Start(directory / (server.cwd or ""), path, home)
    named = list(_named_files(server, start))
    run = [*_command(server.command or "", start), *(file for file in named if _is_code(file))]
    places = [*named, *(place for file in run for place in _around(file, start))]
    searched = (server.env.get(name, "") for name in _SEARCHED)
    places += [Path(each) for text in (path, *searched) for each in text.split(os.pathsep) if each[:1] == "/"]
    places += [argument for argument in _paths(server.args, start) if _is_project(argument)]
    real = {Path(os.path.realpath(place)) for place in places if place.exists()}
    return outermost(place for place in real if not start.is_too_much(place))


def _command(command: str, start: _Start) -> Iterator[Path]:
    """Yield the files that run: the command, what it is a link to, and its interpreter."""
    found = str(start.cwd / command) if "/" in command else shutil.which(command, path=start.path)
    seen: set[str] = set()
    while found is not None and found not in seen and len(seen) < _MOST_LINKS:
        seen.add(found)
        yield Path(found)
        yield Path(os.path.realpath(found))
        found = _interpreter(found, start.path)


def _interpreter(script: str, path: str) -> str | None:
    """Return what the first line of a script names, None where it names nothing that is there."""
    try:
        with Path(script).open("rb") as file:
            first = file.read(_FIRST_BYTES).split(b"\n", 1)[0]
    except OSError:
        return None
    words = os.fsdecode(first.removeprefix(b"#!")).split() if first.startswith(b"#!") else []
    if not words:
        return None
    if Path(words[0]).name == "env":
        named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
        return shutil.which(named, path=path) if named is not None else None
    return words[0]


def _named_files(server: Server, start: _Start) -> Iterator[Path]:
    """Yield the files that arguments and variables name."""
    for path in _paths((*server.args, *server.env.values()), start):
        if path.is_file():
            yield path
            yield Path(os.path.realpath(path))


def _paths(words: tuple[str, ...], start: _Start) -> Iterator[Path]:
    """Yield what could be paths in words, `--option=PATH` too."""
    for word in words:
        text = word.partition("=")[2] if word.startswith("-") else word
        if text and "\0" not in text and len(text.encode()) < os.pathconf("/", "PC_PATH_MAX"):
            try:
                path = start.cwd / text
                path.lstat()
            except OSError:
                continue
            yield path


def _is_code(file: Path) -> bool:
    """Tell whether a file runs, so that what lies around it is needed: a key or a database stands alone."""
    return file.suffix in _CODE or "node_modules" in file.parts or file.parent.name in _PROGRAMS


def _is_project(path: Path) -> bool:
    return path.is_dir() and any((path / mark).exists() for mark in _MARKS)


def _around(file: Path, start: _Start) -> Iterator[Path]:
    """Yield what a file of a program belongs to."""
    yield file
    parts = file.parts
    if "node_modules" in parts:
        yield Path(*parts[: parts.index("node_modules") + 1])
    elif file.parent.name in _PROGRAMS:
        yield from _installation(file.parent, start)
    elif file.parent.name == "shims":  # of a manager of interpreters: pyenv, asdf, mise
        yield file.parents[1]
    else:
        yield from _project(file.parent, start)


def _installation(programs: Path, start: _Start) -> Iterator[Path]:
    """Yield what a directory of programs was installed with."""
    yield programs
    prefix = programs.parent
    if prefix == start.home / ".local" or start.is_too_much(prefix):
        yield prefix / "lib"
        return
    yield prefix
    try:
        lines = (prefix / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            yield from (Path(os.path.realpath(value.strip())).parent, Path(value.strip()).parent)


def _project(directory: Path, start: _Start) -> Iterator[Path]:
    """Yield the nearest directory that is the root of a program, else the one that the file lies in."""
    for place in (directory, *directory.parents):
        if start.is_too_much(place):
            break
        if _is_project(place):
            yield place
            return
    yield directory
