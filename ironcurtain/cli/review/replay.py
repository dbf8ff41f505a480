"""`ironcurtain replay`: what recorded calls would be decided under another bundle."""

from __future__ import annotations

from typing import Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit


@click.command()
@bundle_argument("log", shown="AUDIT")
@click.option("--sandbox", metavar="DIR", help="The sandbox of the recorded session.")
@click.option("--home", metavar="DIR", help="The home of the recorded session (default: yours).")
@click.option("--directory", metavar="DIR", help="Where logs lie by name (default: ~/.ironcurtain/audit).")
@click.option("--head", metavar="FILE", help="The log's head (default: below heads/ beside it).")
@click.option("--key", metavar="FILE", help="The log's key; a log that holds no values needs it.")
@trust_options
@OPA
@FORMAT
def command(
    *,
    log: str,
    bundle: str | None,
    sandbox: str | None,
    home: str | None,
    directory: str | None,
    head: str | None,
    key: str | None,
    opa: str | None,
    format_: str,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Decide the calls of an audit log again under another bundle, and group changes by clause.

    AUDIT is a log's file or the name of a session. Without --sandbox, a record is
    decided in the workspace that it names. If a record does not hold enough to
    decide the call, its result is unknown.

    \b
    Example:
      ironcurtain replay work

    \b
    Exit: 0 nothing flips, 1 something does, 2 wrong options or files,
    3 it cannot be told: something is unknown, the log is not intact, no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.replay.report import summed_up, text_lines
    from ironcurtain.cli.review.policy_argument import (
        bundle_or_project,
        opa_command,
        read_rendered,
    )
    from ironcurtain.cli.review.recorded_calls import log_key, recorded_decisions, replay_where_recorded

    read = read_rendered(bundle_or_project(bundle), **trust)
    secret = log_key(key)
    place, records, skipped = recorded_decisions(log, directory, head, secret)
    engine = opa_command(opa)
    replayed = replay_where_recorded(read, records, home=home, sandbox=sandbox, opa=engine, key=secret)
    result = summed_up(place.session, read.revision, records, replayed, skipped)
    print_result(result, text_lines(result), format_)
    if result.flips:
        return Exit.NO
    return Exit.NO_ANSWER if result.unknown else Exit.YES
