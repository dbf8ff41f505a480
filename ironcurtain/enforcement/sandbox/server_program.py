"""What a server's entry says of its program: what that is made of and needs to read, what it names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ironcurtain.enforcement.sandbox.reach.opened import outermost
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.variables import filled_where_set
from ironcurtain.system.structs import Struct

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


class _Start(Struct):
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
    """
    server = filled_where_set(server)
    path = _search_path(server)
    start = _Start(directory / (server.cwd or ""), path, home)
    named = list(_named_files(server, start))
    run = [*_command(server.command or "", start), *(file for file in named if _is_code(file))]
    places = [*named, *(place for file in run for place in _around(file, start))]
    searched = (server.env.get(name, "") for name in _SEARCHED)
    places += [Path(each) for text in (path, *searched) for each in text.split(os.pathsep) if each[:1] == "/"]
    places += [argument for argument in _paths(server.args, start) if _is_project(argument)]
    real = {Path(os.path.realpath(place)) for place in places if place.exists()}
    return outermost(place for place in real if not start.is_too_much(place))


def named_directories(server: Server, directory: Path, home: Path) -> list[Path]:
    """Return real paths of the directories that a server's arguments and variables name, absolute or by `~`.

    Neither the home itself nor what holds it is among them, and no directory of programs.
    """
    server = filled_where_set(server)
    start = _Start(directory, "", Path(os.path.realpath(home)))
    values = (value for name, value in server.env.items() if name not in {"HOME", "PATH", *_SEARCHED})
    named = (with_home(text, home) for text in _values((*server.args, *values)))
    real = {Path(os.path.realpath(text)) for text in named if text[:1] == "/" and os.path.isdir(text)}  # noqa: PTH112 - it is any text
    return outermost(place for place in real if not start.is_too_much(place))


def with_home(text: str, home: Path) -> str:
    """Return a word in which `~` is a home, as a shell would write it."""
    return f"{home}{text[1:]}" if text == "~" or text.startswith("~/") else text


def needs_home(server: Server, directory: Path) -> bool:
    """Tell whether a command is started through a manager of interpreters, which keeps these in the home."""
    server = filled_where_set(server)
    command = server.command or ""
    placed = str(directory / (server.cwd or "") / command) if "/" in command else command
    program = shutil.which(placed, path=_search_path(server))
    return program is not None and (Path(program).parent.name == "shims" or ".volta" in Path(program).parts)


def npm_package(server: Server, directory: Path) -> str:
    """Return the name of the npm package that a server's program belongs to; nothing where there is none."""
    server = filled_where_set(server)
    start = _Start(directory / (server.cwd or ""), _search_path(server), directory)
    for file in (*_command(server.command or "", start), *_named_files(server, start)):
        before, found, after = str(file).rpartition("/node_modules/")
        name = "/".join(after.split("/")[: 2 if after.startswith("@") else 1])
        if before and found and not name.startswith("."):
            return name
    return ""


def _command(command: str, start: _Start) -> Iterator[Path]:
    """Yield the files that run: the command, what it is a link to, and its interpreter."""
    program = str(start.cwd / command) if "/" in command else shutil.which(command, path=start.path)
    seen: set[str] = set()
    while program is not None and program not in seen and len(seen) < _MOST_LINKS:
        seen.add(program)
        yield Path(program)
        yield Path(os.path.realpath(program))
        program = _interpreter(program, start.path)


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
    for text in _values(words):
        if text and "\0" not in text and len(text.encode()) < os.pathconf("/", "PC_PATH_MAX"):
            try:
                path = start.cwd / text
                path.lstat()
            except OSError:
                continue
            yield path


def _values(words: Iterable[str]) -> Iterator[str]:
    """Yield what words say: of `--option=VALUE` the value."""
    return (word.partition("=")[2] if word.startswith("-") else word for word in words)


def _search_path(server: Server) -> str:
    return server.env.get("PATH", os.environ.get("PATH", os.defpath))


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
