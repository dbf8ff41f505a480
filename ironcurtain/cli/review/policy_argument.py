"""What commands that report about a policy read: the bundle, and the files of its project beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.bundle.published import SIGNED_ARCHIVE
from ironcurtain.cli.options.project import Project, read_project
from ironcurtain.cli.review.assumed_facts import assumed_world
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.errors import UsageError
from ironcurtain.model.scenarios import DescribedWorld, Scenario, Scenarios
from ironcurtain.settings import Settings, find_settings
from ironcurtain.system.files import has_content, load

BUNDLE = "bundle"
"""The name of the published directory that holds a project's bundle."""

_SCENARIOS = "test-scenarios.json"
_UNVERIFIED = Trust()

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class PolicyRead:
    """A policy as it lies on disk.

    Attributes:
        project: The project that the bundle belongs to, or one with default settings.
        world: The world that the scenarios assume.
        scenarios: The scenarios; None if there are none.
    """

    bundle: Bundle
    project: Project
    world: DescribedWorld
    scenarios: tuple[Scenario, ...] | None

    def beside(self, given: str | None, name: str, model: type[M]) -> M | None:
        """Read a file that was named, or the project's of a name if there is one.

        Raises:
            FileError, FormatError, NewerFormatError: If the file cannot be read.
        """
        path = Path(given) if given is not None else self.project.root / name
        return load(path, model) if given is not None or has_content(path) else None


def read_policy(
    bundle: str | None, config: str | None, scenarios: str | None, trust: Trust = _UNVERIFIED
) -> PolicyRead:
    """Read a bundle that was named, or the project's, and what lies beside it.

    A bundle that was named belongs to the project above it, if there is one.

    Raises:
        UsageError: If neither is there.
        BundleSignatureError, BundleIntegrityError: If the bundle is not what it has to be.
        EvidenceError: If the bundle does not hold its rules' conditions.
        VerificationError: If its Rego is not what its rules say.
    """
    project = read_project(config) if bundle is None or config is not None else _project_of(Path(bundle))
    path = Path(bundle if bundle is not None else _bundle_of(project, BUNDLE))
    read = open_bundle(path, trust)
    check_rendered(read)
    world = assumed_world(str(path), scenarios)
    tests = Path(scenarios) if scenarios is not None else path.absolute().parent / _SCENARIOS
    return PolicyRead(
        bundle=read,
        project=project,
        world=world,
        scenarios=load(tests, Scenarios).scenarios if tests.exists() else None,
    )


def bundle_or_project(bundle: str | None, config: str | None = None, name: str = BUNDLE) -> str:
    """Return the bundle that was named, or the project's: that of the nearest settings upwards.

    Args:
        bundle: The bundle that was named, if one was.
        config: The project's settings, if they were named.
        name: The bundle's name among what the project publishes.

    Raises:
        UsageError: If neither is there.
    """
    return bundle if bundle is not None else _bundle_of(read_project(config), name)


def _bundle_of(project: Project, name: str) -> str:
    output = project.path("output")
    path = os.path.relpath(output / name)  # as a person finds it from here
    if not Path(path).exists():
        is_unsigned = name == SIGNED_ARCHIVE and (output / BUNDLE).exists()
        signing = "Sign what is compiled: `ironcurtain compile --locked --sign`"
        hint = f"{signing if is_unsigned else 'Compile first'}, or name one with --bundle."
        raise UsageError("there is no bundle", where=path, hint=hint)
    return path


def _project_of(bundle: Path) -> Project:
    """Return the project whose output a bundle is, or one with default settings in its directory."""
    settings = find_settings(bundle.absolute().parent)
    if settings is not None:
        project = read_project(str(settings))
        if project.path("output").absolute() == bundle.absolute().parent:
            return project
    return Project(None, bundle.absolute().parent, Settings())


def path_or_none(given: str | None) -> Path | None:
    """Return an option's value as a path."""
    return Path(given) if given is not None else None
