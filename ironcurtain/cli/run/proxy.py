"""`ironcurtain proxy`: stand between an agent and its MCP servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import (
    EnforcementOptions,
    Number,
    engine_options,
    policy_options,
    serving_options,
)
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.enforcement.approvals.hook import HookCommand
    from ironcurtain.enforcement.calls.audit_options import LoggedValues
    from ironcurtain.enforcement.calls.enforcer_options import EnforcerOptions
    from ironcurtain.enforcement.proxy.options import ProxyOptions
    from ironcurtain.enforcement.proxy.transport.http import Address
    from ironcurtain.enforcement.proxy.transport.http_clients import HttpClients

# As `audit/log_paths.py` has them, which would load for longer than the rest of the help.
_MAX_BYTES, _LIMIT = 64 << 20, 4 << 30


@click.command()
@bundle_argument(explicit=True)
@policy_options
@engine_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@serving_options
@click.option("--http-open", is_flag=True, help="Ask clients for no token: a gateway of yours knows them.")
@click.option(
    "--answer-within",
    type=Number(1, 86400),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a person has to answer.",
)
@click.option("--trust-client", is_flag=True, help="Let the person at the client approve (MCP elicitation).")
@click.option(
    "--observe",
    is_flag=True,
    help="Decide and record, but enforce and protect nothing. For trials only.",
)
@click.option(
    "--audit-values",
    type=click.Choice(["redacted", "abstract"]),
    default="redacted",
    show_default=True,
    help="Whether the log keeps the values of calls; see `ironcurtain error audit`.",
)
@click.option("--audit-redact", metavar="ROLE", multiple=True, help="Redact this role's values; repeatable.")
@click.option(
    "--audit-max-bytes",
    type=click.IntRange(1 << 12, 1 << 40),
    default=_MAX_BYTES,
    show_default=True,
    metavar="N",
    help="The size at which the log goes on in a new file.",
)
@click.option(
    "--audit-limit",
    type=click.IntRange(1 << 16),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="The size of the session's whole log at which every call is refused.",
)
@click.option("--telemetry", is_flag=True, help="Tell OpenTelemetry of decisions, as OTEL_... say.")
def command(**chosen: Any) -> Exit:  # noqa: ANN401 - the options of `options_of`
    """Enforce a policy between an agent and its MCP servers: decide, record and forward every call.

    Put this command where your client's configuration has its MCP servers. It starts the servers of
    --servers and offers their tools as SERVER__TOOL. A second terminal with `ironcurtain approvals --watch`
    shows what waits for you and takes your answers. SIGHUP, or a new bundle in the old one's place, reloads
    the policy.

    \b
    Example:
      ironcurtain proxy --bundle generated/bundle --servers mcp-servers.json \\
        --sandbox ~/work

    \b
    Exit: 0 the client has gone or a signal came, 2 wrong options or
    files, 3 no engine, no intact bundle or no audit log.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.proxy.process import serve

    serve(options_of(**chosen))
    return Exit.YES


def options_of(
    *,
    http: str | None,
    http_clients: str | None,
    http_open: bool,
    http_anywhere: bool,
    witness: str | None,
    telemetry: bool,
    **enforced: Any,  # noqa: ANN401 - the options of `enforcer_options_of`
) -> ProxyOptions:
    """Return what the options of the command ask for."""
    from ironcurtain.enforcement.proxy.options import ProxyOptions
    from ironcurtain.system.structs import asdict

    if (servers := enforced["servers"]) is None:
        raise UsageError("the proxy needs --servers FILE", hint="Name your mcp-servers.json.")
    trusted = {"the tokens of clients": http_clients}
    # Over HTTP calls may be made for anybody; over standard input it is whose account this is.
    options = enforcer_options_of(
        **enforced, has_own_user=http is None, trusted=trusted, kept=[http_clients, witness]
    )
    address = _address(http, anywhere=http_anywhere)
    return ProxyOptions(
        **asdict(options),
        servers=Path(servers),
        http=address,
        clients=_clients(address, http_clients, is_open=http_open),
        telemetry=telemetry,
        witness=Path(witness) if witness is not None else None,
    )


