"""The tools of one gateway: the registry that is served, and what it tells of them.

gateway = Gateway("support", tools=[get_ticket, close_ticket], permissions=["tickets:read", "tickets:write"])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import currentframe
from types import MappingProxyType

from pydantic import JsonValue, TypeAdapter, ValidationError

from ironcurtain.errors import GatewayError, IronCurtainError, Place, raise_all
from ironcurtain.gateway.command import Command
from ironcurtain.gateway.definition import PUBLIC, Tool
from ironcurtain.gateway.keywords import near
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.system.frozen import ServerName
from ironcurtain.system.text import quoted

MAX_TOOLS = 1_000
_NAME: TypeAdapter[str] = TypeAdapter(ServerName)
_HINTS: Mapping[str, dict[str, JsonValue]] = {
    "read": {"readOnlyHint": True},
    "write": {"readOnlyHint": False, "destructiveHint": False},
    "destructive": {"readOnlyHint": False, "destructiveHint": True},
}


class Gateway:
    """Tools under one name. It is frozen: what is served is what was declared.

    Args:
        name: The gateway's name; its tools are offered as `NAME__TOOL`.
        tools: What `define_tool` returned.
        permissions: Every permission that tools may require; without it, whatever they require exists.
        roles: Kinds of identifiers that fields are marked with beside the built-in roles.
        allowed_commands: Programs that tools may run, by absolute path; without it, any.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[Tool],
        *,
        permissions: Sequence[str] | None = None,
        roles: Sequence[IdentifierRole] = (),
        allowed_commands: Sequence[str] | None = None,
    ) -> None:
        frame = currentframe()
        caller = frame.f_back if frame is not None else None
        self.name = name
        self.place = Place(caller.f_code.co_filename, caller.f_lineno) if caller else Place("?")
        self._given = tuple(tools)
        self.roles = tuple(roles)
        self._permissions = frozenset(permissions) if permissions is not None else None
        self._allowed = frozenset(allowed_commands) if allowed_commands is not None else None
        self.tools: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in self._given})

    @cached_property
    def permissions(self) -> frozenset[str]:
        """Every permission that there is."""
        required = {name for tool in self._given for name in (*tool.permissions, *tool.elevated_permissions)}
        return (self._permissions if self._permissions is not None else frozenset(required)) | {PUBLIC}

    def restricted(self, tools: Collection[str]) -> Gateway:
        """Return the same gateway with some of its tools: the others are not there at all."""
        kept = [tool for tool in self._given if tool.name in tools]
        return Gateway(
            self.name,
            kept,
            permissions=sorted(self.permissions),
            roles=self.roles,
            allowed_commands=None if self._allowed is None else sorted(self._allowed),
        )

    def check(self) -> None:
        """Hold everything against the rules.

        Raises:
            GatewayError, SeveralErrors: With everything that is wrong, each with file and line.
        """
        raise_all(list(self._problems()))

    def _problems(self) -> list[IronCurtainError]:
        found: list[IronCurtainError] = [problem for tool in self._given for problem in tool.problems]
        try:
            _NAME.validate_python(self.name)
        except ValidationError:
            found.append(
                self._wrong(f"{quoted(str(self.name))} is no name", "Use letters, digits, `-` and `_`.")
            )
        if not self._given:
            found.append(self._wrong("it has no tools", "Give it what define_tool returns."))
        if len(self._given) > MAX_TOOLS:
            found.append(self._wrong(f"it has more than {MAX_TOOLS:,} tools", "Make several gateways."))
        counts = Counter(tool.name for tool in self._given)
        for tool in self._given:
            found += self._problems_of(tool, counts[tool.name])
        return found

    def _problems_of(self, tool: Tool, count: int) -> list[IronCurtainError]:
        """Return what is wrong with a tool in this gateway."""
        found: list[IronCurtainError] = []

        def wrong(what: str, hint: str) -> None:
            found.append(GatewayError(f"tool {quoted(tool.name)}: {what}", where=tool.place, hint=hint))

        if count > 1:
            wrong("another tool has the same name", "Rename one of the two.")
        for name in sorted({*tool.permissions, *tool.elevated_permissions} - self.permissions):
            hint = f"{near(name, tuple(sorted(self.permissions)))} Or add it to the gateway's permissions."
            wrong(f"the permission {quoted(name)} does not exist", hint)
        handler = tool.handler
        allowed = self._allowed
        if isinstance(handler, Command) and allowed is not None and handler.program not in allowed:
            wrong(f"it may not run {quoted(handler.program)}", "Add the program to allowed_commands.")
        return found

    def _wrong(self, what: str, hint: str) -> GatewayError:
        return GatewayError(f"gateway {quoted(str(self.name))}: {what}", where=self.place, hint=hint)

    def listings(self) -> list[dict[str, JsonValue]]:
        """Return the tools as the protocol lists them, with the schemas of whole answers."""
        return [listing(tool) for tool in self.tools.values()]


def listing(tool: Tool) -> dict[str, JsonValue]:
    """Return a tool as the protocol lists it, with the schema of its whole answer."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema(),
        "outputSchema": tool.output_schema(),
        "annotations": dict(_HINTS[tool.classification]),
    }
