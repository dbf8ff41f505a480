"""`ironcurtain preview`: see what leaves of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.errors import Exit, FileError, FormatError, UsageError
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ironcurtain.gateway.output import OutputPolicy
    from ironcurtain.servers.config import ServerConfig


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
    from ironcurtain.gateway.output import UnfilterableError
    from ironcurtain.servers.config import load_servers

    policy = _policies(load_servers(Path(tools))).get(tool)
    if policy is None:
        raise UsageError(
            f"{quoted(tool)} has no output policy", hint="Name it as clients see it: SERVER__TOOL."
        )
    value = _read(Path(sample))
    try:
        found = policy.apply(value)
        lines = list(_lines(policy, value))
    except UnfilterableError as error:
        raise FormatError(f"such an answer is never returned: {error}", where=sample) from error
    click.echo(visible_json(None if found.is_empty else found.value))
    for line in lines:
        click.echo(line)
    return Exit.YES


def visible_json(value: JsonValue) -> str:
    """Return a value as JSON text, a line a member, in which every character is seen."""
    return "\n".join(visible(line) for line in json.dumps(value, indent=2, ensure_ascii=False).splitlines())


def _policies(config: ServerConfig) -> dict[str, OutputPolicy]:
    from ironcurtain.gateway.module import load_gateway
    from ironcurtain.gateway.output import OutputPolicy

    found: dict[str, OutputPolicy] = {}
    for name, server in config.servers.items():
        if server.gateway:
            gateway = load_gateway(config.directory / server.gateway)
            found |= {f"{name}__{tool.name}": tool.output_policy for tool in gateway.tools.values()}
        found |= {f"{name}__{tool}": OutputPolicy.parse(rules) for tool, rules in server.output.items()}
    return found


def _read(path: Path) -> JsonValue:
    from ironcurtain.gateway.output import UnfilterableError, read_value

    try:
        return read_value(path.read_bytes())
    except OSError as error:
        raise FileError(f"it cannot be read: {error.strerror}", where=str(path)) from error
    except UnfilterableError as error:
        raise FormatError(str(error), where=str(path)) from error


def _lines(policy: OutputPolicy, value: JsonValue) -> Iterator[str]:
    rows = list(policy.outcomes(value))
    width = max((len(at) for at, _ in rows), default=0)
    for at, outcome in rows:
        why = f"by {outcome.rule.path}" if outcome.rule else "no rule covers it"
        yield f"{visible(at):<{width}}  {outcome.action.name.lower():<6}  {visible(why)}"
