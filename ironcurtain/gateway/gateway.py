"""The tools of one gateway: the registry that is served, and what it tells of them.

    gateway = Gateway("support", tools=[get_ticket, close_ticket], permissions=["tickets:read"])

`ironcurtain serve` reads it from a module of the team's own, which is as trusted as its policy: it runs in
the gateway's process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import currentframe
from pathlib import Path
from types import MappingProxyType, ModuleType

from pydantic import JsonValue, TypeAdapter, ValidationError

from ironcurtain.errors import FileError, GatewayError, IronCurtainError, Place, raise_all
from ironcurtain.gateway.command import Command
from ironcurtain.gateway.definition import PUBLIC, Tool
from ironcurtain.gateway.keywords import near
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.system.frozen import ServerName
from ironcurtain.system.ownership import check_own
from ironcurtain.system.text import quoted, visible

_read: dict[Path, Gateway] = {}


def load_gateway(path: Path) -> Gateway:
    """Run a module, once a process, and return its gateway: the one that it makes, or one of all its tools.

    Raises:
        FileError: If it cannot be read, or others could change it.
        GatewayError, SeveralErrors: With everything that is wrong with it, each with file and line.
    """
    place = path.absolute()
    if place not in _read:
        if not place.is_file():
            raise FileError("there is no such file", where=str(path), hint="Name a Python file of tools.")
        check_own(place, "the module of tools")
        _read[place] = _gateway_of(_run(place), path)
    gateway = _read[place]
    gateway.check()
    return gateway


def _run(place: Path) -> ModuleType:
    name = f"ironcurtain_tools_{place.stem}"
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise GatewayError("it is no Python module", where=str(place), hint="Name a file that ends with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Its own neighbours can be imported, and stand in the way of nothing else.
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    try:
        # Standard output may be the protocol's.
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except Exception as error:
        line = next(
            (
                frame.lineno
                for frame in reversed(traceback.extract_tb(error.__traceback__))
                if frame.filename == str(place)
            ),
            error.lineno if isinstance(error, SyntaxError) else None,
        )
        raise GatewayError(
            f"the module does not run: {type(error).__name__}: {visible(str(error))}",
            where=Place(str(place), line),
            hint="Run it with Python to see more.",
        ) from error
    return module


def _gateway_of(module: ModuleType, path: Path) -> Gateway:
    values = list(vars(module).values())
    gateways = list({id(each): each for each in values if isinstance(each, Gateway)}.values())
    if len(gateways) == 1:
        return gateways[0]
    if gateways:
        raise GatewayError(
            f"the module makes {len(gateways)} gateways", where=str(path), hint="Make one gateway a module."
        )
    tools = list({id(each): each for each in values if isinstance(each, Tool)}.values())
    name = path.stem.replace("_", "-")
    if not tools:
        raise GatewayError(
            "the module declares no tools", where=str(path), hint="Assign what define_tool returns to a name."
        )
    return Gateway(name, tools)


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
        problems: list[IronCurtainError] = [problem for tool in self._given for problem in tool.problems]
        try:
            _NAME.validate_python(self.name)
        except ValidationError:
            problems.append(
                self._wrong(f"{quoted(str(self.name))} is no name", "Use letters, digits, `-` and `_`.")
            )
        if not self._given:
            problems.append(self._wrong("it has no tools", "Give it what define_tool returns."))
        if len(self._given) > MAX_TOOLS:
            problems.append(self._wrong(f"it has more than {MAX_TOOLS:,} tools", "Make several gateways."))
        counts = Counter(tool.name for tool in self._given)
        for tool in self._given:
            problems += self._problems_of(tool, counts[tool.name])
        return problems

    def _problems_of(self, tool: Tool, count: int) -> list[IronCurtainError]:
        """Return what is wrong with a tool in this gateway."""
        problems: list[IronCurtainError] = []

        def wrong(what: str, hint: str) -> None:
            problems.append(GatewayError(f"tool {quoted(tool.name)}: {what}", where=tool.place, hint=hint))

        if count > 1:
            wrong("another tool has the same name", "Rename one of the two.")
        for name in sorted({*tool.permissions, *tool.elevated_permissions} - self.permissions):
            hint = f"{near(name, tuple(sorted(self.permissions)))} Or add it to the gateway's permissions."
            wrong(f"the permission {quoted(name)} does not exist", hint)
        handler = tool.handler
        allowed = self._allowed
        if isinstance(handler, Command) and allowed is not None and handler.program not in allowed:
            wrong(f"it may not run {quoted(handler.program)}", "Add the program to allowed_commands.")
        return problems

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
