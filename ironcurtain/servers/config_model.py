"""The servers that are governed: `mcp-servers.json`, the ecosystem's own shape plus our keys.

Unknown keys are kept and named once (other programs own them); ours are strict, and a key that is
nearly one of ours is an error, because a misspelt `sandbox` must not be taken for somebody else's key.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ironcurtain.system.frozen import Frozen, ServerName

PROTOCOL_META = "io.modelcontextprotocol/"
"""What the names of the protocol's own members of `_meta` begin with."""


class NetworkSettings(Frozen):
    """What a server may reach; `allowedDomains` is its domain list (specification 2.5)."""

    allowed_domains: tuple[str, ...] | None = Field(default=None, alias="allowedDomains")
    denied_domains: tuple[str, ...] = Field(default=(), alias="deniedDomains")


class FilesystemSettings(Frozen):
    """What a sandboxed server may touch, beside what it may without being told.

    Attributes:
        deny_read: Paths that it cannot read.
        allow_read: Paths that it can read although they lie in one that is denied.
        allow_write: Paths that it can write, beside the session's sandbox.
        deny_write: Paths in those that it cannot write.
    """

    deny_read: tuple[str, ...] = Field(default=(), alias="denyRead")
    allow_read: tuple[str, ...] = Field(default=(), alias="allowRead")
    allow_write: tuple[str, ...] = Field(default=(), alias="allowWrite")
    deny_write: tuple[str, ...] = Field(default=(), alias="denyWrite")


class SandboxSettings(Frozen):
    """How a server is contained."""

    filesystem: FilesystemSettings = Field(default_factory=FilesystemSettings)
    network: NetworkSettings = Field(default_factory=NetworkSettings)


class SandboxDefaults(Frozen):
    """How servers are contained: the key `sandbox` beside `mcpServers`.

    Attributes:
        policy: What happens where this machine cannot contain them: `enforce` refuses to start, `warn`
            starts them uncontained and says so, `skip` only records it.
        program: The sandbox runtime's command; None looks for `srt`.
        filesystem: What holds for every server, beside its own.
    """

    policy: Literal["enforce", "warn", "skip"] = "enforce"
    program: str | None = None
    filesystem: FilesystemSettings = Field(default_factory=FilesystemSettings)


class Server(BaseModel):
    """One MCP server: a command over stdio, a URL, or only a saved tool list.

    Attributes:
        working_root: Directory that its relative paths are resolved against (default: the sandbox).
        sandbox: How it is contained; false opts out.
        pass_meta: Members of a request's `_meta` that reach it, beside what the protocol needs; no rule
            judges them.
        tools: File with a saved `tools/list` result, for servers that cannot be started here.
        builtin: The client whose built-in tools these are, instead of a command: it runs them itself, and its
            hooks ask about them.
        gateway: Module of tools of one's own, which run in the proxy itself, instead of a command.
        output: By tool, its output policy: by path `allow`, `mask` or `redact`.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    type: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    working_root: str | None = Field(default=None, alias="workingRoot")
    sandbox: SandboxSettings | Literal[False] | None = None
    pass_meta: tuple[str, ...] = Field(default=(), alias="passMeta")
    tools: str | None = None
    builtin: Literal["claude-code"] | None = None
    gateway: str | None = None
    output: dict[str, dict[str, str]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Server:
        if self.command and self.url:
            msg = "give command or url, not both"
            raise ValueError(msg)
        if self.gateway and (self.command or self.url or self.tools or self.output):
            msg = "a gateway has neither command, url, tools nor output: its module says all of that"
            raise ValueError(msg)
        if self.builtin and (self.command or self.url or self.tools or self.gateway):
            msg = (
                "a client's built-in tools have neither command, url, tools nor gateway: the client runs them"
            )
            raise ValueError(msg)
        if not (self.command or self.url or self.tools or self.gateway or self.builtin):
            msg = "give command, url, tools, gateway or builtin"
            raise ValueError(msg)
        return self

    @field_validator("pass_meta")
    @classmethod
    def _not_the_protocols_own(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if reserved := [name for name in names if name == "progressToken" or name.startswith(PROTOCOL_META)]:
            msg = f"passMeta: {reserved[0]} belongs to the protocol"
            raise ValueError(msg)
        return names

    @property
    def domains(self) -> tuple[str, ...] | None:
        """The server's domain list, or None if it has no domain gate."""
        return self.sandbox.network.allowed_domains if isinstance(self.sandbox, SandboxSettings) else None

    @property
    def foreign_keys(self) -> tuple[str, ...]:
        """Keys that are not ours, kept for whoever they belong to."""
        return tuple(sorted(self.model_extra or {}))


class Servers(BaseModel):
    """The file `mcp-servers.json`."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    servers: dict[ServerName, Server] = Field(alias="mcpServers")
    sandbox: SandboxDefaults = Field(default_factory=SandboxDefaults)
