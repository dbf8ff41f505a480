"""`ironcurtain approvals`: what waits for a person, and the person's answers."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar

import click
from click.core import ParameterSource

from ironcurtain.cli.options.options import FORMAT, TrustOptions
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from ironcurtain.enforcement.approvals.inbox import ApprovalInbox, PersonAnswer, Recorded
    from ironcurtain.enforcement.approvals.messages import ApprovalRequest, ApprovalStatus
    from ironcurtain.system.frozen import JsonValue

F = TypeVar("F", bound=Callable[..., object])
_DIRECTORY = click.option(
    "--dir", "directory", metavar="DIR", help="The approvals directory (default: ~/.ironcurtain/approvals)."
)
_KEY = click.option("--key", metavar="FILE", help="The key's file (default: ~/.ironcurtain/approvals.key).")
_YES = click.option(
    "--yes", is_flag=True, help="Answer without asking back; needed where there is no terminal."
)
_ID = click.argument("id_", metavar="ID")


def place(command: F) -> F:
    """Add the options that say where the requests lie."""
    return _DIRECTORY(_KEY(command))


_WATCH = click.option(
    "--watch",
    is_flag=True,
    help="Stay and ring on a new request; at a terminal, read and answer them there, "
    "elsewhere print the list anew on each change.",
)
_WATCH_SECONDS = 0.5
_BEGINNING = re.compile(r"[0-9a-f]{1,16}")


@click.group(invoke_without_command=True)
@_WATCH
@place
@FORMAT
@click.pass_context
def command(context: click.Context, /, **options: Any) -> Exit | None:  # noqa: ANN401 - those of `list`
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
        return _list(**options)
    given = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        raise click.UsageError(f"Options stand behind `{context.invoked_subcommand}`, not before it.")
    return None


@command.command("list")
@_WATCH
@place
@FORMAT
def list_(*, watch: bool, directory: str | None, key: str | None, format_: str) -> Exit:
    """List what waits and what each call is about, the oldest first.

    \b
    Example:
      ironcurtain approvals list

    \b
    Exit: 0 nothing waits, 2 directory or key cannot be trusted, 4 something waits, 130 interrupted.
    """  # noqa: D301 - click reads the escape
    return _list(watch=watch, directory=directory, key=key, format_=format_)


@command.command()
@_ID
@place
@FORMAT
def show(*, id_: str, directory: str | None, key: str | None, format_: str) -> Exit:
    """Show the request ID (or the beginning of one) in full: every argument, and why it is asked.

    A character that cannot be seen is shown as its escape, as in a Python string.

    \b
    Example:
      ironcurtain approvals show 3f2a

    \b
    Exit: 0 shown, 1 it is gone or cannot be trusted, 2 wrong id, directory or key.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.approvals.describe import UNAWAITED, describe

    with ExitStack() as stack:
        inbox = _inbox(stack, directory, key)
        status = _find(inbox, id_)
    if status is None or status.request is None:
        return _gone(id_, status)
    if format_ == "json":
        print_json(status)
    else:
        click.echo(describe(status.request, width=_size(sys.stdout).columns), nl=False)
        waits = status.waits or status.state != "pending"
        click.echo(f"  state: {status.state}{'' if waits else f' ({UNAWAITED})'}")
    return Exit.YES


