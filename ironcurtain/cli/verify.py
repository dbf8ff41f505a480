"""`ironcurtain verify`: check, test and verify a bundle, without a model or a network."""

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

_BESIDE = "test-scenarios.json"


@click.command(short_help="Check, test and verify a bundle, without a model.")
@click.argument("bundle")
@click.option("--scenarios", metavar="FILE", help=f"Scenarios (default: {_BESIDE} beside the bundle).")
@click.option("--expect-revision", metavar="R", help="Refuse a bundle of any other revision.")
@click.option("--opa", metavar="PATH", help="The OPA executable (default: see `ironcurtain opa which`).")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing when all is well.")
def command(
    *,
    bundle: str,
    scenarios: str | None,
    expect_revision: str | None,
    opa: str | None,
    format_: str,
    quiet: bool,
) -> Exit:
    """Verify BUNDLE: its revision, `opa check`, `opa test`, and every scenario.

    \b
    Example:
      ironcurtain verify generated/bundle

    \b
    Exit: 0 verified, 1 something fails, 2 wrong options or files,
    3 the bundle is corrupt or the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    read = Bundle.read(Path(bundle))
    if expect_revision not in (None, read.revision):
        raise BundleIntegrityError(
            f"the bundle has revision {read.revision}, not {expect_revision}", where=bundle
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
