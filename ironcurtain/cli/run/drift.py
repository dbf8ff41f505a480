"""`ironcurtain drift`: what changed in the live servers since their tools were annotated."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import (
    CONFIG,
    FORMAT,
    OPA,
    QUIET,
    WORLD,
    Number,
    TrustOptions,
    trust_options,
)
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, raise_all


@click.command()
@click.option("--server", "only", metavar="NAME", multiple=True, help="Read this server only; repeatable.")
@bundle_argument("name", shown="[SERVER]", needed="any")
@CONFIG
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@click.option("--sandbox", metavar="DIR", help="The workspace, as the proxy is given it.")
@WORLD
@click.option("--timeout", type=Number(1), default=60.0, show_default=True, help="Seconds for each server.")
@FORMAT
@trust_options
@OPA
@QUIET
def command(
    *,
    only: tuple[str, ...],
    name: str | None,
    bundle: str | None,
    config: str | None,
    servers: str | None,
    sandbox: str | None,
    scenarios: str | None,
    timeout: float,
    format_: str,
    opa: str | None,
    quiet: bool,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """List what live servers tell otherwise than when they were annotated: tools, prompts, instructions.

    Starts the servers as the proxy does, in the same sandbox, and compares what each tool tells clients
    (description and schema, and the rest where the annotation pins it), their prompts and their instructions
    with the digests in the bundle. For each tool that was changed, added or removed it reports what changed,
    which rules and cells of the policy are affected, and which of its texts address the model. Enforcement
    denies exactly these tools until they are annotated again.

    \b
    Examples:
      ironcurtain drift
      ironcurtain drift --sandbox ~/work
      ironcurtain drift github --format json

    \b
    Exit: 0 no drift, 1 something drifted, 2 wrong options or files,
    3 a server cannot be read, or the bundle or the engine fails.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.drift.drift import drift, touched
    from ironcurtain.analysis.drift.report import text_lines
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.cli.review.policy_argument import opa_command, read_policy
    from ironcurtain.cli.run.fetching import say
    from ironcurtain.compiler.annotate.tool_texts import text_findings
    from ironcurtain.enforcement.proxy.surroundings import list_as_proxied
    from ironcurtain.servers.permitted import project_servers
    from ironcurtain.servers.tool_lists.published import recorded_servers
    from ironcurtain.servers.tools import left_out

    wanted = (*only, name) if name is not None else only
    policy = read_policy(bundle, config, scenarios, **trust)
    configured = project_servers(Path(servers) if servers is not None else policy.project.path("servers"))
    live, failed = list_as_proxied(
        policy.bundle, policy.place, configured, say, sandbox=sandbox, only=wanted or None, timeout=timeout
    )
    for sentence in left_out(live):
        say(sentence)
    recorded = recorded_servers(policy.place.parent, live)
    report = drift(PolicyContent.of(policy.bundle), live, text_findings, recorded)
    if report.tools:
        report = touched(report, policy.bundle, policy.world, opa_command(opa))
    if format_ == "json" or report.is_drifted or not quiet:
        print_result(report, text_lines(report), format_)
    raise_all([error for errors in failed.values() for error in errors])
    return Exit.NO if report.is_drifted else Exit.YES
