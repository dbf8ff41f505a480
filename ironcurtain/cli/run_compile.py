"""What `ironcurtain compile` does."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from ironcurtain.errors import Exit
from ironcurtain.llm.providers import provider_for
from ironcurtain.model import jsontext
from ironcurtain.opa.locate import find
from ironcurtain.pipeline.build import Options, build
from ironcurtain.pipeline.load import Sources
from ironcurtain.pipeline.progress import Lines, Progress, Silent
from ironcurtain.settings import Settings, defaults, find_settings, load_settings


@dataclass(frozen=True)
class Project:
    """The settings of a project and the directory that its paths are relative to."""

    root: Path
    settings: Settings


def read_settings(config: str | None) -> tuple[Project, dict[str, str | int | None]]:
    """Return the project of a settings file (or the nearest one), and its defaults for options."""
    path = Path(config) if config is not None else find_settings(Path.cwd())
    settings = load_settings(path)
    root = path.absolute().parent if path is not None else Path.cwd()
    return Project(root, settings), defaults(path, settings)


def run(
    *,
    settings: Project,
    model: str,
    serial: int,
    locked: bool,
    saved_tools: bool,
    opa: str | None,
    format_: str,
    quiet: bool,
    **paths: str | None,
) -> Exit:
    """Compile, showing the stages on stderr."""
    sources = _sources(settings.root, paths)
    questions = Path(str(paths["questions"]))
    options = Options(
        provider=None if locked else lambda: provider_for(model, questions=questions),
        serial=serial,
        case_insensitive_hosts=frozenset(settings.settings.case_insensitive_hosts),
        roles=settings.settings.roles,
        saved_tools=saved_tools,
    )
    progress: Progress = Silent() if quiet else Lines(sys.stderr)
    built = build(sources, options, find(Path(opa) if opa is not None else None), progress)
    for finding in built.findings:
        progress.show(f"finding: {finding}")
    progress.show(f"published {sources.output.name}, revision {built.bundle.revision}")
    if format_ == "json":
        click.echo(jsontext.pretty(built.verification.model_dump(mode="json")), nl=False)
    return Exit.YES


def _sources(root: Path, given: dict[str, str | None]) -> Sources:
    paths = {name: Path(value) for name, value in given.items() if value is not None}
    questions = paths.pop("questions")
    return Sources(root=root, pending=questions / "kept", custom=paths.pop("custom", None), **paths)
