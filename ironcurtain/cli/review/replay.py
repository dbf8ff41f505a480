"""`ironcurtain replay`: what recorded calls would be decided under another bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, TrustOptions, trust_options
from ironcurtain.errors import Exit

if TYPE_CHECKING:
    pass


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

    AUDIT is a log's file or the name of a session. If a record does not hold
    enough to decide the call, its result is unknown.

    \b
    Example:
      ironcurtain replay --sandbox work work

    \b
    Exit: 0 nothing flips, 1 something does, 2 wrong options or files,
    3 it cannot be told: something is unknown, the log is not intact, no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.replay.report import summed_up, text_lines
    from ironcurtain.bundle.opening import Trust, open_bundle
    from ironcurtain.cli.review.policy_argument import (
        bundle_or_project,
        log_key,
        recorded_decisions,
        replayer,
    )
    from ironcurtain.compiler.render.rendered import check_rendered
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.engine.locate import find
    from ironcurtain.system import json_text

    read = open_bundle(Path(bundle_or_project(bundle)), Trust.of(**trust))
    check_rendered(read)
    secret = log_key(key)
    place, records, skipped = recorded_decisions(log, directory, head, secret)
    engine = OpaCommand(find(Path(opa) if opa else None))
    replayed = replayer(read, home=home, sandbox=sandbox, opa=engine, key=secret).replay(records)
    result = summed_up(place.session, read.revision, records, replayed, skipped)
    if format_ == "json":
        click.echo(json_text.pretty(result.model_dump(mode="json")), nl=False)
    else:
        click.echo("\n".join(text_lines(result)))
    if result.flips:
        return Exit.NO
    return Exit.NO_ANSWER if result.unknown else Exit.YES