@command.command()
@_ID
@click.option("--bundle", metavar="B", help="The policy that asks; without it no sentence is proposed.")
@click.option("--audit", metavar="DIR", help="The audit logs' directory (default: ~/.ironcurtain/audit).")
@place
@FORMAT
def always(
    *, id_: str, bundle: str | None, audit: str | None, directory: str | None, key: str | None, format_: str
) -> Exit:
    """Propose sentences instead of answering the request ID always, each proved as by `ironcurtain advise`.

    It grants nothing. It shows the sentence that asks, where it stands, how past requests of the same tool
    that it asked about ended, and sentences that would answer this one.

    \b
    Example:
      ironcurtain approvals always 3f2a --bundle generated/bundle

    \b
    Exit: 0 shown, with sentences or none, 1 it is gone or cannot be trusted, 2 wrong id, directory, key or
    bundle, 3 the bundle cannot be used, or no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.advice.text import text_lines
    from ironcurtain.cli.output.results import print_result
    from ironcurtain.cli.run.approvals_always import advice_on
    from ironcurtain.enforcement.audit.log_paths import audit_directory

    with ExitStack() as stack:
        inbox = _inbox(stack, directory, key)
        status = _find(inbox, id_)
    if status is None or status.request is None:
        return _gone(id_, status)
    trust = TrustOptions(expect_revision=None, verify_key=None, min_serial=None)
    advice = advice_on(status.request, bundle, Path(audit) if audit else audit_directory(), **trust)
    print_result(advice, text_lines(advice), format_)
    return Exit.YES


@command.command()
@_ID
@click.option("--session", is_flag=True, help="Also approve calls of the shape that the request offers.")
@click.option(
    "--until", metavar="HH:MM", help="As --session, but no longer than until then: at most 8 hours from now."
)
@click.option(
    "--approver-key",
    metavar="FILE",
    help="Your private key, where the request asks for the approval of somebody who answers with one.",
)
@_YES
@place
@FORMAT
def approve(
    *,
    id_: str,
    session: bool,
    until: str | None,
    approver_key: str | None,
    yes: bool,
    directory: str | None,
    key: str | None,
    format_: str,
) -> Exit:
    """Approve the request ID: this call, once. It is shown in full, and you confirm by typing `approve`.

    With --session, calls of the same shape are approved for as long as the proxy runs, and with --until no
    longer than until then; the request says what that covers. The call goes on when the agent makes it
    again, or at once if it still waits.

    \b
    Examples:
      ironcurtain approvals approve 3f2a
      ironcurtain approvals approve 3f2a --session
      ironcurtain approvals approve 3f2a --until 17:30

    \b
    Exit: 0 approved, 1 not approved: answered before, expired, gone, another person's approval is asked
    for, or you did not confirm,
    2 wrong id, directory or key, or no terminal and no --yes.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.bundle.signing.keys import read_private_key
    from ironcurtain.enforcement.approvals.grant_end import read_end
    from ironcurtain.enforcement.approvals.inbox import PersonAnswer

    end = read_end(until, datetime.now(UTC)) if until is not None else None
    own = read_private_key(Path(approver_key)) if approver_key is not None else None
    with ExitStack() as stack:
        inbox = _inbox(stack, directory, key)
        status = _find(inbox, id_)
        if inbox is None or status is None or status.request is None:
            return _gone(id_, status)
        request = status.request
        answer = PersonAnswer("approved", "session" if session or end else "once", until=end)
        if answer.scope == "session" and not request.session_offer.covers:
            raise UsageError(
                f"this call cannot be approved for the session: {request.session_offer.why_not}",
                hint="Approve it once, without --session and --until.",
            )
        if not yes and not _confirmed(request, answer):
            click.echo("not approved; it still waits", err=True)
            return Exit.NO
        return _say(request, answer, inbox.answer(request, answer, key=own), format_)


