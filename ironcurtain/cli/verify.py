"""`ironcurtain verify`: check, test and verify a bundle, without a model or a network."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options import EXPECT_REVISION, FORMAT, OPA, QUIET
from ironcurtain.errors import Exit


@click.command()
@click.argument("bundle")
@click.option(
    "--scenarios", metavar="FILE", help="Scenarios (default: test-scenarios.json beside the bundle)."
)
@EXPECT_REVISION
@OPA
@FORMAT
@QUIET
def command(**options: object) -> Exit:
    """Verify BUNDLE: its revision, `opa check`, `opa test`, and every scenario.

    \b
    Example:
      ironcurtain verify generated/bundle

    \b
    Exit: 0 verified, 1 something fails, 2 wrong options or files,
    3 the bundle is corrupt or the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("verify", **options)
