"""What commands that report about a policy read: the bundle and the files of its project.

A report assumes the world of the policy's scenarios.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar, Unpack

from pydantic import BaseModel

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.bundle.published import SIGNED_ARCHIVE, TEST_SCENARIOS
from ironcurtain.cli.options.options import TrustOptions
from ironcurtain.cli.options.project import Project, read_project
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import UsageError
from ironcurtain.model.scenarios import DescribedWorld, Scenario, Scenarios
from ironcurtain.settings import Settings, find_settings
from ironcurtain.system.files import has_content, load
from ironcurtain.system.structs import Struct

BUNDLE = "bundle"
"""The name of the published directory that holds a project's bundle."""

_PLAIN = DescribedWorld(sandbox="/home/user/sandbox")
_NONE = Scenarios(format="ironcurtain/scenarios/v1", world=_PLAIN, scenarios=())

M = TypeVar("M", bound=BaseModel)


class PolicyRead(Struct):
    """A policy as it lies on disk.

    Attributes:
        place: Where the bundle lies.
        project: The project that the bundle belongs to, or one with default settings.
        world: The world that the scenarios assume.
        scenarios: The scenarios; None if there are none.
    """

    bundle: Bundle
    place: Path
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


def opa_command(opa: str | None) -> OpaCommand:
    """Return the OPA that the option `--opa` names, or the one that is found."""
    return OpaCommand(find(Path(opa) if opa else None))


def read_rendered(bundle: str, **trust: Unpack[TrustOptions]) -> Bundle:
    """Open a bundle whose Rego is what its rules say.

    Raises:
        BundleSignatureError, BundleIntegrityError: If the bundle is not what it has to be.
        EvidenceError: If the bundle does not hold its rules' conditions.
        VerificationError: If its Rego is not what its rules say.
    """
    from ironcurtain.compiler.render.rendered import check_rendered

    read = open_bundle(Path(bundle), Trust.of(**trust))
    check_rendered(read)
    return read


def read_policy(
    bundle: str | None, config: str | None, scenarios: str | None, **trust: Unpack[TrustOptions]
) -> PolicyRead:
    """Read a bundle that was named, or the project's, and what lies beside it.

    A bundle that was named belongs to the project above it, if there is one.

    Raises:
        UsageError: If neither is there; others as `read_rendered`.
    """
    from ironcurtain.analysis.sequences.steps import single_calls

    project = read_project(config) if bundle is None or config is not None else project_of(Path(bundle))
    path = bundle if bundle is not None else _bundle_of(project, BUNDLE)
    read = read_rendered(path, **trust)
    assumed = single_calls(assumed_scenarios(path, scenarios), read)
    return PolicyRead(
        read, Path(path), project, assumed.world, None if assumed is _NONE else assumed.scenarios
    )


def bundle_or_project(bundle: str | None, config: str | None = None, name: str = BUNDLE) -> str:
    """Return the bundle that was named, or the project's: that of the nearest settings upwards.

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


def project_of(bundle: Path) -> Project:
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


def assumed_world(bundle: str, given: str | None) -> DescribedWorld:
    """Return the world of a scenarios file, of the one beside a bundle, or a plain one with a sandbox.

    Raises:
        UsageError: If the file that was named does not exist.
    """
    return assumed_scenarios(bundle, given).world


def assumed_scenarios(bundle: str, given: str | None) -> Scenarios:
    """Return a scenarios file, the one beside a bundle, or no scenarios in a plain world with a sandbox.

    Raises:
        UsageError: If the file that was named does not exist.
    """
    if given is not None and not Path(given).exists():
        raise UsageError("no scenarios: the file does not exist", where=given)
    path = Path(given) if given else Path(bundle).absolute().parent / TEST_SCENARIOS
    return load(path, Scenarios) if path.exists() else _NONE
