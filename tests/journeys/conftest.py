"""The journeys' machine: the wheel is built and installed once, for all workers of a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from support.documentation.transcript import PAGES, Transcript
from support.machines.installed import Installed, installed, run_directory
from support.machines.journey import Journey
from support.projects.agent_project import annotations_of, compile_by_hand, rules
from support.services.registry import Packages


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return the environment in which the wheel is installed, with what servers and the proxy need."""
    return installed(run_directory(tmp_path_factory), ["mcp"])


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    """Return a registry on loopback that npm, uv and pip fetch from, if they are given its environment."""
    found = Packages(tmp_path)
    yield found
    found.npm.close()


@pytest.fixture
def journey(tmp_path: Path, environment: Installed) -> Callable[..., Journey]:
    """Return what begins a journey, by the name and the first words of its transcript."""

    def begin(
        name: str, title: str, said: str, *, installed: Installed = environment, **more: str
    ) -> Journey:
        place = PAGES if (PAGES / f"{name}.md").exists() else Path(__file__).parent
        return Journey(tmp_path, installed, Transcript(name, title, said, place), **more)

    return begin


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory, environment: Installed) -> Path:
    """Return the project that `init` writes, compiled once for all workers of a run; it is to be copied."""
    place = run_directory(tmp_path_factory) / "compiled"
    with FileLock(f"{place}.lock"):
        if not (place / "done").exists():
            place.mkdir()
            you = Journey(place, environment, Transcript("compiled", "", ""))
            you.run("ironcurtain init agent")
            you.go("agent")
            compile_by_hand(
                you, {"annotate-filesystem-1": annotations_of(you.here), "rules-filesystem": rules()}
            )
            (place / "done").touch()
    return place / "you" / "agent"


@pytest.fixture
def agent(journey: Callable[..., Journey], compiled: Path) -> Callable[..., Journey]:
    """Return what begins a journey in a project that is compiled."""

    def begin(*words: str, **more: Any) -> Journey:
        you = journey(*words, **more)
        shutil.copytree(compiled, you.home / "agent")
        you.go("agent")
        return you

    return begin
