"""`ironcurtain pdp`: decide for clients that carry out calls themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import STATE, Number, engine_options, policy_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument(explicit=True)
@policy_options
@engine_options
@click.option("--unix", "socket", metavar="PATH", help="The socket to listen at (default: one of yours).")
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@STATE
@click.option(
    "--patience",
    type=Number(0, 3600),
    default=45.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a call is held while a person decides.",
)
@click.option("--no-approver", is_flag=True, help="Ask nobody: what the policy escalates is refused.")
def command(*, socket: str | None, **chosen: Any) -> Exit:  # noqa: ANN401 - of `enforcer_options_of`
    """Decide about calls that others carry out: hooks of clients, and gateways that speak OpenID AuthZEN.

    It listens on a Unix socket, for programs of this user alone: POST /hooks/claude-code takes an event of
    Claude Code and answers in its form, POST /access/v1/evaluation (and /evaluations) are OpenID AuthZEN 1.0.
    Each decision is in the audit log of its session. The hooks that `ironcurtain wrap claude-code` installs
    start it by themselves; it ends when nobody has asked for an hour. SIGHUP, or a new bundle in the old
    one's place, reloads the policy.

    \b
    Example:
      ironcurtain pdp --bundle generated/bundle --sandbox ~/work

    \b
    Exit: 0 a signal came, nobody asks any more, or another service
    listens there, 2 wrong options or files, 3 no engine or no intact
    bundle.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.run.proxy import enforcer_options_of
    from ironcurtain.enforcement.calls.repeated_calls import MOST
    from ironcurtain.enforcement.proxy.process import run, say
    from ironcurtain.enforcement.service.claude_code import governing_files
    from ironcurtain.enforcement.service.run import run_service
    from ironcurtain.system.private_runtime import runtime_directory

    sandbox, home = chosen["sandbox"], chosen["home"] or str(Path.home())
    options = enforcer_options_of(
        **chosen,
        session=None,
        repeats=MOST,
        answer_within=600.0,
        on_approval=None,
        approvers=(),
        trust_client=True,
        observe=False,
        audit_values="redacted",
        audit_redact=(),
        trusted={"the servers' file": chosen["servers"]},
        unchangeable=governing_files(str(Path(sandbox).absolute()) if sandbox is not None else None, home),
    )
    place = Path(socket).absolute() if socket is not None else runtime_directory() / "pdp.sock"
    run(run_service, options, place, say)
    return Exit.YES
