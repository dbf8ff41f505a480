"""What `ironcurtain decide` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.cli.batch import read_batch
from ironcurtain.cli.decisions import as_json, as_text, exit_of
from ironcurtain.decide.decide import Call
from ironcurtain.errors import Exit, UsageError
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json
from ironcurtain.policy import Policy
from ironcurtain.text import visible

_WORST_FIRST = (Exit.NO_ANSWER, Exit.NO, Exit.PERSON, Exit.YES)


def run(
    *,
    bundle: str,
    server: str | None,
    tool: str | None,
    arguments: str | None,
    caller: str | None,
    batch: str | None,
    format_: str,
    **site: Json,
) -> Exit:
    """Decide one call or a batch of calls; print the decisions."""
    facts = caller_facts(caller)
    if batch is not None:
        if server is not None:
            raise UsageError(
                "--batch takes no SERVER, TOOL and ARGUMENTS", hint="Put the call into the file."
            )
        calls = read_batch(Path(batch), facts)
    elif server is None or tool is None or arguments is None:
        raise UsageError("give SERVER, TOOL and ARGUMENTS, or --batch FILE")
    else:
        calls = [Call(server, tool, arguments, facts)]
    with Policy.load(bundle, **site) as policy:
        if not policy.verified:
            click.echo("note: the bundle is unverified; see --verify-key", err=True)
        decisions = policy.decide_many(calls)
    show = as_json if batch is not None or format_ == "json" else as_text
    for decision in decisions:
        click.echo(show(decision))
    exits = {exit_of(decision) for decision in decisions}
    return next(each for each in _WORST_FIRST if each in exits)


def caller_facts(text: str | None) -> dict[str, Json] | None:
    """Read what `--caller` says.

    Raises:
        UsageError: If it is no JSON object.
    """
    if text is None:
        return None
    try:
        facts = jsontext.parse(text)
    except jsontext.MalformedJsonError as error:
        raise UsageError(f"--caller is not strict JSON: {visible(str(error))}") from None
    if not isinstance(facts, dict):
        raise UsageError("--caller is no JSON object")
    return facts
