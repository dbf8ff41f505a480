"""Fetching a server of Python packages with uv or pip: wheels only, since a source package runs code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path

from ironcurtain.errors import FetchError
from ironcurtain.servers.fetched.lock import Wanted
from ironcurtain.servers.fetched.running import Staged, find_program, run
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_PACKAGES = "packages"
_REQUIREMENTS = "requirements.txt"
_REPORT = "report.json"
_START = "start.py"
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_WHEELS = (
    "Only wheels are fetched: a source package runs code while it is built. Build and install it yourself."
)
_SCRIPT = """\
import site
import sys
from pathlib import Path

site.addsitedir(str(Path(__file__).parent / "packages"))
sys.argv[0] = {program!r}
from {module} import {first}  # noqa: E402

sys.exit({function}())
"""


def interpreter(python: str | None) -> Path | None:
    """Return the Python that a server runs with; None where that version is not on PATH.

    Args:
        python: The version that its command names; without one it is the one that runs this program.
    """
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    if python is None or python == ours:
        return Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    return find_program(f"python{python}")


def platform(python: str | None) -> str:
    """Return on what kind of machine, and with what Python, an installation runs."""
    version = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{sysconfig.get_platform()}-python{version}"


def command(python: Path, installed: Path, start: str) -> tuple[str, tuple[str, ...], dict[str, str]]:
    """Return program, arguments and variables that run a server that was fetched.

    What is installed with the interpreter itself is not looked at (-S); what the server starts by the
    interpreter finds its packages by PYTHONPATH.
    """
    packages = str(installed / _PACKAGES)
    variables = {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
    return str(python), ("-s", "-S", str(installed / start)), variables


def fetch(wanted: Wanted, pins: Sequence[str], where: Path) -> Staged:
    """Install a server into an empty directory.

    Args:
        wanted: What is fetched.
        pins: The requirements with digests that it is to be fetched by; without any, what the index has.
        where: The directory.

    Raises:
        FetchError: If neither uv nor pip is there or they fail, or the package has not the program.
    """
    python = interpreter(wanted.python)
    if python is None:
        raise FetchError(
            f"Python {wanted.python} is not on PATH, and the server asks for it", hint="Install it."
        )
    what = visible(wanted.packages[0])
    tool = _tool(python, what)
    lines = tuple(pins) or tool.resolved([_requirement(each) for each in wanted.packages], where)
    (where / _REQUIREMENTS).write_text("\n".join(lines) + "\n")
    tool.install(where)
    packages = where / _PACKAGES
    for left in ("bin", ".lock"):  # scripts for an interpreter at another place
        _remove(packages / left)
    name = _bare(wanted.packages[0])
    distribution = _distribution(packages, name)
    entry = _entry(distribution, wanted.program or name, named=wanted.program is not None)
    (where / _START).write_text(_script(entry))
    (where / _REQUIREMENTS).unlink()
    return Staged(where, name, distribution.version, _START, lines)


def compile_(installed: Path, python: str | None) -> None:
    """Compile what was installed, since a contained server cannot keep what it compiles; nothing is run."""
    words = [str(interpreter(python)), "-I", "-m", "compileall", "-q", "--invalidation-mode"]
    with contextlib.suppress(FetchError):  # templates that are no Python stay as they are
        run([*words, "unchecked-hash", str(installed / _PACKAGES)], installed, told="compiling")


class _Tool(Struct):
    """uv or pip.

    Attributes:
        words: How its `pip` is called.
        python: The interpreter that packages are for.
        is_uv: Which of the two it is.
        what: What is fetched, for errors.
    """

    words: tuple[str, ...]
    python: Path
    is_uv: bool
    what: str

    def resolved(self, requirements: Sequence[str], where: Path) -> tuple[str, ...]:
        """Return all packages that are needed, as requirements with digests."""
        if self.is_uv:
            (where / _REQUIREMENTS).write_text("\n".join(requirements) + "\n")
            options = ("--generate-hashes", "--no-header", "--no-annotate", "--only-binary=:all:", "--quiet")
            target = ("--python", str(self.python))
            text = self._run(["compile", *options, *target, _REQUIREMENTS], where)
            return tuple(re.sub(r"\s*\\\n\s*", " ", text).splitlines())
        dry = ("--dry-run", "--ignore-installed", "--quiet", "--only-binary=:all:", "--report", _REPORT)
        self._run(["install", *dry, "--", *requirements], where)
        report = json.loads((where / _REPORT).read_text("utf-8"))
        (where / _REPORT).unlink()
        return tuple(sorted(_line(each) for each in report["install"]))

    def install(self, where: Path) -> None:
        """Install what the requirements in the directory name."""
        options = ["--target", _PACKAGES, "--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet"]
        mine = ["--python", str(self.python), "--link-mode=copy"] if self.is_uv else ["--no-compile"]
        self._run(["install", *options, *mine, "-r", _REQUIREMENTS], where)

    def _run(self, words: Sequence[str], where: Path) -> str:
        try:
            return run([*self.words, *words], where, told=f"{self.what} cannot be fetched")
        except FetchError as error:
            if "wheel" in error.hint or "no-build" in error.hint or "only-binary" in error.hint:
                error.hint = f"{error.hint} {_WHEELS}"
            raise


def _tool(python: Path, what: str) -> _Tool:
    uv = find_program("uv")
    if uv is not None:
        return _Tool((str(uv), "pip"), python, is_uv=True, what=what)
    for each in dict.fromkeys((python, *([Path(sys.executable)] if python == interpreter(None) else []))):
        words = (str(each), "-m", "pip")
        try:
            run([*words, "--version"], Path("/"), told="pip")
        except FetchError:
            continue
        return _Tool(words, python, is_uv=False, what=what)
    raise FetchError(
        "neither uv nor pip is installed, and the server is a Python package",
        hint="Install one of them: `pip install uv`.",
    )


def _requirement(package: str) -> str:
    name, at, version = package.partition("@")
    return package if not at else name if version == "latest" else f"{name}=={version}"


def _bare(package: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9]", package)
    return match.group() if match else package


def bare_with_extras(package: str) -> str:
    """Return a requirement without its version."""
    match = re.match(r"[A-Za-z0-9._-]*[A-Za-z0-9](?:\[[^\]]*\])?", package)
    return match.group() if match else package


def _line(each: dict[str, dict[str, dict[str, dict[str, str]]]]) -> str:
    """Return one package of pip's report as a requirement with its digest."""
    name, version = each["metadata"]["name"], each["metadata"]["version"]
    digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
    return f"{name}=={version} --hash=sha256:{digest}"


