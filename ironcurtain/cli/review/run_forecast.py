"""What `ironcurtain forecast` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.forecast.forecast import Weighed, decide_profile, decide_records, forecast
from ironcurtain.analysis.forecast.report import Forecast, Profile, Suggestion
from ironcurtain.analysis.forecast.rules import Candidate, candidates
from ironcurtain.analysis.forecast.text import text_lines
from ironcurtain.analysis.mutation.source import Source
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.cli.review.assumed_facts import assumed_world
from ironcurtain.cli.review.policy_argument import bundle_or_project
from ironcurtain.cli.review.recorded_calls import log_key, recorded_decisions, replayer
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import EvidenceError, Exit, IronCurtainError, UsageError
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Json

_DecideAll = Callable[[Bundle], list[Weighed]]


def run(
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
    **trust: Json,
) -> Exit:
    """Forecast the approvals of a profile, and print them."""
    if (profile is None) == (not audit):
        raise UsageError("give either --profile or --audit", hint="See `ironcurtain forecast --help`.")
    path = bundle_or_project(bundle)
    read = open_bundle(Path(path), Trust.of(**trust))
    check_rendered(read)
    engine = OpaCommand(find(Path(opa) if opa else None))
    world = assumed_world(path, scenarios)
    if profile is not None:
        used = load(Path(profile), Profile)
        sessions, own_home = used.sessions, world.home

        def decide_all(of: Bundle) -> list[Weighed]:
            return decide_profile(used, of, world, engine)
    else:
        secret = log_key(key)
        records = [r for log in audit for r in recorded_decisions(log, directory, None, secret)[1]]
        sessions, own_home = len(audit), str(Path(home).absolute()) if home else str(Path.home())

        def decide_all(of: Bundle) -> list[Weighed]:
            return decide_records(records, replayer(of, home=home, sandbox=sandbox, opa=engine, key=secret))

    calls = decide_all(read)
    result = forecast(calls, PolicyContent.of(read), sessions, budget)
    if not no_suggestion:
        found = _suggestion(read, calls, result, decide_all, world, own_home, engine)
        result = result.model_copy(update={"suggestion": found})
    if format_ == "json":
        click.echo(json_text.pretty(result.model_dump(mode="json", by_alias=True)), nl=False)
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
    calls: list[Weighed],
    result: Forecast,
    decide_all: _DecideAll,
    world: DescribedWorld,
    home: str,
    engine: OpaCommand,
) -> Suggestion | None:
    """Return the rule that spares most approvals, the narrowest of those; None if none spares any."""
    source = Source.of(bundle)
    best: tuple[float, tuple[int, ...], Candidate, Bundle] | None = None
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
    return Suggestion(
        rule=candidate.rule,
        before=candidate.before,
        approvals=left,
        difference=difference(bundle, changed, world, engine),
    )


def _with_rule(source: Source, candidate: Candidate) -> Bundle | None:
    """Return the bundle with a rule before another one; None if the compiler would not take it."""
    rules = list(source.policy.rules)
    place = next(number for number, rule in enumerate(rules) if rule.name == candidate.before)
    try:
        return source.bundle_of([*rules[:place], candidate.rule, *rules[place:]], {})
    except EvidenceError:
        raise
    except IronCurtainError:
        return None
