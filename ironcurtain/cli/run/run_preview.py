"""What `ironcurtain preview` does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic import JsonValue

from ironcurtain.errors import Exit, FileError, FormatError, UsageError
from ironcurtain.gateway.module import load_gateway
from ironcurtain.gateway.output import OutputPolicy, UnfilterableError, read_value
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.system.text import quoted, visible


def run(*, tool: str, sample: str, tools: str) -> Exit:
    """Print the filtered sample, and what became of each value."""
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
    found: dict[str, OutputPolicy] = {}
    for name, server in config.servers.items():
        if server.gateway:
            gateway = load_gateway(config.directory / server.gateway)
            found |= {f"{name}__{tool.name}": tool.output_policy for tool in gateway.tools.values()}
        found |= {f"{name}__{tool}": OutputPolicy.parse(rules) for tool, rules in server.output.items()}
    return found


def _read(path: Path) -> JsonValue:
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
