"""What a server answers to a greeting, in either era: the members that the protocol demands of it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class _Answer(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="ignore", defer_build=True)


class _Capabilities(_Answer):
    experimental: dict[str, dict[str, Any]] | None = None
    logging: dict[str, Any] | None = None
    prompts: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None
    tools: dict[str, Any] | None = None
    completions: dict[str, Any] | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    tasks: dict[str, Any] | None = None


class _Implementation(_Answer):
    name: str
    version: str


class Greeting(_Answer):
    """The answer to `initialize`."""

    protocol_version: str
    capabilities: _Capabilities
    server_info: _Implementation
    instructions: str | None = None


class Discovered(_Answer):
    """The answer to `server/discover`."""

    supported_versions: list[str]
    capabilities: _Capabilities
    instructions: str | None = None