def enforcer_options_of(
    *,
    bundle: str,
    caller: str | None,
    session: str | None,
    patience: float,
    repeats: int,
    answer_within: float,
    no_approver: bool,
    on_approval: str | None,
    trust_client: bool,
    approvers: tuple[str, ...],
    observe: bool,
    audit_values: LoggedValues,
    audit_redact: tuple[str, ...],
    audit_max_bytes: int = _MAX_BYTES,
    audit_limit: int = _LIMIT,
    state: str | None,
    has_own_user: bool = True,
    trusted: Mapping[str, str | None] = MappingProxyType({}),
    kept: Iterable[str | None] = (),
    unchangeable: Iterable[str] = (),
    **deployment: Unpack[EnforcementOptions],
) -> EnforcerOptions:
    """Return how calls are enforced, whoever makes them, as the options of the command say.

    `has_own_user` tells whether calls are made for whose account this is; `trusted` are further files that it
    is configured by, by what they are; no tool may touch `kept` besides, or change what is `unchangeable`.
    """
    from ironcurtain.cli.options.bundle_argument import caller_facts
    from ironcurtain.enforcement.approvals.approvers import Approvers
    from ironcurtain.enforcement.calls.enforcer_options import EnforcerOptions
    from ironcurtain.enforcement.facts.totals.store_place import StorePlace
    from ironcurtain.enforcement.proxy.configuration import places_that_run
    from ironcurtain.enforcement.proxy.options import own_places
    from ironcurtain.policy import Policy

    _check_followed(deployment["sandbox"])
    verify_key = deployment["verify_key"]
    people = Approvers.parse(approvers, has_own_user=has_own_user)
    hook = _hook(on_approval, nobody=no_approver)
    told = {f"what --on-approval runs, {path.name},": path for path in (hook.files if hook else ())}
    totals = StorePlace.parse(state)
    own = map(str, (*own_places(), *totals.files, *places_that_run(deployment["sandbox"]), *told.values()))
    keys = {what: str(path) for what, path in people.files.items()}
    named = filter(None, (verify_key, *kept, *keys.values()))
    deployment["protected"] = (*deployment["protected"], *own, *named)
    files = {
        "the key that the signature is checked with": verify_key,
        "the certificates that engines are known by": deployment["engine_ca"],
        "the engine's token": deployment["engine_token_file"],
        **trusted,
        **keys,
    }
    return EnforcerOptions(
        load=partial(Policy.load, bundle, unchangeable=[*unchangeable], **deployment),
        bundle=Path(bundle),
        files={what: Path(path) for what, path in files.items() if path} | told,
        session=session,
        patience=patience,
        repeats=repeats,
        seconds=answer_within,
        approver=not no_approver,
        on_approval=hook,
        client_person=trust_client,
        approvers=people,
        caller=caller_facts(caller) or {},
        observe=observe,
        audit_values=audit_values,
        audit_redact=frozenset(audit_redact),
        audit_max_bytes=audit_max_bytes,
        audit_limit=audit_limit,
        state=totals,
    )


def _check_followed(sandbox: str | None) -> None:
    """See that a workspace that depends on where the proxy is started is no larger than a project.

    Raises:
        UsageError: If it would be the home directory, or hold it.
    """
    here, home = Path.cwd(), Path.home().resolve()
    if sandbox == "." and (here == home or here in home.parents):
        raise UsageError(
            f"the workspace would be {visible(str(here))}, with all that you have",
            where="--sandbox",
            hint="Start the client in a project's directory, or name a workspace in its configuration.",
        )


def _address(named: str | None, *, anywhere: bool) -> Address | None:
    if named is None:
        return None
    from ironcurtain.enforcement.proxy.transport.http import Address  # it loads a web server

    return Address.parse(named, anywhere=anywhere)


def _hook(command: str | None, *, nobody: bool) -> HookCommand | None:
    if command is None:
        return None
    if nobody:
        raise UsageError(
            "--no-approver asks nobody, so --on-approval would tell nobody", hint="Give one of them."
        )
    from ironcurtain.enforcement.approvals.hook import HookCommand

    return HookCommand.parse(command)


def _clients(address: Address | None, named: str | None, *, is_open: bool) -> HttpClients | None:
    """Return who may connect; None where nobody is asked, or the kernel says who it is."""
    if is_open and named is not None:
        raise UsageError("--http-open and --http-clients exclude each other", hint="Give one of them.")
    if address is None or address.path is not None or is_open:
        return None
    from ironcurtain.enforcement.proxy.process import say
    from ironcurtain.enforcement.proxy.transport.http_clients import clients_file, read_or_make

    path = Path(named) if named is not None else clients_file()
    say(f"clients over HTTP show a token of {visible(str(path))} (Authorization: Bearer TOKEN)")
    return read_or_make(path)
