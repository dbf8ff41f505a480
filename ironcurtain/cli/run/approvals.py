"""`ironcurtain approvals`: what waits for a person, and the person's answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click
from click.core import ParameterSource

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT
from ironcurtain.errors import Exit

F = TypeVar("F", bound=Callable[..., object])

_DIRECTORY = click.option(
    "--dir", "directory", metavar="DIR", help="The approvals directory (default: ~/.ironcurtain/approvals)."
)
_KEY = click.option("--key", metavar="FILE", help="The key's file (default: ~/.ironcurtain/approvals.key).")
_YES = click.option(
    "--yes", is_flag=True, help="Answer without asking back; needed where there is no terminal."
)
_ID = click.argument("id_", metavar="ID")


def _place(command: F) -> F:
    """Add the options that say where the requests lie."""
    return _DIRECTORY(_KEY(command))


_WATCH = click.option(
    "--watch",
    is_flag=True,
    help="Stay and ring on a new request; at a terminal, read and answer them there, "
    "elsewhere print the list anew on each change.",
)


@click.group(invoke_without_command=True)
@_WATCH
@_place
@FORMAT
@click.pass_context
def command(context: click.Context, /, **options: object) -> Exit | None:
    """Show and answer the calls that wait for a person.

    Run it in a terminal of your own, not in the agent's. Without a command it lists what waits.

    \b
    Example:
      ironcurtain approvals --watch

    \b
    Exit: 0 nothing waits, 2 directory or key cannot be trusted, 4 something waits, 130 interrupted;
    others as each command says.
    """  # noqa: D301 - click reads the escape
    if context.invoked_subcommand is None:
        return lazy.run("run.approvals", "list_", **options)
    given = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        raise click.UsageError(f"Options stand behind `{context.invoked_subcommand}`, not before it.")
    return None


@command.command("list")
@_WATCH
@_place
@FORMAT
def list_(**options: object) -> Exit:
    """List what waits and what each call is about, the oldest first.

    \b
    Example:
      ironcurtain approvals list

    \b
    Exit: 0 nothing waits, 2 directory or key cannot be trusted, 4 something waits, 130 interrupted.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.approvals", "list_", **options)


@command.command()
@_ID
@_place
@FORMAT
def show(**options: object) -> Exit:
    """Show the request ID (or the beginning of one) in full: every argument, and why it is asked.

    A character that cannot be seen is shown as its escape, as in a Python string.

    \b
    Example:
      ironcurtain approvals show 3f2a

    \b
    Exit: 0 shown, 1 it is gone or cannot be trusted, 2 wrong id, directory or key.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.approvals", "show", **options)


@command.command()
@_ID
@click.option("--session", is_flag=True, help="Also approve calls of the shape that the request offers.")
@_YES
@_place
@FORMAT
def approve(**options: object) -> Exit:
    """Approve the request ID: this call, once. It is shown in full, and you confirm by typing `approve`.

    With --session, calls of the same shape are approved for as long as the proxy runs; the request says
    what that covers. The call goes on when the agent makes it again, or at once if it still waits.

    \b
    Examples:
      ironcurtain approvals approve 3f2a
      ironcurtain approvals approve 3f2a --session

    \b
    Exit: 0 approved, 1 not approved: answered before, expired, gone, or you did not confirm,
    2 wrong id, directory or key, or no terminal and no --yes.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.approvals", "approve", **options)


@command.command()
@_ID
@click.option("--reason", metavar="TEXT", default="", help="Why; the agent is told this.")
@_place
@FORMAT
def deny(**options: object) -> Exit:
    """Deny the request ID.

    \b
    Example:
      ironcurtain approvals deny 3f2a --reason "push to a branch of your own"

    \b
    Exit: 0 denied, 1 answered before, expired or gone, 2 wrong id, directory or key.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.approvals", "deny", **options)
