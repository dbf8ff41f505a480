"""`ironcurtain forecast`: how often a policy will ask people; `advise` proposes what would spare it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, Number, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.analysis.advice.forecast_report import Forecast


@click.command()
@bundle_argument()
@click.option("--profile", metavar="FILE", help="Calls that an agent makes (`ironcurtain error advise`).")
@click.option(
    "--audit", metavar="LOG", multiple=True, help="An audit log, by file or session; one session; repeatable."
)
@click.option("--budget", type=Number(min=0), metavar="N", help="At most N approvals a session.")
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

    What would spare approvals is proposed by `ironcurtain advise`.

    \b
    Example:
      ironcurtain forecast --profile profile.yaml --budget 3

    \b
    Exit: 0 within the budget, or there is none, 1 over it, 2 wrong options or files,
    3 it cannot be told: too much is unknown, a log is not intact, no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.advice.forecast import decide_profile, decide_records, forecast
    from ironcurtain.analysis.advice.forecast_report import UsageProfile, text_lines
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
    if profile is not None:
        used = load(Path(profile), UsageProfile)
        sessions, calls = used.sessions, decide_profile(used, read, assumed_world(path, scenarios), engine)
    else:
        secret = log_key(key)
        records = [r for log in audit for r in recorded_decisions(log, directory, None, secret)[1]]
        there = replayer(read, home=home, sandbox=sandbox, opa=engine, key=secret)
        sessions, calls = len(audit), decide_records(records, there)
    result = forecast(calls, PolicyContent.of(read), sessions, budget)
    print_result(result, text_lines(result), format_)
    return _status(result)


def _status(result: Forecast) -> Exit:
    if result.budget is None:
        return Exit.YES
    if result.approvals > result.budget:
        return Exit.NO
    return Exit.NO_ANSWER if result.approvals + result.unknown > result.budget else Exit.YES