@command.command()
@_ID
@click.option("--reason", metavar="TEXT", default="", help="Why; the agent is told this.")
@place
@FORMAT
def deny(*, id_: str, reason: str, directory: str | None, key: str | None, format_: str) -> Exit:
    """Deny the request ID.

    \b
    Example:
      ironcurtain approvals deny 3f2a --reason "push to a branch of your own"

    \b
    Exit: 0 denied, 1 answered before, expired or gone, 2 wrong id, directory or key.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.approvals.inbox import PersonAnswer
    from ironcurtain.enforcement.approvals.messages import MAX_REASON

    if len(reason) > MAX_REASON:
        raise UsageError(f"the reason is longer than {MAX_REASON} characters")
    with ExitStack() as stack:
        inbox = _inbox(stack, directory, key)
        status = _find(inbox, id_)
        if inbox is None or status is None or status.request is None:
            return _gone(id_, status)
        answer = PersonAnswer("denied", reason=reason)
        return _say(status.request, answer, inbox.answer(status.request, answer), format_)


def _confirmed(request: ApprovalRequest, answer: PersonAnswer) -> bool:
    from ironcurtain.enforcement.approvals.describe import describe
    from ironcurtain.enforcement.approvals.grant_end import shown_end
    from ironcurtain.system import terminal

    if not terminal.is_there():
        raise UsageError(
            "there is no terminal to confirm on", hint="Look at it with `approvals show`, then use --yes."
        )
    what = "this one call"
    if answer.scope == "session":
        until = f" until {shown_end(answer.until)}" if answer.until else ""
        what = f"this call and, for this session{until}, calls of the shape above"
    question = f"Type approve to approve {what}; anything else leaves it waiting."
    size = _size(sys.stderr)
    text = describe(request, width=size.columns)
    click.echo(text, err=True)
    if (lines := text.count("\n")) >= size.lines - terminal.lines_of(question, size.columns):
        click.echo(
            f"{lines:,} lines, and the first may be out of sight. They begin with\n"
            f"`request {request.id}`; `ironcurtain approvals show` shows them, too.",
            err=True,
        )
    return terminal.asks(question) == "approve"


def _say(request: ApprovalRequest, answer: PersonAnswer, recorded: Recorded, format_: str) -> Exit:
    from ironcurtain.enforcement.approvals.told import told

    if recorded != "recorded":
        click.echo(told(request, answer, recorded), err=True)
        return Exit.NO
    if format_ == "json":
        said: dict[str, JsonValue] = {"request": request.id, "verdict": answer.verdict, "scope": answer.scope}
        if answer.until is not None:
            said["until"] = answer.until.isoformat()
        print_json(said)
    else:
        click.echo(told(request, answer, recorded))
    return Exit.YES


def _gone(id_: str, status: ApprovalStatus | None) -> Exit:
    from ironcurtain.enforcement.approvals.told import PROBLEMS

    why = status.problem if status is not None else PROBLEMS["gone"]
    click.echo(f"request {visible(id_)}: {why}", err=True)
    return Exit.NO


def _find(inbox: ApprovalInbox | None, beginning: str) -> ApprovalStatus | None:
    """Return the request whose id begins so, or None.

    Raises:
        UsageError: If that is no id, or several begin so.
    """
    if not _BEGINNING.fullmatch(beginning):
        raise UsageError(f"{quoted(beginning)} is no request's id", hint="`approvals list` shows them.")
    return inbox.find(beginning) if inbox is not None else None


def _inbox(stack: ExitStack, directory: str | None, key: str | None) -> ApprovalInbox | None:
    from ironcurtain.enforcement.approvals.inbox import ApprovalInbox
    from ironcurtain.enforcement.approvals.places import default_paths

    default_directory, default_key = default_paths()
    inbox = ApprovalInbox.open(
        Path(directory) if directory else default_directory, Path(key) if key else default_key
    )
    return stack.enter_context(inbox) if inbox is not None else None


def _statuses(directory: str | None, key: str | None) -> tuple[ApprovalStatus, ...]:
    with ExitStack() as stack:
        inbox = _inbox(stack, directory, key)
        return inbox.statuses() if inbox is not None else ()


def _watch(directory: str | None, key: str | None, format_: str) -> NoReturn:
    """Print the list on each change, until the person interrupts."""
    shown: list[tuple[str, str]] | None = None
    known: set[str] = set()
    with ExitStack() as stack:
        inbox: ApprovalInbox | None = None
        while True:
            inbox = inbox or _inbox(stack, directory, key)
            statuses = inbox.statuses() if inbox is not None else ()
            states = [(status.id, str(status.state)) for status in statuses]
            if states != shown:
                waiting = {status.id for status in statuses if status.state == "pending"}
                _print_anew(statuses, format_, ring=not waiting <= known)
                shown, known = states, known | waiting
            time.sleep(_WATCH_SECONDS)


def _print_anew(statuses: tuple[ApprovalStatus, ...], format_: str, *, ring: bool) -> None:
    _print_list(statuses, format_)
    sys.stdout.flush()
    if ring:
        click.echo("\a", nl=False, err=True)


def _print_list(statuses: tuple[ApprovalStatus, ...], format_: str) -> None:
    from ironcurtain.enforcement.approvals.describe import rows
    from ironcurtain.enforcement.approvals.messages import Approvals

    if format_ == "json":
        print_json(Approvals(requests=statuses))
        return
    now = datetime.now(UTC)
    width = _size(sys.stdout).columns if sys.stdout.isatty() else None
    for line in (line for status in statuses for line in rows(status, now, width)):
        click.echo(line)
    if not statuses:
        click.echo("nothing waits for you", err=True)


def _list(*, watch: bool, directory: str | None, key: str | None, format_: str) -> Exit:
    """List what waits, once, on each change, or on a screen of its own."""
    from ironcurtain.cli.run.approvals_screen import Screen
    from ironcurtain.enforcement.approvals.told import told
    from ironcurtain.system import terminal

    if watch and format_ == "text" and terminal.is_screen():
        with ExitStack() as stack:
            screen = Screen(lambda: _inbox(stack, directory, key), told)
            return Exit.NEEDS_APPROVAL if screen.run() else Exit.YES
    if watch:
        _watch(directory, key, format_)
    statuses = _statuses(directory, key)
    _print_list(statuses, format_)
    return Exit.NEEDS_APPROVAL if any(status.state == "pending" for status in statuses) else Exit.YES


def _size(stream: TextIO) -> os.terminal_size:
    from ironcurtain.enforcement.approvals.describe import WIDTH
    from ironcurtain.system import terminal

    return terminal.size(stream, os.terminal_size((WIDTH, 24)))
