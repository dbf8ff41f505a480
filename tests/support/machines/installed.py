"""IronCurtain as a user has it: its wheel in an environment of its own, with some extras and nothing else.

The packages that it needs are those of the environment that runs the tests, linked file by file, so that an
environment takes a second and no network. What an extra forgot to name is missing there, as at a user's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from filelock import FileLock
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
NAME = "ironcurtain"


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel.

    Attributes:
        python: Its interpreter.
        program: The installed command.
        packages: Its directory of packages.
    """

    python: Path
    program: Path
    packages: Path


def wheel(shared: Path) -> Path:
    """Build the wheel once for all processes of a test run.

    Args:
        shared: A directory of the test run.
    """
    place = shared / "wheel"
    with FileLock(shared / "wheel.lock"):
        if not place.exists():
            made = shared / "wheel.made"
            command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)]
            built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert built.returncode == 0, built.stderr
            made.rename(place)
    (found,) = place.glob("*.whl")
    return found


def installed(shared: Path, extras: Iterable[str] = (), beside: Iterable[str] = ()) -> Installed:
    """Return an environment with the wheel and some extras, made once for all processes of a test run.

    Args:
        shared: A directory of the test run.
        extras: The extras.
        beside: Packages that are no part of it, as pip.
    """
    chosen = sorted(extras)
    place = shared / "-".join(["environment", *chosen])
    built = wheel(shared)
    with FileLock(f"{place}.lock"):
        if not place.exists():
            made = place.with_suffix(".made")
            venv.create(made, with_pip=False, symlinks=True)
            found = _environment(made)
            for each in [*_needed(_metadata(built), chosen), *map(distribution, beside)]:
                _link(each, found.packages)
            _install(built, found)
            # What stands in the program's first line is the place that the environment ends up at.
            made.rename(place)
            program = _environment(place).program
            program.write_text(program.read_text().replace(str(made), str(place)))
    return _environment(place)


def with_packages(place: Path, names: Iterable[str]) -> Installed:
    """Make an environment that holds these packages and nothing else, IronCurtain least of all."""
    venv.create(place, with_pip=False, symlinks=True)
    found = _environment(place)
    for name in names:
        _link(distribution(name), found.packages)
    return found


def locked(lock: Path) -> dict[str, str]:
    """Return the version of each package that a lock file wants on this machine."""
    lines = [line.rstrip(" \\") for line in lock.read_text().splitlines() if re.match(r"[a-z0-9]", line)]
    needs = [Requirement(line) for line in lines]
    return {
        need.name: str(need.specifier).removeprefix("==")
        for need in needs
        if need.marker is None or need.marker.evaluate()
    }


def run_directory(factory: pytest.TempPathFactory) -> Path:
    """Return the directory that all processes of this test run share."""
    own = factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


def _environment(place: Path) -> Installed:
    paths = sysconfig.get_paths("venv", vars={"base": str(place), "platbase": str(place)})
    scripts = Path(paths["scripts"])
    return Installed(scripts / "python", scripts / NAME, Path(paths["purelib"]))


def _install(built: Path, into: Installed) -> None:
    """Install the wheel alone, with the installer that is there."""
    command = [shutil.which("uv") or "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    ended = subprocess.run(
        [*command, "--python", str(into.python), str(built)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def extras_of(built: Path) -> list[str]:
    """Return the extras that a wheel has."""
    return _metadata(built).metadata.get_all("Provides-Extra") or []


def _metadata(built: Path) -> Distribution:
    with zipfile.ZipFile(built) as archive:
        (directory,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    return PathDistribution(zipfile.Path(built, f"{directory}/"))


def _needed(of: Distribution, extras: Iterable[str]) -> list[Distribution]:
    """Return what the package needs with some extras, and what that needs, without the package itself."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [*_requirements(of, extras)]
    while waiting:
        need = waiting.pop()
        for extra in ("", *sorted(need.extras)):
            key = (_canonical(need.name), extra)
            if key in seen:
                continue
            seen.add(key)
            # One extra of ours may name others.
            each = of if key[0] == NAME else distribution(need.name)
            if each is not of:
                found[key[0]] = each
            waiting += _requirements(each, [extra] if extra else [])
    return list(found.values())


def _requirements(of: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    asked = ["", *extras]
    for text in of.requires or ():
        need = Requirement(text)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in asked):
            yield need


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _link(package: Distribution, into: Path) -> None:
    """Put the files of an installed package into another environment; its programs are left out."""
    home = Path(str(package.locate_file("")))
    for file in package.files or ():
        if ".." in file.parts or not (home / file).is_file():
            continue
        target = into / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            _same(home / file, target)


def _same(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)
