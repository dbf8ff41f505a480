"""What `ironcurtain diff` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.bundle.archive import Bundle
from ironcurtain.cli.assumed import assumed_world
from ironcurtain.errors import Exit
from ironcurtain.evidence.difference import difference
from ironcurtain.evidence.difference_text import markdown_lines, text_lines
from ironcurtain.model import jsontext
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import find
from ironcurtain.pipeline.rendered import check_rendered


def run(*, old: str, new: str, scenarios: str | None, format_: str, opa: str | None) -> Exit:
    """Compare two bundles and print what changed."""
    bundles = [Bundle.read(Path(path)) for path in (old, new)]
    for bundle in bundles:
        check_rendered(bundle)
    engine = OpaCommand(find(Path(opa) if opa else None))
    result = difference(bundles[0], bundles[1], assumed_world(new, scenarios), engine)
    if format_ == "json":
        click.echo(jsontext.pretty(result.model_dump(mode="json")), nl=False)
    else:
        lines = text_lines(result) if format_ == "text" else markdown_lines(result)
        click.echo("\n".join(lines))
    return Exit.NO if result.loosened else Exit.YES
