"""Fetching a server of Python packages with uv: wheels only, since a source package runs code.

Not with pip: it builds what a wheel's own metadata names by an address, whatever it is asked for.
"""

from __future__ import annotations

import contextlib
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
from ironcurtain.servers.fetched.pins import check_requirements
from ironcurtain.servers.fetched.running import Staged, find_program, run
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_PACKAGES = "packages"
_REQUIREMENTS = "requirements.txt"
START = "start.py"
"""The program of each installation, which starts the package's own."""
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


def command(python: Path, installed: Path) -> tuple[str, tuple[str, ...], dict[str, str]]:
    """Return program, arguments and variables that run a server that was fetched.

    What is installed with the interpreter itself is not looked at (-S); what the server starts by the
    interpreter finds its packages by PYTHONPATH.
    """
    packages = str(installed / _PACKAGES)
    variables = {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
    return str(python), ("-s", "-S", str(installed / START)), variables


def fetch(wanted: Wanted, pins: Sequence[str], where: Path) -> Staged:
    """Install a server into an empty directory.

    Args:
        wanted: What is fetched.
        pins: The requirements with digests that it is to be fetched by; without any, what the index has.
        where: The directory.

    Raises:
        FetchError: If uv is not there or fails, or the package has not the program.
    """
    python = interpreter(wanted.python)
    if python is None:
        raise FetchError(
            f"Python {wanted.python} is not on PATH, and the server asks for it", hint="Install it."
        )
    what = visible(wanted.packages[0])
    uv = _Uv.of_path(python, what)
    lines = tuple(pins) or uv.resolved([_requirement(each) for each in wanted.packages], where)
    try:
        check_requirements(lines)
    except ValueError as error:
        raise FetchError(f"{what} cannot be fetched: {error}", hint=_WHEELS) from None
    uv.install(lines, where)
    packages = where / _PACKAGES
    for left in ("bin", ".lock"):  # scripts for an interpreter at another place
        _remove(packages / left)
    name = _bare(wanted.packages[0])
    distribution = _distribution(packages, name)
    entry = _entry(distribution, wanted.program or name, named=wanted.program is not None)
    (where / START).write_text(_script(entry))
    (where / _REQUIREMENTS).unlink()
    return Staged(where, name, distribution.version, START, lines)


def compile_(installed: Path, python: str | None) -> None:
    """Compile what was installed, since a contained server cannot keep what it compiles; nothing is run."""
    words = [str(interpreter(python)), "-I", "-m", "compileall", "-q", "--invalidation-mode"]
    with contextlib.suppress(FetchError):  # templates that are no Python stay as they are
        run([*words, "unchecked-hash", str(installed / _PACKAGES)], installed, told="compiling")


class _Uv(Struct):
    """What resolves and installs.

    Attributes:
        program: The program.
        python: The interpreter that packages are for.
        what: What is fetched, for errors.
    """

    program: Path
    python: Path
    what: str

    @classmethod
    def of_path(cls, python: Path, what: str) -> _Uv:
        """Return the one on PATH."""
        uv = find_program("uv")
        if uv is None:
            raise FetchError(
                "uv is not installed, and the server is a Python package",
                hint="Install it: `pip install uv`.",
            )
        return cls(uv, python, what)

    def resolved(self, requirements: Sequence[str], where: Path) -> tuple[str, ...]:
        """Return all packages that are needed, as requirements with digests."""
        options = ("--generate-hashes", "--no-header", "--no-annotate")
        text = self._run(["compile", *options], requirements, where)
        return tuple(re.sub(r"\s*\\\n\s*", " ", text).splitlines())

    def install(self, requirements: Sequence[str], where: Path) -> None:
        """Install what the requirements name."""
        options = ("--target", str(where / _PACKAGES), "--no-deps", "--require-hashes", "--link-mode=copy")
        self._run(["install", *options, "-r"], requirements, where)

    def _run(self, words: Sequence[str], requirements: Sequence[str], where: Path) -> str:
        """Run it at the root: it would take the configuration of any directory above its own."""
        file = where / _REQUIREMENTS
        file.write_text("\n".join(requirements) + "\n")
        options = ("--python", str(self.python), "--only-binary=:all:", "--quiet")
        command = [str(self.program), "pip", *words, str(file), *options]
        try:
            return run(command, Path("/"), told=f"{self.what} cannot be fetched")
        except FetchError as error:
            if "wheel" in error.hint or "no-build" in error.hint or "URL dependency" in error.hint:
                error.hint = f"{error.hint} {_WHEELS}"
            raise


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
