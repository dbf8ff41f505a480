"""`ironcurtain preview`: see what leaves of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.errors import Exit, FileError, FormatError, Place, UsageError
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ironcurtain.gateway.definition import Tool
    from ironcurtain.gateway.output.policy import OutputPolicy
    from ironcurtain.servers.config import ServerConfig

_MOST_NOTES = 10


class _Named(Struct):
    """What is known of a tool by its full name.

    Attributes:
        tool: Its declaration; None for a tool of a proxied server.
    """

    policy: OutputPolicy
    tool: Tool | None = None


@click.command()
@click.argument("tool", metavar="SERVER__TOOL")
@click.argument("sample", metavar="SAMPLE.json")
@click.option(
    "--tools",
    metavar="FILE",
    required=True,
    help="The module of tools, or an mcp-servers.json with output policies.",
)
def command(*, tool: str, sample: str, tools: str) -> Exit:
    """Filter a sample of a tool's answer by its output policy, with the reason for each value.

    \b
    Example:
      ironcurtain preview desk__get_ticket sample.json --tools tools.py

    \b
    Exit: 0 filtered, 2 wrong options, files or tools, or a sample that
    could never be returned.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.gateway.keywords import near
    from ironcurtain.gateway.output.policy import UnfilterableError
    from ironcurtain.servers.config import load_servers

    known = _policies(load_servers(Path(tools)))
    if tool not in known:
        raise UsageError(
            f"there is no tool {quoted(tool)} with an output policy", hint=near(tool, tuple(sorted(known)))
        )
    policy, value = known[tool].policy, _read(Path(sample))
    try:
        projected = policy.apply(value)
        lines = list(_lines(policy, value))
    except UnfilterableError as error:
        raise FormatError(f"such an answer is never returned: {error}", where=sample) from error
    click.echo(visible_json(None if projected.is_empty else projected.value))
    for line in (*lines, *_otherwise(known[tool].tool, value)):
        click.echo(line)
    return Exit.YES


def visible_json(value: JsonValue) -> str:
    """Return a value as JSON text, a line a member, in which every character is seen."""
    return "\n".join(visible(line) for line in json.dumps(value, indent=2, ensure_ascii=False).splitlines())


def _otherwise(tool: Tool | None, value: JsonValue) -> Iterator[str]:
    """Yield where a sample is not what the tool may answer, which is checked before anything is filtered."""
    from pydantic import ValidationError

    from ironcurtain.gateway.output.paths import Key

    if tool is None:
        return
    try:
        tool.shape.answered(value)
    except ValidationError as error:
        for wrong in error.errors()[:_MOST_NOTES]:
            at = "".join(f"[{step}]" if isinstance(step, int) else str(Key(step)) for step in wrong["loc"])
            told = f"{visible(at or '.')} is not as declared: {wrong['msg']}"
            yield f"note: the tool never answers this, for {told}"


def _policies(config: ServerConfig) -> dict[str, _Named]:
    from ironcurtain.gateway.gateway import load_gateway
    from ironcurtain.gateway.output.policy import OutputPolicy
    from ironcurtain.servers.endpoint_names import full_name

    named: dict[str, _Named] = {}
    for name, server in config.servers.items():
        if server.gateway:
            tools = load_gateway(config.directory / server.gateway).tools.values()
            named |= {full_name(name, tool.name): _Named(tool.output_policy, tool) for tool in tools}
        policies = {tool: OutputPolicy.parse(rules) for tool, rules in server.output.items()}
        named |= {full_name(name, tool): _Named(policy) for tool, policy in policies.items()}
    return named


def _read(path: Path) -> JsonValue:
    from ironcurtain.gateway.output.policy import UnfilterableError, read_value

    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileError(f"it cannot be read: {error.strerror}", where=str(path)) from error
    try:
        return read_value(text)
    except UnfilterableError as error:
        raise _no_json(text, path) or FormatError(str(error), where=str(path)) from error


def _no_json(text: bytes, path: Path) -> FormatError | None:
    """Return what is wrong with a text; None where the reader of decisions takes it."""
    from ironcurtain.system import json_text

    try:
        json_text.parse(text, max_bytes=len(text), any_double=True)
    except json_text.MalformedJsonError as error:
        where = Place(str(path), error.line, error.column)
        return FormatError(f"such an answer is never returned: {visible(str(error))}", where=where)
    return None


def _lines(policy: OutputPolicy, value: JsonValue) -> Iterator[str]:
    rows = list(policy.outcomes(value))
    width = max((len(at) for at, _ in rows), default=0)
    for at, outcome in rows:
        why = f"by {outcome.rule.path}" if outcome.rule else "no rule covers it"
        yield f"{visible(at):<{width}}  {outcome.action.name.lower():<6}  {visible(why)}"
