"""What `ironcurtain input` does."""

from __future__ import annotations

import click

from ironcurtain.cli.review.decisions import exit_of
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.errors import Exit
from ironcurtain.policy import Policy
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import printable


def run(*, bundle: str, server: str, tool: str, arguments: str, **site: Json) -> Exit:
    """Print the policy input of a call."""
    policy = Policy.load(bundle, **site)
    prepared = prepare(Call(server, tool, arguments), policy.loaded)
    if isinstance(prepared, Prepared):
        click.echo(json_text.pretty(prepared.input), nl=False)
        return Exit.YES
    click.echo(f"{prepared.verdict} {prepared.rule}: {printable(prepared.reason)}", err=True)
    return exit_of(prepared)
