"""`ironcurtain attack`: whether a call gets further in another spelling."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.analysis.attack import MAXIMUM
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit

if TYPE_CHECKING:
    from ironcurtain.analysis.attack.bases import BaseCall, RecordedCalls
    from ironcurtain.analysis.attack.report import Live
    from ironcurtain.bundle.archive import Bundle
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.model.scenarios import DescribedWorld
    from ironcurtain.servers.config import ServerConfig


@click.command()
@bundle_argument()
@CONFIG
@click.option(
    "--scenarios",
    metavar="FILE",
    help="The calls to respell, and the world to assume (default: test-scenarios.json beside the bundle).",
)
@click.option("--guarantees", metavar="FILE", help="The guarantees (default: the project's guarantees.yaml).")
@click.option("--recorded", metavar="AUDIT", help="Respell the calls of this audit log, too.")
@click.option("--home", metavar="DIR", help="The home of the recorded session (default: yours).")
@click.option("--sandbox", metavar="DIR", help="The sandbox of the recorded session.")
@click.option("--directory", metavar="DIR", help="Where logs lie by name (default: ~/.ironcurtain/audit).")
@click.option("--head", metavar="FILE", help="The log's head (default: below heads/ beside it).")
@click.option(
    "--maximum",
    type=click.IntRange(min=1),
    default=MAXIMUM,
    show_default=True,
    metavar="N",
    help="Decide so many respelled calls at most.",
)
@click.option(
    "--live", is_flag=True, help="Send respelled calls to the real servers, in a scratch directory."
)
@click.option(
    "--servers", metavar="FILE", help="With --live: the servers (default: the project's mcp-servers.json)."
)
@FORMAT
@trust_options
@OPA
def command(
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
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Search for equivalent spellings of calls that the policy decides more loosely.

    Scenarios, recorded calls and an example of each case of the policy are rewritten in ways that tools, the
    kernel, git and browsers treat as equal: dots and slashes, links, case, Unicode forms, `~`, addresses,
    lists, defaults, and one call as two. No variant may get a milder verdict than its original, and nothing
    that is denied may be reached. This is a search: what it does not find is not proved.

    With --live, calls of tools that name nothing but paths are sent to the real servers, each contained and
    without a network, and what they read and change is compared with the decided resources.

    \b
    Examples:
      ironcurtain attack
      ironcurtain attack generated/bundle --recorded work --sandbox work

    \b
    Exit: 0 nothing looser was found, 1 something was, 2 wrong options or files,
    3 the engine or a server gives no answer, nothing contains servers, or the log is not intact.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.attack.bases import gather
    from ironcurtain.analysis.attack.report import report_lines
    from ironcurtain.analysis.attack.run import attack, with_live
    from ironcurtain.analysis.engine.policy_analysis import analyse_with_guarantees
    from ironcurtain.cli.review.policy_argument import opa_command, read_policy
    from ironcurtain.model.guarantees import Guarantees
    from ironcurtain.servers.permitted import project_servers

    policy = read_policy(bundle, config, scenarios, **trust)
    promised = policy.beside(guarantees, policy.project.settings.guarantees, Guarantees)
    calls = _recorded(recorded, directory, head, policy.world, home, sandbox)
    engine = opa_command(opa)
    examined = analyse_with_guarantees(policy.bundle, policy.world, engine, promised)
    report = attack(examined, policy.scenarios or (), engine, recorded=calls, maximum=maximum)
    if live:
        bases = gather(policy.scenarios or (), examined, calls).bases
        started = project_servers(Path(servers) if servers is not None else policy.project.path("servers"))
        report = with_live(report, _live(policy.bundle, policy.world, bases, started, engine))
    print_result(report, report_lines(report), format_)
    return Exit.NO if report.outcome == "found" else Exit.YES


def _live(
    bundle: Bundle, world: DescribedWorld, bases: Iterable[BaseCall], config: ServerConfig, engine: OpaCommand
) -> Live:
    from ironcurtain.analysis.attack.live import attack_live

    return attack_live(bundle, world, bases, config, engine)


def _recorded(
    log: str | None,
    directory: str | None,
    head: str | None,
    world: DescribedWorld,
    home: str | None,
    sandbox: str | None,
) -> RecordedCalls:
    from ironcurtain.analysis.attack.bases import RecordedCalls, places_of
    from ironcurtain.cli.review.recorded_calls import recorded_decisions

    if log is None:
        return RecordedCalls()
    _, records, _ = recorded_decisions(log, directory, head, None)
    place = str(Path(home).absolute()) if home is not None else str(Path.home())
    inside = str(Path(sandbox).absolute()) if sandbox is not None else None
    return RecordedCalls(tuple(records), places_of(world, place, inside))
