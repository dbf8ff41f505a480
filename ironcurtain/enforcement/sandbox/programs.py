"""What the sandbox is made of on this machine, and what of that is missing.

What a server's program needs to read: itself, its packages, its interpreter.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.enforcement.sandbox.reach.opened import outermost
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.variables import filled_where_set
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import Struct
from ironcurtain.system.subprocess_runner import run
from ironcurtain.system.text import visible

_COMMAND = "srt"
_PACKAGE = "@anthropic-ai/sandbox-runtime"
_OLDEST = (0, 0, 83)
# With the version: npm chooses an older one, which refuses our settings, where Node.js is older than the
# newest asks for.
INSTALL = f"npm install -g {_PACKAGE}@{'.'.join(map(str, _OLDEST))}"
"""The command that installs the runtime where `survey` finds it."""
_TRIAL_SECONDS = 20.0
_BWRAP_TRIAL = (
    "--unshare-user",
    "--unshare-net",
    "--unshare-pid",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "true",
)


class Programs(Struct):
    """The sandbox's programs, by absolute path.

    Attributes:
        node: Node.js, which runs the sandbox runtime.
        library: The runtime's module.
        bwrap: bubblewrap; None where the system sandboxes by other means. Likewise `socat` and `rg`.
        path: A PATH for what these start by name.
    """

    node: str
    library: str
    bwrap: str | None = None
    socat: str | None = None
    rg: str | None = None
    path: str = os.defpath

    def places(self) -> list[Path]:
        """Return the directories of these programs, as real paths; who writes there runs code of theirs."""
        named = (self.node, self.library, self.bwrap, self.socat, self.rg)
        return [Path(os.path.realpath(each)).parent for each in named if each is not None]

    def package(self) -> Path | None:
        """Return the real directory of the runtime's package, of which a helper runs inside the sandbox."""
        above = Path(os.path.realpath(self.library)).parents
        return next((folder for folder in above if (folder / "package.json").is_file()), None)


class ProgramSurvey(Struct):
    """What was found.

    Attributes:
        programs: All of them; None where something is missing.
        missing: What is missing, each a few words; empty where nothing is.
    """

    programs: Programs | None
    missing: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What is missing, as one sentence without its full stop."""
        return f"servers cannot be contained on this machine: {', '.join(self.missing)}"


def survey(
    program: str | None = None, *, near: Path | None = None, reachable: tuple[Path, ...] = ()
) -> ProgramSurvey:
    """Look for everything that the sandbox needs, outside what tools and servers can write.

    Args:
        program: The runtime's command as the configuration names it; None looks for `srt`.
        near: What a relative path of it starts from.
        reachable: Real paths of directories that tools or servers can write.
    """
    if sys.platform not in {"linux", "darwin"}:
        return ProgramSurvey(None, (f"there is no sandbox for {sys.platform}",))
    linux = sys.platform == "linux"
    search = ProgramSearch.own(reachable)
    wanted = ("bwrap", "socat", "rg", "node") if linux else ("node",)
    programs = {name: str(path) for name in wanted if (path := search.find(name))}
    missing = [
        f"{_PACKAGED.get(name, name)} {search.passed_over(name) or 'is not installed'}"
        for name in wanted
        if name not in programs
    ]
    library, passed_over = _library(program, near, search)
    if library is None:
        missing.append(f"{visible(program or _COMMAND)} of {_PACKAGE} {passed_over or 'is not installed'}")
    if "bwrap" in programs and (refused := _refused(programs["bwrap"])):
        missing.append(f"bubblewrap may not make namespaces here ({refused})")
    if missing or library is None:
        return ProgramSurvey(None, tuple(missing))
    return ProgramSurvey(
        Programs(
            node=programs["node"],
            library=str(library),
            bwrap=programs.get("bwrap"),
            socat=programs.get("socat"),
            rg=programs.get("rg"),
            path=search.safe_path(),
        )
    )


_PACKAGED = {"bwrap": "bubblewrap (bwrap)", "rg": "ripgrep (rg)", "node": "Node.js (node)"}


def _library(program: str | None, near: Path | None, search: ProgramSearch) -> tuple[Path | None, str]:
    """Return the runtime's module, and why one that was found is not run.

    It stands beside the file that its command leads to.
    """
    passed_over = ""
    for candidate in _candidates(program, near, search):
        beside = Path(os.path.realpath(candidate)).with_name("index.js")
        if beside.is_file() and os.access(candidate, os.X_OK):
            refusal = search.refusal(candidate) or search.refusal(beside) or _too_old(beside)
            if refusal is None:
                return beside, ""
            passed_over = f"is passed over ({visible(str(candidate))}: {refusal})"
    return None, passed_over


def _too_old(library: Path) -> str | None:
    """Return why a runtime cannot take our settings; None if it can, or its package does not tell."""
    described = next((each for above in library.parents if (each := above / "package.json").is_file()), None)
    try:
        said = json.loads(described.read_bytes())["version"] if described else ""
        version = tuple(int(part) for part in said.split("-")[0].split("."))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return f"version {visible(said)} is too old: `{INSTALL}`" if version < _OLDEST else None


def _candidates(program: str | None, near: Path | None, search: ProgramSearch) -> list[Path]:
    if program is not None:
        named = Path(program).expanduser()
        if "/" in program:
            return [named if named.is_absolute() else (near or Path()) / named]
        return [path for path, _ in search.candidates(program)]
    # Never beside the configuration: an agent may write there.
    installed = Path(__file__).parents[3] / "node_modules" / ".bin" / _COMMAND
    return [installed, *(path for path, _ in search.candidates(_COMMAND))]


def _refused(bwrap: str) -> str:
    """Return why bubblewrap makes no namespaces here; nothing if it does."""
    try:
        # In a group of its own: Ctrl-C at the terminal could kill what bubblewrap waits for, and not it.
        tried = run([bwrap, *_BWRAP_TRIAL], cwd=Path("/"), environment=os.environ, timeout=_TRIAL_SECONDS)
    except OSError as error:
        return type(error).__name__
    said = tried.stderr.decode("utf-8", "replace").strip()
    return "" if tried.status == 0 else visible(said[:200]) or f"status {tried.status}"


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
