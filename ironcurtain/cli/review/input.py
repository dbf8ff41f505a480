"""`ironcurtain input`: the policy input of a call, to ask OPA by hand."""

from __future__ import annotations

from typing import Unpack

import click

from ironcurtain.cli.options.bundle_argument import CALL, bundle_argument
from ironcurtain.cli.options.options import PolicyOptions, policy_options
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit
from ironcurtain.system.text import printable


@click.command()
@bundle_argument(*CALL, shown="SERVER TOOL ARGUMENTS", explicit=True)
@policy_options
def command(
    *, bundle: str, server: str, tool: str, arguments: str, **deployment: Unpack[PolicyOptions]
) -> Exit:
    """Print the policy input that OPA gets for a call.

    A call that ends before OPA is asked has none; then the reason goes to stderr and the exit code is 1.

    \b
    Example:
      ironcurtain input --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}' \\
        | opa eval -b generated/bundle -I data.ironcurtain.decision.decision

    \b
    Exit: 0 printed, 1 the call is denied before OPA is asked,
    2 wrong options or files, 3 the bundle cannot be used.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.review.decisions import exit_of
    from ironcurtain.decision.decide import Call, Prepared, prepare
    from ironcurtain.decision.policy_input import as_json
    from ironcurtain.policy import Policy

    policy = Policy.load(bundle, **deployment)
    prepared = prepare(Call(server, tool, arguments), policy.loaded)
    if isinstance(prepared, Prepared):
        print_json(as_json(prepared.input))
        return Exit.YES
    click.echo(f"{prepared.verdict} {prepared.rule}: {printable(prepared.reason)}", err=True)
    return exit_of(prepared)
