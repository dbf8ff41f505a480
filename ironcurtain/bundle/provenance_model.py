"""Where a bundle came from (`provenance.json`): an in-toto statement, its predicate after SLSA's.

It says what the bundle's manifest says, in the form that tools of the supply chain read. Only the manifest is
signed, so it is the manifest that proves something.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from ironcurtain.system.frozen import Digest, Frozen

PREDICATE: Literal["urn:ironcurtain:provenance:v1"] = "urn:ironcurtain:provenance:v1"
BUILD: Literal["urn:ironcurtain:compile:v1"] = "urn:ironcurtain:compile:v1"

Hex: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Camel(Frozen):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Sha256(Frozen):
    """A digest as in-toto writes it."""

    sha256: Hex


class ResourceDescriptor(Frozen):
    """A file, or a set of them, by the digest of its content."""

    name: str
    digest: Sha256


class BuildDefinition(_Camel):
    """What was asked for, and what it was made of.

    Attributes:
        external_parameters: The serial number that configuration gave the policy.
        resolved_dependencies: Constitution, tool schemas, prompts (each as it was sent) and scenarios.
    """

    build_type: Literal["urn:ironcurtain:compile:v1"] = BUILD
    external_parameters: dict[str, int]
    resolved_dependencies: tuple[ResourceDescriptor, ...]


class Builder(Frozen):
    """Who made it: this compiler, with the versions of itself and of OPA."""

    id: Literal["urn:ironcurtain:compile:v1"] = BUILD
    version: dict[str, str]


class RunDetails(Frozen):
    """How it was made; no times, so that making it again gives the same statement."""

    builder: Builder


class ProvenancePredicate(_Camel):
    """The statement's content.

    Attributes:
        revision: The bundle's revision, which signed and unsigned archive and the directory share.
        answered_by: The models that answered, as `provider:model`; `manual` for people.
        checks: What was verified: by check, how many things were looked at.
    """

    build_definition: BuildDefinition
    run_details: RunDetails
    revision: Digest
    answered_by: tuple[str, ...]
    checks: dict[str, int]


class Statement(_Camel):
    """An in-toto statement, version 1; its subjects are the archives."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(
        default="https://in-toto.io/Statement/v1", alias="_type"
    )
    subject: tuple[ResourceDescriptor, ...] = Field(min_length=1)
    predicate_type: Literal["urn:ironcurtain:provenance:v1"] = PREDICATE
    predicate: ProvenancePredicate


SourceKind = Literal[
    "constitution",
    "user constitution",
    "scenarios",
    "answers",
    "lists",
    "confirmations",
    "custom",
    "settings",
]


class Source(Frozen):
    """A file that people wrote and a compile read.

    Attributes:
        path: Where it lay, relative to the project, or its name where it lay outside.
        digest: Of its text with line ends of one character; for the settings, of those that a compile uses.
    """

    kind: SourceKind
    path: str
    digest: Digest


class Provenance(Frozen):
    """What the manifest of a compiled bundle says about its origin.

    Attributes:
        sources: The files that people wrote, one by one.
        constitution: Digest of its text, the user's own guidance included.
        tools: Digest of the servers' tool lists.
        prompts: Digest of every question whose answer was used.
        scenarios: Digest of `test-scenarios.json`.
        answered_by: Who answered, as `provider:model`; `manual` for people.
        checks: What was verified: by check, how many things were looked at.
        version: The version of IronCurtain.
    """

    sources: tuple[Source, ...]
    constitution: Digest
    tools: Digest
    prompts: Digest
    scenarios: Digest
    answered_by: tuple[str, ...]
    checks: dict[str, int]
    version: str
