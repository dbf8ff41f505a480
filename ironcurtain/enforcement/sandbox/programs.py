"""What the sandbox is made of on this machine, and what of that is missing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

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
