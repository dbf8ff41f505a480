"""Roles that a model proposes for a kind of identifier (a channel, a project, a key): a person decides.

Rules about an argument can be written only once it has a role, so a compile asks for no rules while a
proposal is open: it is declared in `ironcurtain.toml`, or declined by confirming that the argument is none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.annotate.heuristics import names_recipients, recipient_in, suspicion_of
from ironcurtain.compiler.annotate.questions import ServerTool, read_proposals
from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.compiler.llm.question import Answer
from ironcurtain.errors import IronCurtainError, ProposedRoleError
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.servers.tools import tool_digest
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_DEL, _LAST_PLAIN = "\x7f", "\uffff"


class RoleProposal(Struct):
    """A role that somebody has to decide about.

    Attributes:
        places: The arguments that it is for, each with the tool that takes it.
    """

    role: IdentifierRole
    places: tuple[tuple[ServerTool, str], ...]

    @property
    def block(self) -> list[str]:
        """The entry that declares the role, in the format of `ironcurtain.toml`."""
        given = self.role.model_dump(mode="json", exclude_defaults=True)
        return ["[[roles]]", *(f"{key} = {_toml(value)}" for key, value in given.items())]

    @property
    def lines(self) -> list[str]:
        """What is told where nothing stops: what is proposed, and the entry on lines of its own."""
        return [f"finding: {self.error.what}; to declare it in ironcurtain.toml:", "", *self.block, ""]

    @property
    def error(self) -> IronCurtainError:
        """What stops a compile before the rules are asked for."""
        named = ", ".join(
            f"{server_tool.server} {visible(server_tool.tool.name)} {visible(arg)}"
            for server_tool, arg in self.places
        )
        return ProposedRoleError(
            f"the answer proposes the role {self.role.name} for {named}; without it no rule can be about "
            "them",
            hint=self._hint,
            block=self.block,
        )

    @property
    def _hint(self) -> str:
        """What to do; nothing that looks like a resource or a recipient is said to be called none."""
        looks = [
            (server_tool, arg, _looks_like(server_tool, arg, self.role)) for server_tool, arg in self.places
        ]
        entries = [_declining(server_tool, arg) for server_tool, arg, what in looks if what is None]
        declare = "Put the lines below into ironcurtain.toml (all tools are then asked about again)"
        kept = [f"{visible(arg)} looks like {what}" for _, arg, what in looks if what is not None]
        if not entries:
            return f"{declare}; {', '.join(kept)}, so rules have to be able to speak of it."
        others = f" for what is not ({', '.join(kept)})" if kept else ""
        return f'{declare}, or decline the role{others}: confirmations.yaml, under "confirmed": ' + ", ".join(
            entries
        )


def _looks_like(server_tool: ServerTool, argument: str, role: IdentifierRole) -> str | None:
    """Say what an argument looks like that nobody should be advised to call nothing; None if it may be."""
    if names_recipients(role):
        return "a recipient (the proposed role)"
    for leaf in schema_leaves(server_tool.tool.input_schema):
        if argument not in leaf.spellings or leaf.is_plain_element:
            continue
        by = recipient_in(leaf)
        found = f"a recipient ({by})" if by is not None else suspicion_of(leaf)
        if found is not None:
            return found
    return None


def _declining(server_tool: ServerTool, argument: str) -> str:
    """Return the entry that confirms that an argument is none."""
    entry = {
        "server": server_tool.server,
        "tool": server_tool.tool.name,
        "arg": argument,
        "schema_digest": tool_digest(server_tool.tool),
        "by": "…",
        "reason": "…",
    }
    return json_text.canonical(entry).decode()


def open_proposals(
    listed: Sequence[ServerTool], answers: Sequence[Answer], confirmations: Confirmations
) -> tuple[RoleProposal, ...]:
    """Return the roles that answers propose, without the arguments that a person confirmed to be none."""
    roles: dict[str, IdentifierRole] = {}
    places: dict[str, list[tuple[ServerTool, str]]] = {}
    for server_tool, answer in zip(listed, answers, strict=True):
        declined = {
            entry.arg
            for entry in confirmations.of_tool(
                server_tool.server, server_tool.tool.name, tool_digest(server_tool.tool)
            )
        }
        for argument, role in read_proposals(answer.content):
            if argument not in declined:
                roles.setdefault(role.name, role)
                places.setdefault(role.name, []).append((server_tool, argument))
    return tuple(RoleProposal(role, tuple(places[name])) for name, role in roles.items())


def _toml(value: JsonValue) -> str:
    """Return a text or boolean in TOML: as in JSON, but for DEL and what JSON writes as two surrogates."""
    if not isinstance(value, str):
        return json.dumps(value)
    written = (f"\\U{ord(c):08x}" if c == _DEL or c > _LAST_PLAIN else json.dumps(c)[1:-1] for c in value)
    return f'"{"".join(written)}"'