def _distribution(packages: Path, name: str) -> Distribution:
    wanted = _normal(name)
    for found in distributions(path=[str(packages)]):
        if _normal(found.metadata["Name"]) == wanted:
            return found
    raise FetchError(f"what was installed holds no package {quoted(name)}", where=str(packages))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _entry(found: Distribution, program: str, *, named: bool) -> EntryPoint:
    """Return the program of a package: that of the name, or its only one where none is named."""
    scripts = [each for each in found.entry_points if each.group == "console_scripts"]
    fitting = [each for each in scripts if _normal(each.name) == _normal(program)]
    if not fitting and not named and len(scripts) == 1:
        fitting = scripts
    if not fitting:
        has = ", ".join(visible(each.name) for each in scripts) or "none"
        raise FetchError(
            f"the package {quoted(found.metadata['Name'])} has no program {quoted(program)}",
            hint=f"It has: {has}.",
        )
    return fitting[0]


def _script(entry: EntryPoint) -> str:
    module, _, function = entry.value.partition("[")[0].strip().partition(":")
    if not (_MODULE.fullmatch(module) and _MODULE.fullmatch(function)):
        raise FetchError(f"the program {quoted(entry.name)} is declared in a way that is not understood")
    return _SCRIPT.format(
        program=entry.name, module=module, first=function.partition(".")[0], function=function
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
