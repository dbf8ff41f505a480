"""`ironcurtain input`: the policy input of a call, to ask OPA by hand."""

from __future__ import annotations

import click

from ironcurtain.cli.loading import policy_options
from ironcurtain.decide.decide import Call, Prepared, prepare
from ironcurtain.errors import Exit
from ironcurtain.model import jsontext
from ironcurtain.policy import Policy
from ironcurtain.text import visible


@click.command(short_help="Print the policy input that OPA gets for a call.")
@policy_options
@click.argument("server")
@click.argument("tool")
@click.argument("arguments")
def command(*, policy: Policy, server: str, tool: str, arguments: str) -> Exit:
    """Print the policy input that OPA gets for a call.

    A call that ends before OPA is asked has none; then the reason goes to stderr and the exit code is 1.

    \b
    Example:
      ironcurtain input --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}' \\
        | opa eval -b generated/bundle -I data.ironcurtain.decision.decision
    """  # noqa: D301 - click reads the escape
    prepared = prepare(Call(server, tool, arguments), policy.loaded)
    if isinstance(prepared, Prepared):
        click.echo(jsontext.pretty(prepared.input), nl=False)
        return Exit.YES
    click.echo(f"{prepared.verdict} {prepared.rule}: {visible(prepared.reason)}", err=True)
    return Exit.NO
