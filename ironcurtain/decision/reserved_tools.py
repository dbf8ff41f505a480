"""Requests other than tool calls, decided as calls of reserved tools of a server (specification 2.10).

Their annotations are ours; a bundle may annotate one of them itself, to another end. Like any tool they can
be called only where the bundle lists them, and building a bundle lists them where a rule could apply to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ironcurtain.decision.rule_scope import can_apply
from ironcurtain.model.annotations import (
    Annotations,
    Argument,
    Conditional,
    IdentifierRole,
    ToolAnnotation,
    When,
)
from ironcurtain.model.facts import conditions_of
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

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
_TEXT: dict[str, JsonValue] = {"type": "string"}
_OBJECT: dict[str, JsonValue] = {"type": "object"}


def _schema(properties: Mapping[str, JsonValue], optional: Collection[str] = ()) -> dict[str, JsonValue]:
    required: list[JsonValue] = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


def _plain(name: str, properties: Mapping[str, JsonValue], optional: Collection[str] = ()) -> ToolAnnotation:
    return ToolAnnotation(
        tool=name,
        side_effects=True,
        input_schema=_schema(properties, optional),
        args=tuple(Argument(name=argument, roles=("none",)) for argument in properties),
    )


RESERVED = {
    READ_RESOURCE: ToolAnnotation(
        tool=READ_RESOURCE,
        side_effects=True,
        contained=True,
        input_schema=_schema({"uri": _TEXT, "scheme": {**_TEXT, "enum": [*_URI_ROLES]}}),
        args=(
            Argument(
                name="uri",
                conditional=Conditional(
                    default=tuple(_URI_ROLES.values()),
                    when=tuple(
                        When(arg="scheme", equals=scheme, roles=(role,))
                        for scheme, role in _URI_ROLES.items()
                    ),
                ),
            ),
            Argument(name="scheme", roles=("none",)),
        ),
    ),
    GET_PROMPT: _plain(
        GET_PROMPT, {"name": _TEXT, "arguments": {**_OBJECT, "additionalProperties": {**_TEXT}}}
    ),
    COMPLETE: _plain(COMPLETE, {"ref": _OBJECT, "argument": _OBJECT, "context": _OBJECT}, {"context"}),
    SAMPLING: _plain(SAMPLING, {"request": _OBJECT}),
    ELICITATION: _plain(ELICITATION, {"request": _OBJECT}),
}
"""The annotation of each reserved tool, by its name; its schema takes the calls that requests are made."""


def is_reserved(tool: ToolAnnotation) -> bool:
    """Tell whether an annotated tool is one that no server lists."""
    return tool.tool in RESERVED and tool.schema_digest is None


def with_reserved(annotations: Annotations, policy: CompiledPolicy) -> Annotations:
    """Return annotations that list the reserved tools which rules could apply to, and no others of ours."""
    return with_listed(without_reserved(annotations), applicable(annotations, policy))


def applicable(annotations: Annotations, policy: CompiledPolicy) -> dict[tuple[str, str], str]:
    """Return by server and name the reserved tools that the rules of a policy could apply to.

    The value names what it is listed for: the first rule that could permit calls of it, or the first rule or
    fact that names it. What a bundle annotates itself is not among them.
    """
    own = without_reserved(annotations)
    return {
        (server, name): reason
        for server in own.servers
        for name, tool in RESERVED.items()
        if own.find(server, name) is None and (reason := _reason(policy, server, tool)) is not None
    }


def _reason(policy: CompiledPolicy, server: str, tool: ToolAnnotation) -> str | None:
    conditions = [(rule.name, rule.if_, rule.then) for rule in policy.rules]
    conditions += [(name, condition, Verdict.DENY) for name, condition in conditions_of(policy.facts)]
    return next(
        (
            name
            for name, condition, then in conditions
            if (condition.tool is not None and condition.is_about(server, tool.tool))
            or (then is not Verdict.DENY and can_apply(condition, then, server, tool))
        ),
        None,
    )


def with_listed(annotations: Annotations, places: Iterable[tuple[str, str]]) -> Annotations:
    """Return annotations that list reserved tools, by server and name, and the role that these need."""
    named = [*places]
    servers = {
        server: annotated.model_copy(
            update={"tools": (*annotated.tools, *(RESERVED[name] for of, name in named if of == server))}
        )
        for server, annotated in annotations.servers.items()
    }
    lacks = RESOURCE_URI.name not in {role.name for role in annotations.roles}
    needed = (RESOURCE_URI,) if lacks and any(name == READ_RESOURCE for _, name in named) else ()
    return annotations.model_copy(update={"servers": servers, "roles": (*annotations.roles, *needed)})


def without_reserved(annotations: Annotations) -> Annotations:
    """Return annotations of what servers list, and of reserved tools that are annotated to another end."""
    servers = {
        server: annotated.model_copy(
            update={"tools": tuple(tool for tool in annotated.tools if tool != RESERVED.get(tool.tool))}
        )
        for server, annotated in annotations.servers.items()
    }
    own = annotations.model_copy(update={"servers": servers})
    used = {role for tool in own.tools().values() for each in tool.args for role in each.possible_roles}
    roles = tuple(r for r in annotations.roles if r != RESOURCE_URI or r.name in used)
    return own.model_copy(update={"roles": roles})


def listed_lines(annotations: Annotations, policy: CompiledPolicy) -> list[str]:
    """Say which reserved tools a bundle lists, and for which rule; no line where there are none."""
    listed = applicable(annotations, policy)
    shown = ", ".join(f"{visible(s)}/{name} ({visible(rule)})" for (s, name), rule in listed.items())
    return [f"requests beside tool calls that rules could apply to are listed: {shown}"] if listed else []
