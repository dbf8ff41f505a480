"""What `ironcurtain compile` goes by: the settings of its project, and the files that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.load.sources import Sources


def read_settings(config: str | None) -> tuple[Project, dict[str, str | int | None]]:
    """Return the project of a settings file (or the nearest one), and its defaults for options."""
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.settings import defaults

    project = read_project(config)
    return project, defaults(project.file, project.settings)


def read_sources(root: Path, given: Mapping[str, str | None]) -> Sources:
    """Return where a compile reads from, as options or settings name it."""
    from ironcurtain.compiler.load.sources import Sources

    paths = {name: Path(value) for name, value in given.items() if value is not None}
    questions = paths.pop("questions")
    return Sources(root=root, pending=questions / "kept", custom=paths.pop("custom", None), **paths)
