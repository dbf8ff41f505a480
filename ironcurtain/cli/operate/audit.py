"""`ironcurtain audit`: reading, verifying and summing up audit logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT, MARKDOWN_FORMAT, QUIET
from ironcurtain.errors import Exit

F = TypeVar("F", bound=Callable[..., object])

_DIRECTORY = click.option(
    "--directory", metavar="DIR", help="Where logs are found by name (default: ~/.ironcurtain/audit)."
)
_HEAD = click.option("--head", metavar="FILE", help="The log's head file (default: below heads/ beside it).")
_KEY = click.option(
    "--key",
    metavar="FILE",
    help="The key that vouches for the head (default: your own, for logs in ~/.ironcurtain/audit).",
)


def _log(command: F) -> F:
    return click.argument("log", required=False)(_DIRECTORY(command))


@click.group()
def command() -> None:
    """Read, verify and sum up audit logs.

    LOG is a log's file or the name of a session; without it the newest log is meant.

    \b
    Example:
      ironcurtain audit verify work

    \b
    Exit: 2 no such log; see each command.
    """  # noqa: D301 - click reads the escape


@command.command()
@_log
@click.option("-n", "--lines", type=click.IntRange(0), default=10, show_default=True, help="How many.")
@click.option("-f", "--follow", is_flag=True, help="Go on as records are written.")
@click.option("--verdict", type=click.Choice(["allow", "escalate", "deny"]), help="Only such decisions.")
@click.option("--tool", metavar="SERVER/TOOL", help="Only decisions about this tool.")
@FORMAT
def tail(**options: object) -> Exit:
    """Print the last records of a log, one a line.

    \b
    Example:
      ironcurtain audit tail work --follow --verdict deny

    \b
    Exit: 0 printed, 2 no such log, 3 a line cannot be trusted, 130 following was interrupted.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.audit", "tail", **options)


@command.command()
@click.argument("id_", metavar="ID")
@_log
@FORMAT
def show(**options: object) -> Exit:
    """Print the decision ID (or the one whose id begins so) in full, with its result.

    \b
    Example:
      ironcurtain audit show 4f2c1b work

    \b
    Exit: 0 printed, 2 no such log or decision, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.audit", "show", **options)


@command.command()
@_log
@_HEAD
@_KEY
@click.option("--witness", metavar="FILE", help="Receipts that `ironcurtain proxy --witness` wrote.")
@click.option("--no-head", is_flag=True, help="Verify the chain alone: nobody can tell what is cut off.")
@QUIET
@FORMAT
def verify(**options: object) -> Exit:
    """Find out whether a log is what was written: nothing changed, removed, added, reordered or cut off.

    \b
    Example:
      ironcurtain audit verify work

    \b
    Exit: 0 intact, 1 not intact, 2 no such log or key,
    3 the chain is intact, but without a head it cannot be told what is cut off.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.audit", "verify", **options)


@command.command()
@_log
@FORMAT
def stats(**options: object) -> Exit:
    """Count what a log holds: decisions, approvals, results, rules, tools.

    \b
    Example:
      ironcurtain audit stats work --format json

    \b
    Exit: 0 printed, 2 no such log, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.audit", "stats", **options)


@command.command()
@_log
@_HEAD
@_KEY
@MARKDOWN_FORMAT
def report(**options: object) -> Exit:
    """Sum up a session: what was asked of people, what was refused, what went wrong.

    \b
    Example:
      ironcurtain audit report work --format markdown > session.md

    \b
    Exit: 0 printed, 1 printed, but the log is not intact,
    2 no such log or key, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.audit", "report", **options)
