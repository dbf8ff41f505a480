"""What `ironcurtain attack` does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ironcurtain.analysis.attack.bases import Base, Recorded, gather, places_of
from ironcurtain.analysis.attack.report import Live
from ironcurtain.analysis.attack.run import attack, with_live
from ironcurtain.analysis.attack.text import report_lines
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust
from ironcurtain.cli.review.policy_argument import read_policy
from ironcurtain.cli.review.recorded_calls import recorded_decisions
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json


def run(
    *,
    bundle: str | None,
    config: str | None,
    scenarios: str | None,
    guarantees: str | None,
    recorded: str | None,
    home: str | None,
    sandbox: str | None,
    directory: str | None,
    head: str | None,
    maximum: int,
    live: bool,
    servers: str | None,
    format_: str,
    opa: str | None,
    **trust: Json,
) -> Exit:
    """Attack a policy and print what was found."""
    policy = read_policy(bundle, config, scenarios, Trust.of(**trust))
    promised = policy.beside(guarantees, policy.project.settings.guarantees, Guarantees)
    calls = _recorded(recorded, directory, head, policy.world, home, sandbox)
    engine = OpaCommand(find(Path(opa) if opa else None))
    examined = analyse_policy(policy.bundle, policy.world, engine, promised)
    report = attack(examined, policy.scenarios or (), engine, recorded=calls, maximum=maximum)
    if live:
        bases = gather(policy.scenarios or (), examined, calls).bases
        started = load_servers(Path(servers) if servers is not None else policy.project.path("servers"))
        report = with_live(report, _live(policy.bundle, policy.world, bases, started, engine))
    if format_ == "json":
        click.echo(json_text.pretty(report.model_dump(mode="json")), nl=False)
    else:
        click.echo("\n".join(report_lines(report)))
    return Exit.NO if report.outcome == "found" else Exit.YES


def _live(
    bundle: Bundle, world: DescribedWorld, bases: Iterable[Base], config: ServerConfig, engine: OpaCommand
) -> Live:
    from ironcurtain.analysis.attack.live import attack_live  # noqa: PLC0415 - the SDK takes a second to load

    return attack_live(bundle, world, bases, config, engine)


def _recorded(
    log: str | None,
    directory: str | None,
    head: str | None,
    world: DescribedWorld,
    home: str | None,
    sandbox: str | None,
) -> Recorded:
    if log is None:
        return Recorded()
    _, records, _ = recorded_decisions(log, directory, head, None)
    place = str(Path(home).absolute()) if home is not None else str(Path.home())
    inside = str(Path(sandbox).absolute()) if sandbox is not None else None
    return Recorded(tuple(records), places_of(world, place, inside))
