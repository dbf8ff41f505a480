"""Well-known MCP servers and how their tools are annotated: the files of `compiler/known_servers/`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ironcurtain.model.annotations import IdentifierRole, ToolAnnotation
from ironcurtain.model.varying import Varying
from ironcurtain.system.frozen import Frozen, ServerName


class KnownPackage(Frozen):
    """Where a server comes from."""

    registry: Literal["npm", "pypi"]
    name: str = Field(min_length=1)


class KnownStart(Frozen):
    """How a server was started to list its tools, without an account.

    Attributes:
        files: Files of its working directory, by name.
        with_: Packages that are installed beside it.
        needs: What has to run, in words.
    """

    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    with_: tuple[str, ...] = Field(default=(), alias="with")
    needs: str = ""


class KnownServer(Frozen):
    """One server of the collection.

    Attributes:
        versions: Versions whose tool lists were recorded, oldest first: `lists/<server>-<version>.json`. One
            that lists otherwise beside other versions of its libraries is there again, as `<version>~2`.
        data: Variables that name what it keeps for itself, each with a path in its data directory.
        contained_if: What has to hold of how the server is started before one of its tools is contained.
        roles: The identifier roles that its annotations use beside the built-in ones.
        tools: Annotations by the digest of the tool; none is ever taken out, so that what was annotated by
            it stays explained.
    """

    format: Literal["ironcurtain/known-server/v1"] = "ironcurtain/known-server/v1"
    server: ServerName
    package: KnownPackage
    versions: tuple[str, ...] = Field(min_length=1)
    start: KnownStart = Field(default_factory=KnownStart)
    varying: Varying | None = None
    data: dict[str, str] = Field(default_factory=dict)
    contained_if: str = ""
    roles: tuple[IdentifierRole, ...] = ()
    tools: tuple[ToolAnnotation, ...]

    @model_validator(mode="after")
    def _keyed_by_digest(self) -> KnownServer:
        digests = [tool.schema_digest for tool in self.tools]
        if None in digests or len(set(digests)) != len(digests):
            msg = "each tool has a schema_digest of its own"
            raise ValueError(msg)
        return self
