"""The `.manifest` of a bundle: what OPA needs, and where the bundle came from."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, ValidationError

from ironcurtain.errors import BundleIntegrityError, NewerFormatError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, Frozen, JsonValue
from ironcurtain.system.text import quoted, visible

FORMAT: Literal["ironcurtain/bundle/v1"] = "ironcurtain/bundle/v1"
ROOT = "ironcurtain"
_MAX_BYTES = 1 << 20


class Metadata(Frozen):
    """Our part of the manifest.

    Attributes:
        serial: An integer from configuration that only grows, for "not older than".
        engine_version: The version of OPA that checked the bundle.
        suffixes: Digest of the list of public suffixes that patterns were checked against.
        digests: SHA-256 of every file that counts for the revision, to name the one that was changed.
        provenance: What the bundle was made from (digests of constitution, tool schemas, prompts, …).
    """

    format: Literal["ironcurtain/bundle/v1"]
    serial: int = Field(ge=0)
    engine_version: str
    suffixes: str
    digests: dict[str, str] = Field(default_factory=dict)
    provenance: dict[str, JsonValue] = Field(default_factory=dict)


class Manifest(Frozen):
    """The file `.manifest` as OPA reads it."""

    roots: tuple[Literal["ironcurtain"], ...] = Field(min_length=1, max_length=1)
    revision: Digest
    rego_version: Literal[1]
    metadata: Metadata

    def text(self) -> str:
        """Return the file's content, byte-stable."""
        return json_text.pretty(self.model_dump(mode="json"))


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Read a manifest; `where` names the bundle in errors.

    Raises:
        NewerFormatError: If a newer IronCurtain wrote the bundle.
        BundleIntegrityError: If it is no manifest of ours.
    """
    try:
        value = json_text.parse(content, max_bytes=_MAX_BYTES)
        _refuse_newer(value, where)
        return Manifest.model_validate_json(json_text.canonical(value))
    except json_text.MalformedJsonError as error:
        raise BundleIntegrityError(
            f"its .manifest is not valid JSON: {visible(str(error))}", where=where
        ) from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = "/".join(str(step) for step in problem["loc"])
        raise BundleIntegrityError(
            f"its .manifest is not one of ours: {visible(place)}: {visible(problem['msg'])}",
            where=where,
            hint="Give a bundle that `ironcurtain bundle` or `ironcurtain compile` wrote.",
        ) from None


def _refuse_newer(value: JsonValue, where: str) -> None:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    version = metadata.get("format") if isinstance(metadata, dict) else None
    newer = re.fullmatch(r"ironcurtain/bundle/v([0-9]{1,9})", version) if isinstance(version, str) else None
    if newer and int(newer[1]) > 1:
        raise NewerFormatError(
            f"the bundle is of format {quoted(str(version))}; this IronCurtain reads {FORMAT}",
            where=where,
            hint="Update IronCurtain.",
        )
