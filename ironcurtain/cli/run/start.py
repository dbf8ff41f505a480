"""`ironcurtain start`: an agent whose every tool call is enforced in this process."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import click

from ironcurtain.cli.options.bundle_argument import EXPLICIT_BUNDLE
from ironcurtain.cli.options.options import STATE, EnforcementOptions, Number, engine_options, policy_options
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.session.create import SessionSettings
    from ironcurtain.session.limits import Limits
    from ironcurtain.session.transports.transport import Transport

F = TypeVar("F", bound=Callable[..., object])
_LIMITS = {
    "steps": (click.IntRange(min=1), "N", "answers of the model"),
    "tokens": (click.IntRange(min=1), "N", "tokens, input and output together"),
    "seconds": (Number(min=1), "N", "seconds, with those that people take"),
    "cost": (Number(min=0.0001), "USD", "US dollars"),
}


def _limit_options(command: F) -> F:
    for whose in ("session", "turn"):
        for name, (kind, metavar, words) in reversed(_LIMITS.items()):
            default = 100 if (whose, name) == ("turn", "steps") else None
            command = click.option(
                f"--{whose}-{name}",
                type=kind,
                metavar=metavar,
                default=default,
                show_default=default is not None,
                help=f"End a {whose} that has used this many {words}."
                if whose == "turn"
                else f"End the turn at which the session has used this many {words}.",
            )(command)
    return command


@click.command()
@click.argument("task", required=False)
@EXPLICIT_BUNDLE
@policy_options
@engine_options
@click.option(
    "--model",
    metavar="ID",
    envvar="IRONCURTAIN_MODEL",
    help="The model, as anthropic:ID; see `ironcurtain error models`.",
)
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option("--resume", metavar="SESSION", help="Go on with this session; see `ironcurtain sessions list`.")
@click.option("--json", "as_json", is_flag=True, help="Speak JSON lines on stdin and stdout, for programs.")
@click.option("--no-approver", is_flag=True, help="Ask nobody: what the policy escalates is refused.")
@STATE
@click.option(
    "--answer-within",
    type=Number(1, 86400),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a person has to answer.",
)
@click.option(
    "--approver",
    "approvers",
    metavar="NAME=PERSON",
    multiple=True,
    help="Who the rules' approver NAME is: account (who answers here or with `ironcurtain approvals`), or "
    "the file of a public key; repeatable.",
)
@_limit_options
def command(
    *,
    task: str | None,
    bundle: str | None,
    model: str | None,
    resume: str | None,
    as_json: bool,
    **chosen: Any,  # noqa: ANN401 - the options of `_settings`
) -> Exit:
    """Start an agent of your own: a model with the tools of --servers, each call decided by --bundle.

    With TASK it does one task: the answer goes to stdout, all else to stderr. Without, it is a conversation;
    type /help there. --sandbox is the agent's working directory.

    \b
    Example:
      ironcurtain start "Which of my notes is the longest?" --model anthropic:claude-sonnet-5-5 \\
        --bundle generated/bundle --servers mcp-servers.json --sandbox ~/work

    \b
    Exit: 0 the model finished, 1 the turn was ended before, 2 wrong
    options or files, 3 no model, engine, intact bundle or audit log,
    130 interrupted.
    """  # noqa: D301 - click reads the escape
    if bundle is None:
        raise UsageError("no bundle is given", hint="Name what is enforced: --bundle generated/bundle.")
    if model is None:
        raise UsageError("a session needs a model", hint="Write --model ID (`ironcurtain error models`).")
    from ironcurtain.session.run import run_session

    sandbox = chosen["sandbox"]
    finished = run_session(
        _settings(bundle, **chosen),
        _transport(task, as_json=as_json),
        workspace=Path(sandbox) if sandbox is not None else None,
        model=model,
        resume=resume,
    )
    return Exit.YES if finished else Exit.NO


def _transport(task: str | None, *, as_json: bool) -> Transport:
    from ironcurtain.session.transports.conversation import Conversation
    from ironcurtain.session.transports.json_lines import JsonLines
    from ironcurtain.session.transports.one_task import OneTask
    from ironcurtain.session.transports.terminal_input import reader
    from ironcurtain.system import terminal

    if as_json:
        if task is not None:
            raise UsageError("--json takes what is said from stdin", hint="Leave TASK away.")
        return JsonLines()
    if task is not None:
        if not task.strip():
            raise UsageError("the task is empty", hint="Leave TASK away for a conversation.")
        return OneTask(task, reader() if terminal.is_there() else None)
    if not terminal.is_there():
        raise UsageError(
            "a conversation needs a terminal", hint="Give the task as an argument, or use --json."
        )
    return Conversation()


def _settings(
    bundle: str,
    *,
    caller: str | None,
    no_approver: bool,
    approvers: tuple[str, ...],
    answer_within: float,
    state: str | None,
    **chosen: Any,  # noqa: ANN401 - limits, and the options of the policy
) -> SessionSettings:
    from ironcurtain.cli.options.bundle_argument import caller_facts
    from ironcurtain.enforcement.approvals.approvers import Approvers
    from ironcurtain.enforcement.facts.totals.store_place import StorePlace
    from ironcurtain.session.create import SessionSettings

    people = Approvers.parse(approvers, has_own_user=True)
    if "client" in people.named.values():
        raise UsageError(
            "a session has no client at which a person sits", where="--approver", hint="Write NAME=account."
        )
    turn, whole = _limits("turn", chosen), _limits("session", chosen)
    return _deployed(
        partial(
            SessionSettings,
            bundle=Path(bundle),
            caller=caller_facts(caller) or {},
            attended=not no_approver,
            approvers=people,
            seconds=answer_within,
            state=StorePlace.parse(state),
            turn=turn,
            whole=whole,
        ),
        **{key: value for key, value in chosen.items() if not key.startswith(("turn_", "session_"))},
    )


def _limits(whose: str, chosen: dict[str, Any]) -> Limits:
    from ironcurtain.session.limits import Limits

    cost = chosen[f"{whose}_cost"]
    return Limits(
        steps=chosen[f"{whose}_steps"],
        tokens=chosen[f"{whose}_tokens"],
        seconds=chosen[f"{whose}_seconds"],
        cost=Decimal(str(cost)) if cost is not None else None,
    )


def _deployed(
    settings: Callable[..., SessionSettings], **deployment: Unpack[EnforcementOptions]
) -> SessionSettings:
    servers = deployment["servers"]
    if servers is None:
        raise UsageError("a session needs --servers FILE", hint="Name your mcp-servers.json.")

    def path(name: str | None) -> Path | None:
        return Path(name) if name is not None else None

    return settings(
        servers=Path(servers),
        home=path(deployment["home"]),
        protected=tuple(map(Path, deployment["protected"])),
        expect_revision=deployment["expect_revision"],
        verify_key=path(deployment["verify_key"]),
        min_serial=deployment["min_serial"],
        opa=path(deployment["opa"]),
        engine=deployment["engine"],
        engine_ca=path(deployment["engine_ca"]),
        engine_token_file=path(deployment["engine_token_file"]),
    )
