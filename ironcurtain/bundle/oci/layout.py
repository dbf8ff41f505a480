"""A bundle as an artifact of an OCI registry, in the layout that OPA's downloader and conftest read.

A manifest (`application/vnd.oci.image.manifest.v1+json`) names a config and one layer of type
`application/vnd.oci.image.layer.v1.tar+gzip`: the bundle's archive as it is, with its signature. Manifest and
config are functions of the archive, so the same bundle has the same digest everywhere.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ironcurtain.bundle.archive import Bundle
from ironcurtain.errors import RegistryError, UsageError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, JsonValue
from ironcurtain.system.loopback import is_loopback
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

SCHEME = "oci://"
MANIFEST: Literal["application/vnd.oci.image.manifest.v1+json"] = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"
MAX_MANIFEST = 1 << 22
"""The longest manifest that is read, in bytes: what registries take at most."""

_FILE_NAME = "bundle.tar.gz"
_HOST = r"(?P<host>\[[0-9a-fA-F:]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(?P<port>\d{1,5}))?"
_NAME = r"(?P<name>[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)"
_REFERENCE = re.compile(
    rf"oci://{_HOST}/{_NAME}(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


class Reference(Struct):
    """Where an artifact is: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`.

    Attributes:
        host: With its port, as it was written.
        name: The repository in the registry.
        tag: `latest` where neither tag nor digest is given; None with a digest alone.
        digest: Of the manifest, if it is demanded.
    """

    text: str
    host: str
    name: str
    tag: str | None
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Read a reference.

        Raises:
            UsageError: If it is none.
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{quoted(text)} names no artifact of a registry",
                hint="Write it as oci://HOST/NAME:TAG, in lower case, without a user or a password.",
            )
        host = match["host"] + (f":{match['port']}" if match["port"] else "")
        tag = match["tag"] or (None if match["digest"] else "latest")
        return cls(text, host, match["name"], tag, match["digest"])

    @property
    def is_loopback(self) -> bool:
        """Whether the registry is on this machine, so that nothing goes over a network."""
        return is_loopback(re.sub(r":\d+\Z", "", self.host).strip("[]"))

    @property
    def wanted(self) -> str:
        """What the manifest is asked for by: its digest, or else the tag."""
        return self.digest or self.tag or "latest"


class _Open(BaseModel):
    """What registries hold has more members than we read."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Descriptor(_Open):
    """What a manifest says of one blob."""

    media_type: str = Field(alias="mediaType")
    digest: Digest
    size: int = Field(ge=0)


class OciManifest(_Open):
    """An image manifest."""

    schema_version: Literal[2] = Field(alias="schemaVersion")
    media_type: Literal["application/vnd.oci.image.manifest.v1+json"] = Field(
        default=MANIFEST, alias="mediaType"
    )
    config: Descriptor
    layers: tuple[Descriptor, ...]


class Artifact(Struct):
    """A bundle as it is pushed.

    Attributes:
        config: The config's bytes.
        layer: The archive.
        manifest: The manifest's bytes.
    """

    config: bytes
    layer: bytes
    manifest: bytes

    @classmethod
    def of(cls, archive: bytes) -> Artifact:
        """Make the artifact of a bundle's archive."""
        bundle = Bundle.parse(archive, "the bundle")
        config = json_text.canonical(
            {
                "architecture": "unknown",
                "os": "unknown",
                "config": {},
                "rootfs": {"type": "layers", "diff_ids": [digest_of(gzip.decompress(archive))]},
            }
        )
        layer = {**_described(archive, LAYER), "annotations": {"org.opencontainers.image.title": _FILE_NAME}}
        manifest = json_text.canonical(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": _described(config, CONFIG),
                "layers": [layer],
                "annotations": {
                    "org.opencontainers.image.revision": bundle.revision,
                    "org.opencontainers.image.version": str(bundle.serial),
                },
            }
        )
        return cls(config, archive, manifest)

    @property
    def digest(self) -> str:
        """The digest by which the artifact is fetched."""
        return digest_of(self.manifest)


def digest_of(content: bytes) -> str:
    """Return `sha256:<hex>` as registries write it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def layer_of(content: bytes, where: str) -> Descriptor:
    """Return the one layer of a manifest that holds the bundle.

    Raises:
        RegistryError: If the manifest is none of a bundle: an index of several, another artifact.
    """
    try:
        parsed = json_text.parse(content.decode(), max_bytes=MAX_MANIFEST)
        if isinstance(parsed, dict) and parsed.get("mediaType") == INDEX:
            raise RegistryError(
                "an index of several artifacts is there",
                where=where,
                hint="Name the one that is meant by digest.",
            )
        manifest = OciManifest.model_validate_json(json_text.canonical(parsed))
    except (UnicodeDecodeError, json_text.MalformedJsonError, ValidationError) as error:
        raise RegistryError("no manifest of a bundle is there", where=where) from error
    layers = [layer for layer in manifest.layers if layer.media_type == LAYER]
    if len(layers) != 1 or len(manifest.layers) != 1:
        raise RegistryError(
            f"the manifest has {len(manifest.layers)} layers and {len(layers)} archives; a bundle has one",
            where=where,
            hint="What `conftest push` and image builders write is no bundle: see who put it there.",
        )
    return layers[0]


def _described(content: bytes, media_type: str) -> dict[str, JsonValue]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}
