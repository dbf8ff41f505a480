"""The journeys' machine: the wheel is built and installed once, for all workers of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from support.journey import CannotInstallError, Journey, build_wheel, install
from support.registry import Packages
from support.transcript import Transcript


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def wheel(shared: Path) -> Path:
    place = shared / "wheel"
    with FileLock(shared / "wheel.lock"):
        built = list(place.glob("*.whl"))
        return built[0] if built else build_wheel(place)


@pytest.fixture(scope="session")
def installed(shared: Path, wheel: Path) -> Path:
    """Return an environment in which the wheel is installed; skip where its packages cannot be had."""
    place, refused = shared / "installed", shared / "not-installed"
    with FileLock(shared / "installed.lock"):
        if not place.exists() and not refused.exists():
            try:
                install(wheel, place)
            except CannotInstallError as error:
                refused.write_text(str(error))
    if refused.exists():
        pytest.skip(refused.read_text())
    return place


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    """Return a registry on loopback that npm, uv and pip fetch from, if they are given its environment."""
    found = Packages(tmp_path)
    yield found
    found.npm.close()


@pytest.fixture
def journey(tmp_path: Path, installed: Path) -> Callable[..., Journey]:
    """Return what begins a journey, by the name and the first words of its transcript."""

    def begin(name: str, title: str, said: str, **more: str) -> Journey:
        return Journey(tmp_path, installed, Transcript(f"journeys/{name}", title, said), **more)

    return begin
