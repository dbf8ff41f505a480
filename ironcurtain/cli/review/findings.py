"""`ironcurtain findings`: what stands out in a policy, proven by evaluating every case in OPA."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import (
    CONFIG,
    MARKDOWN_FORMAT,
    OPA,
    QUIET,
    SCENARIOS,
    TrustOptions,
    trust_options,
)
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, IronCurtainError, WaiverError, raise_all

if TYPE_CHECKING:
    from ironcurtain.analysis.findings.report import StaleWaiver
    from ironcurtain.analysis.findings.waivers import Waivers
    from ironcurtain.model.severity import Severity

_WAIVERS = "waivers.yaml"


@click.command()
@bundle_argument()
@CONFIG
@SCENARIOS
@click.option(
    "--waivers", metavar="FILE", help="Findings that are accepted (default: the project's waivers.yaml)."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note"]),
    default="warning",
    show_default=True,
    help="The least severity that fails.",
)
@MARKDOWN_FORMAT
@trust_options
@OPA
@QUIET
def command(
    *,
    bundle: str | None,
    config: str | None,
    scenarios: str | None,
    waivers: str | None,
    fail_on: Severity,
    format_: str,
    opa: str | None,
    quiet: bool,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Report likely mistakes in a policy: dead rules, gaps, evasions, clauses without rules.

    Each finding has a stable id, an example call, a suggested edit, and a page in docs/findings.
    A waiver (`ironcurtain error findings`) accepts a finding until a date, with a reason.

    \b
    Example:
      ironcurtain findings --fail-on note

    \b
    Exit: 0 no findings, 1 there are findings without a waiver, 2 wrong options or files,
    an expired waiver, or a policy too large to examine, 3 the bundle is corrupt or the
    engine gives no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.engine.policy_analysis import analyse_policy
    from ironcurtain.analysis.findings import findings
    from ironcurtain.analysis.findings.report import markdown_lines, text_lines
    from ironcurtain.analysis.findings.waivers import Waivers
    from ironcurtain.cli.review.policy_argument import opa_command, read_policy
    from ironcurtain.compiler.annotate.embedded_languages import languages

    policy = read_policy(bundle, config, scenarios, **trust)
    accepted = policy.beside(waivers, _WAIVERS, Waivers) or Waivers(format="ironcurtain/waivers/v1")
    engine = opa_command(opa)
    material = findings.Material(languages, policy.scenarios)
    examined = analyse_policy(policy.bundle, policy.world, engine)
    today = datetime.now(tz=UTC).date()
    report = findings.waived(findings.find(examined, material, engine), accepted, today)
    failing = report.unwaived(fail_on)
    lines = markdown_lines if format_ == "markdown" else text_lines
    if format_ == "json" or failing or not quiet:
        print_result(report, lines(report), format_)
    file = Path(waivers) if waivers is not None else policy.project.root / _WAIVERS
    raise_all([_error(each, accepted, file) for each in report.stale])
    return Exit.NO if failing else Exit.YES


def _error(stale: StaleWaiver, waivers: Waivers, file: Path) -> IronCurtainError:
    from ironcurtain.system.files import read_text
    from ironcurtain.system.yaml_text import place_of

    number = waivers.waivers.index(stale.waiver)
    place = place_of(read_text(file), str(file), ["waivers", number])
    if stale.problem == "gone":
        what = f"the waiver {stale.waiver.id} is for a finding that is gone"
        return WaiverError(what, where=place, hint="Delete the waiver.")
    what = f"the waiver {stale.waiver.id} expired on {stale.waiver.expires}"
    return WaiverError(what, where=place, hint="Mend the finding, or look at it again and give a later day.")
