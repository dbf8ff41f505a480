"""What `ironcurtain input` does."""

from __future__ import annotations

import click

from ironcurtain.cli.decisions import exit_of
from ironcurtain.decide.decide import Call, Prepared, prepare
from ironcurtain.errors import Exit
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json
from ironcurtain.policy import Policy
from ironcurtain.text import printable


def run(*, bundle: str, server: str, tool: str, arguments: str, **site: Json) -> Exit:
    """Print the policy input of a call."""
    policy = Policy.load(bundle, **site)
    prepared = prepare(Call(server, tool, arguments), policy.loaded)
    if isinstance(prepared, Prepared):
        click.echo(jsontext.pretty(prepared.input), nl=False)
        return Exit.YES
    click.echo(f"{prepared.verdict} {prepared.rule}: {printable(prepared.reason)}", err=True)
    return exit_of(prepared)
