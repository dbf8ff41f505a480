"""`ironcurtain tools`: print the tool list of a server, or keep a sample of what one of its tools answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import Number
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from ironcurtain.servers.tools import ToolListing


@click.command()
@click.argument("server")
@click.option(
    "--servers",
    metavar="FILE",
    default="mcp-servers.json",
    show_default=True,
    envvar=["IRONCURTAIN_TOOLS_SERVERS", "IRONCURTAIN_SERVERS"],
    help="The servers' configuration.",
)
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that the server has to answer.",
)
@click.option(
    "--sample",
    nargs=2,
    metavar="TOOL JSON",
    help="Keep a result of a tool, which shows fields of records that its output schema does not.",
)
def command(*, server: str, servers: str, timeout: float, sample: tuple[str, str] | None) -> Exit:
    """Start SERVER, read its tool list and print it as JSON.

    The output is what the key "tools" of a server in mcp-servers.json names, so that a policy can be
    compiled where the server cannot run.

    With --sample a result of one tool, a JSON object, is kept in tool-samples.json beside the servers'
    configuration, and the fields that rules can ask of such a record are printed. Who writes the rules is
    shown these names and types. Where the tool has an output schema, they come from that, and the
    sample shows which texts are times.

    \b
    Example:
      ironcurtain tools github > tools/github.json
      ironcurtain tools shop --sample get_order_details '{"order_id": "W1", "status": "pending"}'

    \b
    Exit: 0 printed or kept, 2 wrong configuration or sample, 3 the server failed.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.run.fetching import say, server_launcher
    from ironcurtain.servers.permitted import project_servers
    from ironcurtain.servers.tool_lists.listing import list_tools
    from ironcurtain.servers.tools import left_out, saved_document

    config = project_servers(Path(servers))
    for note in config.notes:
        click.echo(f"note: {note}", err=True)
    listed = list_tools(config, server_launcher(), only=[server], saved=sample is not None, timeout=timeout)
    for sentence in left_out(listed):
        say(sentence)
    tools = listed[server]
    if sample is None:
        print_json(saved_document(tools))
    else:
        _keep(config.directory, server, tools, *sample)
    return Exit.YES


def _keep(directory: Path, server: str, tools: Sequence[ToolListing], name: str, text: str) -> None:
    """Keep a sample and print the fields of such a record.

    Raises:
        UsageError: If the server has no such tool, or the sample is no JSON object.
    """
    from ironcurtain.compiler.rules.look_ups import record_fields
    from ironcurtain.servers.samples import FILE_NAME, read_samples, with_sample, write_samples
    from ironcurtain.system import json_text

    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise UsageError(f"{server} has no tool {quoted(name)}")
    try:
        result = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        raise UsageError(f"the sample is not strict JSON: {visible(str(error))}") from None
    if not isinstance(result, dict):
        raise UsageError("the sample is no JSON object")
    write_samples(directory, with_sample(read_samples(directory), server, name, result))
    click.echo(f"kept in {FILE_NAME}; a record of {server} {name} has these fields:")
    for pointer, type_ in record_fields(tool.output_schema, result).items():
        click.echo(f"  {visible(pointer)}  {type_}")
