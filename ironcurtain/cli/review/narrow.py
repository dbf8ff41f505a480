"""`ironcurtain narrow`: each tool's input schema, reduced to what the policy could permit."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, WORLD, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted


@click.command()
@bundle_argument("server", "tool", shown="[SERVER [TOOL]]", needed="any")
@WORLD
@click.option("--home", metavar="DIR", help="The home directory to assume instead.")
@click.option("--sandbox", metavar="DIR", help="The sandbox to assume instead.")
@FORMAT
@trust_options
@OPA
def command(
    *,
    bundle: str | None,
    server: str | None,
    tool: str | None,
    scenarios: str | None,
    home: str | None,
    sandbox: str | None,
    format_: str,
    opa: str | None,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Print what of each tool a policy could allow or escalate.

    With SERVER and TOOL, print that tool alone. A call that is denied may still fit the narrowed schema; one
    that is allowed or escalated always does. `--format json` holds the whole schemas. A single argument is a
    bundle only if it has a slash or a dot (./policy), otherwise a server.

    \b
    Example:
      ironcurtain narrow filesystem move_file

    \b
    Exit: 0 printed, 1 the bundle's Rego is not what its rules say,
    2 wrong options or files, 3 the bundle is corrupt or the engine
    gives no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.narrowing.narrowing import narrowing
    from ironcurtain.analysis.narrowing.report import text_lines
    from ironcurtain.analysis.sequences.steps import single_calls
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.cli.review.policy_argument import (
        assumed_scenarios,
        bundle_or_project,
        opa_command,
        read_rendered,
    )

    path = bundle_or_project(bundle)
    read = read_rendered(path, **trust)
    given = {"home": home, "sandbox": sandbox}
    changes = {name: str(Path(path).absolute()) for name, path in given.items() if path is not None}
    tests = single_calls(assumed_scenarios(path, scenarios), read)
    world = tests.world.model_copy(update=changes)
    narrowed = narrowing(read, world, opa_command(opa), tests.scenarios)
    if server is not None:
        tools = tuple(t for t in narrowed.tools if t.server == server and tool in (None, t.tool))
        if not tools:
            wanted = quoted(server if tool is None else f"{server}/{tool}")
            raise UsageError(f"the bundle has no tool {wanted}", hint="`ironcurtain matrix` names them all.")
        narrowed = narrowed.model_copy(update={"tools": tools})
    print_result(narrowed, text_lines(narrowed, PolicyContent.of(read).annotations), format_)
    return Exit.YES
