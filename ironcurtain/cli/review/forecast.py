"""`ironcurtain forecast`: how often a policy will ask people, and the rule that would spare most of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, Number, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import EvidenceError, Exit, IronCurtainError, UsageError

if TYPE_CHECKING:
    from ironcurtain.analysis.forecast.forecast import ProfiledCall
    from ironcurtain.analysis.forecast.report import Forecast, RuleSuggestion
    from ironcurtain.analysis.forecast.rules import CandidateRule
    from ironcurtain.analysis.mutation.source import PolicySource
    from ironcurtain.bundle.archive import Bundle
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.model.scenarios import DescribedWorld

    _DecideAll = Callable[[Bundle], list[ProfiledCall]]


@click.command()
@bundle_argument()
@click.option("--profile", metavar="FILE", help="Calls that an agent makes (`ironcurtain error forecast`).")
@click.option(
    "--audit", metavar="LOG", multiple=True, help="An audit log, by file or session; one session; repeatable."
)
@click.option("--budget", type=Number(min=0), metavar="N", help="At most N approvals a session.")
@click.option("--no-suggestion", is_flag=True, help="Look for no rule that would spare approvals.")
@click.option(
    "--scenarios",
    metavar="FILE",
    help="With --profile: assume the world of FILE (default: test-scenarios.json beside the bundle).",
)
@click.option("--sandbox", metavar="DIR", help="With --audit: the sandbox of the recorded sessions.")
@click.option("--home", metavar="DIR", help="With --audit: the home of the recorded sessions.")
@click.option("--directory", metavar="DIR", help="Where logs lie by name (default: ~/.ironcurtain/audit).")
@click.option("--key", metavar="FILE", help="The logs' key; logs that hold no values need it.")
@trust_options
@OPA
@FORMAT
def command(
    *,
    bundle: str | None,
    profile: str | None,
    audit: tuple[str, ...],
    budget: float | None,
    no_suggestion: bool,
    scenarios: str | None,
    sandbox: str | None,
    home: str | None,
    directory: str | None,
    key: str | None,
    opa: str | None,
    format_: str,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Estimate how many approvals a session needs, by clause.

    \b
    Example:
      ironcurtain forecast --profile profile.yaml --budget 3

    \b
    Exit: 0 within the budget, or there is none, 1 over it, 2 wrong options or files,
    3 it cannot be told: too much is unknown, a log is not intact, no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.forecast.forecast import decide_profile, decide_records, forecast
    from ironcurtain.analysis.forecast.report import UsageProfile, text_lines
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.cli.review.policy_argument import (
        assumed_world,
        bundle_or_project,
        opa_command,
        read_rendered,
    )
    from ironcurtain.cli.review.recorded_calls import log_key, recorded_decisions, replayer
    from ironcurtain.system.files import load

    if (profile is None) == (not audit):
        raise UsageError("give either --profile or --audit", hint="See `ironcurtain forecast --help`.")
    path = bundle_or_project(bundle)
    read = read_rendered(path, **trust)
    engine = opa_command(opa)
    world = assumed_world(path, scenarios)
    if profile is not None:
        used = load(Path(profile), UsageProfile)
        sessions, own_home = used.sessions, world.home

        def decide_all(of: Bundle) -> list[ProfiledCall]:
            return decide_profile(used, of, world, engine)
    else:
        secret = log_key(key)
        records = [r for log in audit for r in recorded_decisions(log, directory, None, secret)[1]]
        sessions, own_home = len(audit), str(Path(home).absolute()) if home else str(Path.home())

        def decide_all(of: Bundle) -> list[ProfiledCall]:
            return decide_records(records, replayer(of, home=home, sandbox=sandbox, opa=engine, key=secret))

    calls = decide_all(read)
    result = forecast(calls, PolicyContent.of(read), sessions, budget)
    if not no_suggestion:
        suggestion = _suggestion(read, calls, result, decide_all, world, own_home, engine)
        result = result.model_copy(update={"suggestion": suggestion})
    if format_ == "json":
        print_json(result.model_dump(mode="json", by_alias=True))
    else:
        click.echo("\n".join(text_lines(result)))
    return _status(result)


def _status(result: Forecast) -> Exit:
    if result.budget is None:
        return Exit.YES
    if result.approvals > result.budget:
        return Exit.NO
    return Exit.NO_ANSWER if result.approvals + result.unknown > result.budget else Exit.YES


def _suggestion(
    bundle: Bundle,
    calls: list[ProfiledCall],
    result: Forecast,
    decide_all: _DecideAll,
    world: DescribedWorld,
    home: str,
    engine: OpaCommand,
) -> RuleSuggestion | None:
    """Return the rule that spares most approvals, the narrowest of those; None if none spares any."""
    from ironcurtain.analysis.diff.difference import difference
    from ironcurtain.analysis.forecast.forecast import forecast
    from ironcurtain.analysis.forecast.report import RuleSuggestion
    from ironcurtain.analysis.forecast.rules import candidates
    from ironcurtain.analysis.mutation.source import PolicySource
    from ironcurtain.bundle.content import PolicyContent

    source = PolicySource.of(bundle)
    best: tuple[float, tuple[int, ...], CandidateRule, Bundle] | None = None
    for candidate in candidates(calls, source.content, source.registry, home):
        possible = result.approvals - candidate.weight / result.sessions
        if best is not None and possible > best[0]:
            continue  # it cannot spare more than it was made of
        changed = _with_rule(source, candidate)
        if changed is None:
            continue
        left = forecast(decide_all(changed), PolicyContent.of(changed), result.sessions).approvals
        if left < result.approvals and (best is None or (left, candidate.narrowness) < best[:2]):
            best = (left, candidate.narrowness, candidate, changed)
    if best is None:
        return None
    left, _, candidate, changed = best
    return RuleSuggestion(
        rule=candidate.rule,
        before=candidate.before,
        approvals=left,
        difference=difference(bundle, changed, world, engine),
    )


def _with_rule(source: PolicySource, candidate: CandidateRule) -> Bundle | None:
    """Return the bundle with a rule before another one; None if the compiler would not take it."""
    rules = list(source.policy.rules)
    place = next(number for number, rule in enumerate(rules) if rule.name == candidate.before)
    try:
        return source.bundle_of([*rules[:place], candidate.rule, *rules[place:]], {})
    except EvidenceError:
        raise
    except IronCurtainError:
        return None
