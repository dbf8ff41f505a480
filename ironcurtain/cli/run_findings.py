"""What `ironcurtain findings` does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from ironcurtain.bundle.opening import Trust
from ironcurtain.cli.evidence import read_policy
from ironcurtain.errors import Exit, IronCurtainError, WaiverError, raise_all
from ironcurtain.evidence import findings, findings_text
from ironcurtain.evidence.examination import examination
from ironcurtain.files import read_text
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json
from ironcurtain.model.findings import Severity, StaleWaiver
from ironcurtain.model.waivers import Waivers
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import find
from ironcurtain.pipeline.languages import languages
from ironcurtain.yamltext import place_of

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
    examined = examination(policy.bundle, policy.world, engine)
    today = datetime.now(tz=UTC).date()
    report = findings.waived(findings.find(examined, material, engine), accepted, today)
    failing = report.unwaived(fail_on)
    if format_ == "json":
        click.echo(jsontext.pretty(report.model_dump(mode="json")), nl=False)
    elif not (quiet and not failing):
        lines = findings_text.text_lines if format_ == "text" else findings_text.markdown_lines
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
