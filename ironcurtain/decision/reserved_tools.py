"""Requests other than tool calls, decided as calls of reserved tools of every server (specification 2.10).

Their annotations are ours. A bundle may annotate one of them itself, to another end. Like any tool they are
denied unless a rule allows them; a rule that names no tool (reading below a directory) speaks of them too.
"""

from __future__ import annotations

from collections.abc import Iterable

from ironcurtain.model.annotations import Argument, Conditional, IdentifierRole, ToolAnnotation, When

READ_RESOURCE = "mcp/resources-read"
"""`uri` is a path where `scheme` is `file`, an address where it is `web`, else an identifier."""
GET_PROMPT = "mcp/prompts-get"
COMPLETE = "mcp/complete"
SAMPLING = "mcp/sampling"
ELICITATION = "mcp/elicitation"

RESOURCE_URI = IdentifierRole(
    name="resource-uri",
    description="The URI of an MCP resource that is neither a file nor a web address.",
    case="exact",
)

_URI_ROLES = {"file": "read-path", "web": "fetch-url", "other": RESOURCE_URI.name}


def _plain(name: str, *arguments: str) -> ToolAnnotation:
    return ToolAnnotation(
        tool=name,
        side_effects=True,
        args=tuple(Argument(name=argument, roles=("none",)) for argument in arguments),
    )


RESERVED = {
    READ_RESOURCE: ToolAnnotation(
        tool=READ_RESOURCE,
        side_effects=True,
        contained=True,
        args=(
            Argument(
                name="uri",
                required=True,
                conditional=Conditional(
                    default=tuple(_URI_ROLES.values()),
                    when=tuple(
                        When(arg="scheme", equals=scheme, roles=(role,))
                        for scheme, role in _URI_ROLES.items()
                    ),
                ),
            ),
            Argument(name="scheme", roles=("none",), required=True),
        ),
    ),
    GET_PROMPT: _plain(GET_PROMPT, "name", "arguments"),
    COMPLETE: _plain(COMPLETE, "ref", "argument", "context"),
    SAMPLING: _plain(SAMPLING, "request"),
    ELICITATION: _plain(ELICITATION, "request"),
}
"""The annotation of each reserved tool, by its name."""


def is_reserved(tool: ToolAnnotation) -> bool:
    """Tell whether an annotated tool is one that no server lists."""
    return tool.tool in RESERVED and tool.schema_digest is None


def with_reserved_roles(roles: Iterable[IdentifierRole]) -> tuple[IdentifierRole, ...]:
    """Return a project's roles and those that the reserved tools need."""
    own = tuple(roles)
    return own if any(role.name == RESOURCE_URI.name for role in own) else (*own, RESOURCE_URI)
