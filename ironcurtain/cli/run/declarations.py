"""What `ironcurtain serve --check` prints of tools with whose declarations nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from ironcurtain.decision.roles import Registry
from ironcurtain.gateway.definition import Tool
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.gateway.judged_values import changing
from ironcurtain.gateway.keywords import near
from ironcurtain.gateway.option_positions import option_positions, unexamined
from ironcurtain.gateway.output.outcome_table import OutcomeTable, outcome_table
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.endpoint_names import full_name
from ironcurtain.system import json_text
from ironcurtain.system.text import counted, quoted, visible


def declarations(name: str, gateway: Gateway) -> Iterator[str]:
    """Yield the lines about a gateway: each field of each answer, and what a person should look at."""
    registry = Registry(gateway.roles)
    tables = {
        tool.name: outcome_table(tool.output_policy, tool.output_schema()) for tool in gateway.tools.values()
    }
    notes = {tool.name: list(_notes(tool, tables[tool.name], registry)) for tool in gateway.tools.values()}
    number = sum(map(len, notes.values()))
    yield (
        f"{name}: {counted(len(gateway.tools), 'tool')}, nothing is wrong with the declarations"
        + (f"; {counted(number, 'note')}" if number else "")
    )
    for tool in gateway.tools.values():
        needs = ", ".join(tool.permissions)
        yield ""
        called = full_name(name, tool.name)
        yield f"{called} ({tool.classification}; needs {needs}; line {tool.place.line})"
        yield from _rows(tables[tool.name])
        for note in notes[tool.name]:
            yield f"  note: {visible(note)}"


def proxied(name: str, server: Server) -> Iterator[str]:
    """Yield a line about the output policies of a proxied server, of which only the paths were checked."""
    if server.output:
        number = counted(len(server.output), "output policy", "output policies")
        yield ""
        yield f"{name}: {number} can be read; what its tools answer is not known here (ironcurtain preview)"


def _rows(table: OutcomeTable) -> Iterator[str]:
    width = max((len(row.path) for row in table.rows), default=0)
    for row in table.rows:
        rule = f"by {row.rule}" if row.rule else ""
        yield f"  {visible(row.path):<{width}}  {row.kind:<7}  {row.action:<6}  {visible(rule)}".rstrip()


def _notes(tool: Tool, table: OutcomeTable, registry: Registry) -> Iterator[str]:
    """Yield what a person should look at, a sentence each."""
    yield from table.warnings()
    for argument in tool.arguments:
        for role in argument.possible_roles:
            if role not in registry:
                meant = near(role, tuple(known.name for known in registry.all))
                yield f"{argument.name}: the gateway does not declare the role {quoted(role)}. {meant}"
    for name in _numbers_as_text(tool.input_schema()):
        yield f"{name} can come as a text, too, and rules compare numbers only: declare an int or a float"
    for name, how in changing(tool.input):
        yield f"{name}: its model {how}; a call in which that changes the value is refused"
    for name in option_positions(tool):
        yield f'the value of {name} can be taken for an option: put "--" before it'
    if names := unexamined(tool):
        told = ", ".join(names)
        yield f"args_builder failed whatever it was asked with: can {told} be taken for options? Not known."


def _numbers_as_text(schema: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield the arguments of an input that take numbers as texts, too: pydantic's decimals do."""
    for name, told in json_text.members(schema.get("properties")).items():
        choices = told.get("anyOf") if isinstance(told, dict) else None
        kinds = (
            {each.get("type") for each in choices if isinstance(each, dict)}
            if isinstance(choices, list)
            else {}
        )
        if {"number", "string"} <= set(kinds):
            yield name
