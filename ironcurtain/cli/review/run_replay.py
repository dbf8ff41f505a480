"""What `ironcurtain replay` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.analysis.replay.summary import summed_up, text_lines
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.cli.review.policy_argument import bundle_or_project
from ironcurtain.cli.review.recorded_calls import log_key, recorded_decisions, replayer
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json


def run(
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
    **trust: Json,
) -> Exit:
    """Decide the calls of a log under another bundle and print what flips."""
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
