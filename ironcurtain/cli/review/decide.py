"""`ironcurtain decide`: decide calls and show why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import CALL, bundle_argument
from ironcurtain.cli.options.options import FORMAT, EnforcementOptions, engine_options, policy_options
from ironcurtain.errors import Exit, IronCurtainError, UsageError

if TYPE_CHECKING:
    from ironcurtain.cli.review.decisions import AskedCall, BadLine
    from ironcurtain.model.decision import Decision

_WORST_FIRST = (Exit.NO_ANSWER, Exit.NO, Exit.NEEDS_APPROVAL, Exit.YES)


@click.command()
@bundle_argument(*CALL, shown="[SERVER TOOL ARGUMENTS]", needed="none", explicit=True)
@policy_options
@engine_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option("--facts", metavar="JSON", help="Values of the facts that the policy declares, by name.")
@click.option("--at", metavar="TIME", help="When the call is decided, for facts: 2026-03-02T09:00:00Z.")
@click.option("--batch", metavar="FILE", help="JSON lines, one call each; one decision a line comes out.")
@click.option("--watch", is_flag=True, help="Decide again whenever the bundle changes; Ctrl-C ends.")
@FORMAT
def command(
    *,
    bundle: str,
    server: str | None,
    tool: str | None,
    arguments: str | None,
    caller: str | None,
    facts: str | None,
    at: str | None,
    batch: str | None,
    watch: bool,
    format_: str,
    **deployment: Unpack[EnforcementOptions],
) -> Exit:
    """Decide one call, or with --batch a file of calls.

    A line of the batch is {"id": …, "server": …, "tool": …, "arguments": …}, with "caller", "facts"
    and "at" where they differ from the options. A line that is no call, or that states a fact which the
    policy does not declare, is denied, and its reason says where and why; the others are decided.

    With --watch the same calls are decided by each new bundle, and those that come out otherwise are shown:
    `ironcurtain compile --watch` in one terminal, this in another.

    \b
    Example:
      ironcurtain decide --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}'

    \b
    Exit: 0 allow, 4 escalate, 1 deny, 3 no answer from the engine,
    2 wrong options or files. With --batch: the worst line, in the
    order 3, 1, 4, 0. With --watch: 130, when it is ended.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.bundle_argument import caller_facts
    from ironcurtain.cli.options.stated_facts import stated_facts

    principal, stated = caller_facts(caller), stated_facts(facts, at)
    if batch is not None and server is not None:
        raise UsageError("--batch takes no SERVER, TOOL and ARGUMENTS", hint="Put the call into the file.")
    if batch is None and (server is None or tool is None or arguments is None):
        raise UsageError("give SERVER, TOOL and ARGUMENTS, or --batch FILE")

    def calls() -> Sequence[AskedCall | BadLine]:
        from ironcurtain.cli.review.decisions import AskedCall, read_batch
        from ironcurtain.decision.decide import Call

        if batch is not None:
            return read_batch(Path(batch), principal, stated)
        return [AskedCall(Call(str(server), str(tool), arguments, principal), stated)]

    show = partial(_shown, as_line=batch is not None or format_ == "json")
    if watch:
        return _watch(Path(bundle), calls(), show, deployment)
    decisions = _decided(bundle, calls, deployment)
    for decision in decisions:
        click.echo(show(decision))
    return _worst(decisions)


def _shown(decision: Decision, *, as_line: bool) -> str:
    from ironcurtain.cli.review.decisions import as_json, as_text

    return as_json(decision) if as_line else as_text(decision)


def _worst(decisions: Sequence[Decision]) -> Exit:
    from ironcurtain.cli.review.decisions import exit_of

    exits = {exit_of(decision) for decision in decisions}
    return next(each for each in _WORST_FIRST if each in exits)


def _decided(
    bundle: str | Path,
    make_calls: Callable[[], Sequence[AskedCall | BadLine]],
    deployment: EnforcementOptions,
) -> list[Decision]:
    from ironcurtain.policy import Policy

    # OPA starts while what reads and decides calls is imported.
    with Policy.load(bundle, late=True, **deployment) as policy:
        from ironcurtain.cli.review.decisions import AskedCall, BadLine

        asked = make_calls()
        if not policy.trusted:
            click.echo(f"note: the bundle is {policy.signature}; see --verify-key", err=True)
        calls = [each.under(policy) if isinstance(each, AskedCall) else each for each in asked]
        for note in dict.fromkeys(each.note(policy) for each in asked if isinstance(each, AskedCall)):
            if note:
                click.echo(note, err=True)
        decided = iter(policy.decide_many(each for each in calls if not isinstance(each, BadLine)))
        return [
            each.denied(policy.revision) if isinstance(each, BadLine) else next(decided) for each in calls
        ]


def _watch(
    bundle: Path,
    calls: Sequence[AskedCall | BadLine],
    show: Callable[[Decision], str],
    deployment: EnforcementOptions,
) -> Exit:
    """Decide the calls by each new bundle until Ctrl-C; print those that come out otherwise than before."""
    from ironcurtain.cli.options.watching import changes, tree
    from ironcurtain.cli.output.problems import print_failure

    before: list[Decision] = []
    for _ in changes(lambda: {path.absolute() for path in tree(bundle)}):
        try:
            after = _decided(bundle, lambda: calls, deployment)
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
