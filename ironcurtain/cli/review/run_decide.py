"""What `ironcurtain decide` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from ironcurtain.cli.output.problems import print_failure
from ironcurtain.cli.review.batch import read_batch
from ironcurtain.cli.review.decisions import as_json, as_text, exit_of
from ironcurtain.decision.decide import Call
from ironcurtain.errors import Exit, IronCurtainError, UsageError
from ironcurtain.model.decision import Decision
from ironcurtain.policy import Policy
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import visible

_WORST_FIRST = (Exit.NO_ANSWER, Exit.NO, Exit.PERSON, Exit.YES)


def run(
    *,
    bundle: str,
    server: str | None,
    tool: str | None,
    arguments: str | None,
    caller: str | None,
    batch: str | None,
    watch: bool,
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
    show = as_json if batch is not None or format_ == "json" else as_text
    if watch:
        return _watch(Path(bundle), calls, show, site)
    decisions = _decided(bundle, calls, site)
    for decision in decisions:
        click.echo(show(decision))
    exits = {exit_of(decision) for decision in decisions}
    return next(each for each in _WORST_FIRST if each in exits)


def _decided(bundle: str | Path, calls: Sequence[Call], site: dict[str, Json]) -> list[Decision]:
    with Policy.load(bundle, **site) as policy:
        if not policy.trusted:
            click.echo(f"note: the bundle is {policy.signature}; see --verify-key", err=True)
        return policy.decide_many(calls)


def _watch(
    bundle: Path, calls: Sequence[Call], show: Callable[[Decision], str], site: dict[str, Json]
) -> Exit:
    """Decide the calls by each new bundle until Ctrl-C; print those that come out otherwise than before."""
    from ironcurtain.cli.options.watching import changes, tree  # noqa: PLC0415 - nobody else needs the library

    before: list[Decision] = []
    for _ in changes(lambda: {path.absolute() for path in tree(bundle)}):
        try:
            after = _decided(bundle, calls, site)
        except IronCurtainError as error:
            # A bundle may be looked at while it is written; the next one is decided by again.
            print_failure(error, debug=False)
            continue
        if before and not any(map(_is_otherwise, before, after)):
            click.echo("watching: a new bundle, nothing is decided otherwise", err=True)
        for number, decision in enumerate(after):
            if not before:
                click.echo(show(decision))
            elif _is_otherwise(before[number], decision):
                click.echo(f"watching: {before[number].verdict} -> {decision.verdict}", err=True)
                click.echo(show(decision))
        before = after
    raise AssertionError  # unreachable: changes end with Ctrl-C


def _is_otherwise(before: Decision, after: Decision) -> bool:
    return (before.verdict, before.rule, before.reason) != (after.verdict, after.rule, after.reason)


def caller_facts(text: str | None) -> dict[str, Json] | None:
    """Read what `--caller` says.

    Raises:
        UsageError: If it is no JSON object.
    """
    if text is None:
        return None
    try:
        facts = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        raise UsageError(f"--caller is not strict JSON: {visible(str(error))}") from None
    if not isinstance(facts, dict):
        raise UsageError("--caller is no JSON object")
    return facts
