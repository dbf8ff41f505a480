"""The in-toto statement about a bundle, made of what its manifest says."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pydantic import ValidationError

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance_model import (
    BuildDefinition,
    Builder,
    Provenance,
    ProvenancePredicate,
    ResourceDescriptor,
    RunDetails,
    Sha256,
    Statement,
)
from ironcurtain.errors import BundleIntegrityError
from ironcurtain.system import json_text

_MADE_OF = ("constitution", "tools", "prompts", "scenarios")


def provenance_of(bundle: Bundle) -> Provenance:
    """Return what the manifest of a compiled bundle says about its origin.

    Raises:
        BundleIntegrityError: If it says nothing (a bundle of hand-written rules), or something else.
    """
    try:
        return Provenance.model_validate_json(json_text.canonical(bundle.manifest.metadata.provenance))
    except ValidationError:
        raise BundleIntegrityError(
            "the manifest does not say what the bundle was made from",
            where=".manifest",
            hint="Only `ironcurtain compile` knows.",
        ) from None


def statement(bundle: Bundle, archives: Mapping[str, bytes]) -> Statement:
    """Return the statement about a compiled bundle.

    `archives` are its archives by file name: the subjects of the statement.

    Raises:
        BundleIntegrityError: If the manifest says nothing about the origin.
    """
    origin = provenance_of(bundle)
    made_of = origin.model_dump(include=set(_MADE_OF))
    return Statement(
        subject=tuple(_resource(name, data) for name, data in sorted(archives.items())),
        predicate=ProvenancePredicate(
            build_definition=BuildDefinition(
                external_parameters={"serial": bundle.serial},
                resolved_dependencies=tuple(
                    ResourceDescriptor(name=name, digest=Sha256(sha256=made_of[name].removeprefix("sha256:")))
                    for name in _MADE_OF
                )
                + tuple(
                    ResourceDescriptor(
                        name=each.path, digest=Sha256(sha256=each.digest.removeprefix("sha256:"))
                    )
                    for each in origin.sources
                ),
            ),
            run_details=RunDetails(
                builder=Builder(
                    version={"ironcurtain": origin.version, "opa": bundle.manifest.metadata.engine_version}
                )
            ),
            revision=bundle.revision,
            answered_by=origin.answered_by,
            checks=origin.checks,
        ),
    )


def _resource(name: str, content: bytes) -> ResourceDescriptor:
    return ResourceDescriptor(name=name, digest=Sha256(sha256=hashlib.sha256(content).hexdigest()))
