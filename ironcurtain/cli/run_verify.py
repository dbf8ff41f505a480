"""What `ironcurtain verify` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.bundle.archive import Bundle
from ironcurtain.errors import BundleIntegrityError, Exit, UsageError
from ironcurtain.files import load
from ironcurtain.model import jsontext
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.opa.locate import find
from ironcurtain.pipeline.verify import report_lines, verify
from ironcurtain.text import quoted

_BESIDE = "test-scenarios.json"


def run(
    *,
    bundle: str,
    scenarios: str | None,
    expect_revision: str | None,
    opa: str | None,
    format_: str,
    quiet: bool,
) -> Exit:
    """Verify a bundle and print the result."""
    read = Bundle.read(Path(bundle))
    if expect_revision not in (None, read.revision):
        raise BundleIntegrityError(
            f"the bundle has revision {read.revision}, not {quoted(expect_revision or '')}", where=bundle
        )
    result = verify(read, _scenarios(bundle, scenarios), find(Path(opa) if opa else None))
    if format_ == "json":
        click.echo(jsontext.pretty(result.model_dump(mode="json")), nl=False)
    elif not (quiet and result.ok):
        click.echo("\n".join(report_lines(result)))
    return Exit.YES if result.ok else Exit.NO


def _scenarios(bundle: str, given: str | None) -> Scenarios:
    path = Path(given) if given else Path(bundle).absolute().parent / _BESIDE
    if not path.exists():
        raise UsageError(
            f"no scenarios: {path.name} does not exist", where=str(path), hint="Name a file with --scenarios."
        )
    return load(path, Scenarios)
