"""`ironcurtain attack`: whether a call gets further in another spelling."""

from __future__ import annotations

import click

from ironcurtain.analysis.attack.limits import MAXIMUM
from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, trust_options
from ironcurtain.errors import Exit


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
def command(**options: object) -> Exit:
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
    return lazy.run("review.attack", **options)
