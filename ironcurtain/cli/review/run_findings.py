"""What `ironcurtain findings` does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings import findings, text
from ironcurtain.analysis.findings.report import Severity, StaleWaiver
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.bundle.opening import Trust
from ironcurtain.cli.review.policy_argument import read_policy
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit, IronCurtainError, WaiverError, raise_all
from ironcurtain.system import json_text
from ironcurtain.system.files import read_text
from ironcurtain.system.frozen import Json
from ironcurtain.system.yaml_text import place_of

_WAIVERS = "waivers.yaml"


def run(
    *,
    bundle: str | None,
    config: str | None,
    scenarios: str | None,
    waivers: str | None,
    fail_on: Severity,
    format_: str,
    opa: str | None,
    quiet: bool,
    **trust: Json,
) -> Exit:
    """Print the findings about a policy."""
    policy = read_policy(bundle, config, scenarios, Trust.of(**trust))
    accepted = policy.beside(waivers, _WAIVERS, Waivers) or Waivers(format="ironcurtain/waivers/v1")
    engine = OpaCommand(find(Path(opa) if opa else None))
    material = findings.Material(languages, policy.scenarios)
    examined = analyse_policy(policy.bundle, policy.world, engine)
    today = datetime.now(tz=UTC).date()
    report = findings.waived(findings.find(examined, material, engine), accepted, today)
    failing = report.unwaived(fail_on)
    if format_ == "json":
        click.echo(json_text.pretty(report.model_dump(mode="json")), nl=False)
    elif not (quiet and not failing):
        lines = text.text_lines if format_ == "text" else text.markdown_lines
        click.echo("\n".join(lines(report)))
    file = Path(waivers) if waivers is not None else policy.project.root / _WAIVERS
    raise_all([_error(each, accepted, file) for each in report.stale])
    return Exit.NO if failing else Exit.YES


def _error(stale: StaleWaiver, waivers: Waivers, file: Path) -> IronCurtainError:
    number = waivers.waivers.index(stale.waiver)
    place = place_of(read_text(file), str(file), ["waivers", number])
    if stale.problem == "gone":
        what = f"the waiver {stale.waiver.id} is for a finding that is gone"
        return WaiverError(what, where=place, hint="Delete the waiver.")
    what = f"the waiver {stale.waiver.id} expired on {stale.waiver.expires}"
    return WaiverError(what, where=place, hint="Mend the finding, or look at it again and give a later day.")
