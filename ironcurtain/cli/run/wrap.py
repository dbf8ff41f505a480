"""`ironcurtain wrap`: run a client's MCP servers behind the proxy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import EXPLICIT_BUNDLE
from ironcurtain.cli.options.options import FORMAT, OPA, DeploymentOptions, PolicyOptions, trust_options
from ironcurtain.cli.run.client_change import DRY_RUN, SCOPE, carried_out, exit_of, joined, tell
from ironcurtain.errors import Exit, IronCurtainError, UsageError
from ironcurtain.system.extras import need
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from ironcurtain.integrations.clients.report import ClientReport
    from ironcurtain.integrations.clients.target import ConfigLocation, ConfigScope
    from ironcurtain.integrations.clients.wrap import ProxyCommand
    from ironcurtain.model.known import KnownServer
    from ironcurtain.policy import Policy
    from ironcurtain.servers.config import ServerConfig
    from ironcurtain.system.frozen import JsonValue

YES = click.option("--yes", is_flag=True, help="Do it without asking; needed where no terminal is.")
_POSITIONS = "positions"
_FOLLOWS = (
    "--sandbox . is kept as it is: the workspace is the directory in which {client} starts the proxy; where "
    "that is your home directory or one above it, the proxy does not start"
)
_UNHOOKED = (
    "the built-in tools of claude-code (shell, files, web) stay ungoverned, for no hooks are installed"
)
_TO_HOOK = (
    'add the server `"claude-code": {"builtin": "claude-code"}` to the mcp-servers.json of the policy, '
    "compile, and wrap again"
)
_OURS = {_POSITIONS, "bundle", "http", "http_anywhere", *PolicyOptions.__annotations__}


@click.command(context_settings={"allow_interspersed_args": True})
@click.argument(
    "positions", nargs=-1, type=click.UNPROCESSED, metavar="[BUNDLE] [CLIENT|FILE] [-- PROXY OPTION...]"
)
@EXPLICIT_BUNDLE
@click.option("--sandbox", metavar="DIR", help="The sessions' working directory.")
@click.option("--home", metavar="DIR", help="The home directory that ~ means (default: yours).")
@click.option("--protected", metavar="PATH", multiple=True, help="A path no tool may touch; repeatable.")
@trust_options
@OPA
@SCOPE
@click.option(
    "--only", metavar="SERVER", multiple=True, help="Leave all servers but this one alone; repeatable."
)
@click.option(
    "--servers-only", is_flag=True, help="Install no hooks: the client's own tools stay ungoverned."
)
@click.option(
    "--hooks-only", is_flag=True, help="Install hooks alone, and leave the client's servers as they are."
)
@DRY_RUN
@YES
@click.option("--print", "print_", is_flag=True, help="Change nothing; print the client's entry alone.")
@click.option(
    "--servers", metavar="FILE", help="With --print and no client: the mcp-servers.json that the entry names."
)
@FORMAT
def command(
    *,
    positions: tuple[str, ...],
    bundle: str | None,
    scope: ConfigScope | None,
    only: tuple[str, ...],
    servers_only: bool,
    hooks_only: bool,
    dry_run: bool,
    yes: bool,
    print_: bool,
    servers: str | None,
    format_: str,
    **deployment: Unpack[DeploymentOptions],
) -> Exit:
    """Rewrite a client's configuration so that its MCP servers run behind `ironcurtain proxy`.

    CLIENT is claude-code, claude-desktop, cline, codex, continue, cursor, gemini, goose, opencode, qwen,
    vscode or zed; FILE is any file of their shape. The servers go to a file of our own, below ~/.ironcurtain,
    and the client gets one server, "ironcurtain". Comments and everything else in the file stay. `ironcurtain
    unwrap` gives back the same bytes. What follows `--` goes to the proxy. The change is shown first, and you
    are asked; where there is no terminal to ask at, nothing is changed without --yes. Servers that fetch
    themselves (npx, uvx and their like) are fetched now, once, and pinned; one that would not run behind the
    proxy is an error, and nothing is changed. Without CLIENT it says which clients it finds here.

    \b
    Examples:
      ironcurtain wrap claude-code --bundle generated/bundle --sandbox . --dry-run
      ironcurtain wrap --print --servers mcp-servers.json --bundle generated/bundle

    \b
    Exit: 0 every server that is switched on or named is behind the proxy, 1 some servers have to stay
    outside, you said no or could not be asked, 2 wrong options, a file that is not what it should be, or
    a server that would not run, 3 no engine, no intact bundle, a server that cannot be fetched, or the file
    is busy or not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.bundle_argument import one_bundle
    from ironcurtain.cli.run.fetching import fetching_as_pinned
    from ironcurtain.enforcement.proxy.configuration import check_sandbox
    from ironcurtain.integrations.clients.ready import known_of, search_path
    from ironcurtain.integrations.clients.target import chosen_location, has_servers
    from ironcurtain.integrations.clients.wrap import wrap
    from ironcurtain.policy import Policy

    need("mcp")  # a client would be left with a proxy that cannot start
    first, client, proxy_options = _divided(positions, unnamed=print_ and servers is not None)
    bundle = one_bundle(bundle, first)
    if client is None:
        _check_unnamed(print_=print_, scope=scope, only=only, dry_run=dry_run, yes=yes)
        return _print_for(servers, _named(bundle), deployment, proxy_options)
    if servers is not None:
        raise UsageError("--servers is for --print without a client", hint="A client's servers are its own.")
    if hooks_only and (servers_only or only or print_ or client != "claude-code"):
        raise UsageError("--hooks-only is for claude-code, without --servers-only, --only and --print")
    policy = Policy.load(_named(bundle), **deployment)
    check_sandbox(policy)  # the proxy would not start, and the client have no servers
    if hooks_only:
        if (hook := _hooks(policy, _named(bundle), deployment, scope or "user")) is None:
            raise UsageError("the policy knows no tool of claude-code", hint=f"A{_TO_HOOK[1:]}.")
        return carried_out(hook, dry_run=dry_run, yes=yes, format_=format_)
    place = chosen_location(client, scope, has_servers, "has servers")
    follows = deployment["sandbox"] == "." and place.starts_in_projects
    hooks = None
    if place.client == "claude-code" and not servers_only and not print_:
        hooks = _hooks(policy, _named(bundle), deployment, "project" if place.project else "user")
    command = _command(policy, _named(bundle), deployment, proxy_options, follows=follows)
    known = known_of(place)
    tools = _tools(policy)

    def act(*, dry_run: bool) -> ClientReport:
        _check_hooks(hooks)
        report = wrap(
            place,
            command,
            search_path=search_path(),
            only=only,
            dry_run=dry_run,
            fetch=fetching_as_pinned(Path(_named(bundle))),
            tools=tools,
            start=partial(_failing, policy, Path(_named(bundle)), deployment["sandbox"]),
        )
        notes = [*report.notes, *_of_policy(policy, report, known), *_disagreeing(policy, report)]
        notes += [_FOLLOWS.format(client=place.client)] if follows else []
        if place.client == "claude-code" and hooks is None and not print_:
            notes.append(_UNHOOKED if servers_only else f"{_UNHOOKED}; for them {_TO_HOOK}")
        report = report.model_copy(update={"notes": tuple(notes)})
        return report if hooks is None else joined(report, hooks(dry_run=dry_run))

    if print_:
        return exit_of(_print_would_be(act(dry_run=True)))
    return carried_out(act, dry_run=dry_run, yes=yes, format_=format_)


def _hooks(
    policy: Policy, bundle: str, deployment: DeploymentOptions, scope: ConfigScope
) -> Callable[..., ClientReport] | None:
    """Return what installs the hooks; None where the policy knows no tool that they would ask about."""
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.integrations.clients.hooks import CLIENT as CLAUDE_CODE
    from ironcurtain.integrations.clients.hooks import HookedSettings, install
    from ironcurtain.integrations.clients.ready import program
    from ironcurtain.system.structs import replace

    if CLAUDE_CODE not in PolicyContent.of(policy.bundle).annotations.servers:
        return None
    follows = deployment["sandbox"] == "." and scope == "user"
    started = _command(policy, bundle, deployment, (), follows=follows)
    command = replace(started, program=(*program(), "pdp"))
    return partial(install, HookedSettings.of(scope, Path.cwd()), command, follows=follows)


def _check_hooks(hooks: Callable[..., ClientReport] | None) -> None:
    """See that hooks can be installed, before the servers move.

    Raises:
        IronCurtainError: If they cannot.
    """
    if hooks is not None:
        hooks(dry_run=True)


def _tools(policy: Policy) -> dict[str, list[str]]:
    """Return the names of the tools that the policy knows, by server."""
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.decision.reserved_tools import is_reserved

    known: dict[str, list[str]] = {}
    for (server, name), tool in PolicyContent.of(policy.bundle).tools.items():
        if not is_reserved(tool):
            known.setdefault(server, []).append(name)
    return known


def _divided(positions: Sequence[str], *, unnamed: bool) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Return bundle, client and the proxy's options; where no client is meant, one name is the bundle."""
    named = tuple(takewhile(lambda position: not position.startswith("-"), positions))
    options = tuple(positions[len(named) :])
    if len(named) > 2:  # noqa: PLR2004 - a bundle and a client
        raise UsageError(
            f"unexpected argument {quoted(named[2])}", hint="Options of the proxy stand behind --."
        )
    if len(named) == 1 and unnamed:
        return named[0], None, options
    bundle, client = (None, None, *named)[-2:]
    return bundle, client, options


def _named(bundle: str | None) -> str:
    from ironcurtain.cli.options.bundle_argument import no_bundle

    if bundle is None:
        raise no_bundle()
    return bundle


def _failing(
    policy: Policy, bundle: Path, sandbox: str | None, config: ServerConfig
) -> Mapping[str, Sequence[IronCurtainError]]:
    """Start servers once, as the proxy will; return by name what is wrong with those that fail."""
    from ironcurtain.cli.run.fetching import say
    from ironcurtain.enforcement.proxy.surroundings import failing_as_proxied

    click.echo(f"starting once, as the proxy will: {visible(', '.join(config.servers))} ...", err=True)
    return failing_as_proxied(policy.bundle, bundle, config, say, sandbox=sandbox)


def _of_policy(policy: Policy, report: ClientReport, reviewed: Mapping[str, KnownServer]) -> Iterator[str]:
    """Say which servers the policy does not know, and which tools of the others have a shorter name."""
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.decision.reserved_tools import is_reserved
    from ironcurtain.servers.endpoint_names import renamed_tools

    content = PolicyContent.of(policy.bundle)
    tools = (key for key, tool in content.tools.items() if key[0] in report.moved and not is_reserved(tool))
    yield from renamed_tools(tools)
    for name in sorted({*report.moved} - {*content.annotations.servers}):
        review = reviewed.get(name)
        help_ = (
            f"; the tools of {review.package.name} are annotated by the collection that ships with "
            f"IronCurtain: `ironcurtain servers add {name} -- COMMAND` in the policy's project"
            if review is not None
            else ""
        )
        yield f"{name}: the policy knows no tool of it, so every call is denied{help_}"


def _disagreeing(policy: Policy, report: ClientReport) -> Iterator[str]:
    """Say what the policy permits the moved servers and their sandboxes do not, once they are written."""
    from ironcurtain.bundle.content import PolicyContent
    from ironcurtain.enforcement.sandbox.reach.agreement import disagreements
    from ironcurtain.servers.config import load_servers

    if report.servers and Path(report.servers).exists():
        config = load_servers(Path(report.servers))
        differences = disagreements(PolicyContent.of(policy.bundle), config)
        yield from (each.line for each in differences if each.server in report.moved)


def _check_unnamed(*, print_: bool, **others: object) -> None:
    """See that no client is meant: only --print can do without one, and takes little else then."""
    from ironcurtain.integrations.clients.known_clients import CLIENTS

    if not print_:
        configured = [f"{name} ({place.path})" for name in CLIENTS for place in _there(name)]
        known = f"None was found here. Name one ({', '.join(CLIENTS)}), or a file of their shape."
        hint = f"Found: {visible(', '.join(configured))}." if configured else known
        raise UsageError("which client is to be wrapped?", hint=hint)
    for name, value in others.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} means nothing where no client is named", hint="Leave it out.")


def _print_for(
    servers: str | None, bundle: str, deployment: DeploymentOptions, proxy_options: Sequence[str]
) -> Exit:
    """Print the entry for a client that nobody named."""
    from ironcurtain.integrations.clients.ready import absolute
    from ironcurtain.integrations.clients.wrap import proxy_entry
    from ironcurtain.policy import Policy
    from ironcurtain.servers.config import load_servers

    if servers is None:
        raise UsageError("--print without a client needs --servers FILE", hint="Name your mcp-servers.json.")
    load_servers(Path(servers))
    command = _command(Policy.load(bundle, **deployment), bundle, deployment, proxy_options)
    _print_entry(proxy_entry(command, Path(absolute(servers))))
    return Exit.YES


def _print_would_be(report: ClientReport) -> ClientReport:
    """Print the entry that a wrap would write, and say what is not done without one."""
    click.echo(report.text.rstrip("\n"))
    tell(report)
    if report.servers and not Path(report.servers).exists():
        click.echo(f"note: {visible(report.servers)} is not there: `ironcurtain wrap` writes it", err=True)
    return report


def _print_entry(entry: dict[str, JsonValue]) -> None:
    from ironcurtain.servers.endpoint_names import CLIENT_ENTRY

    click.echo(json.dumps({CLIENT_ENTRY: entry}, indent=2, ensure_ascii=False))


def _there(name: str) -> list[ConfigLocation]:
    # In the home directory the project's file can be the user's own.
    from ironcurtain.integrations.clients.target import file_of, places

    there = [place for place in places(name, None, Path.cwd()) if place.path.exists()]
    return list({file_of(place): place for place in there}.values())


def _command(
    policy: Policy,
    bundle: str,
    deployment: DeploymentOptions,
    proxy_options: Sequence[str],
    *,
    follows: bool = False,
) -> ProxyCommand:
    """Return the proxy's command line with absolute paths, held against the proxy's own options.

    With `follows` the workspace is the directory in which the client starts the proxy.
    """
    from ironcurtain.integrations.clients.ready import absolute, program, search_path
    from ironcurtain.integrations.clients.wrap import ProxyCommand

    options = ["--bundle", absolute(bundle), "--opa", str(policy.opa.path.absolute())]
    files = {
        "--sandbox": deployment["sandbox"],
        "--home": deployment["home"],
        "--verify-key": deployment["verify_key"],
    }
    for option, file in files.items():
        is_kept = option == "--sandbox" and follows
        options += [option, file if is_kept else absolute(file)] if file is not None else []
    for path in deployment["protected"]:
        options += ["--protected", absolute(path)]
    values = {"--expect-revision": deployment["expect_revision"], "--min-serial": deployment["min_serial"]}
    for option, value in values.items():
        options += [option, str(value)] if value is not None else []
    _check(options, list(proxy_options))
    home = os.environ.get("IRONCURTAIN_HOME")
    # A desktop client's own path holds neither the sandbox's programs nor git.
    environment = {"PATH": search_path(), **({"IRONCURTAIN_HOME": absolute(home)} if home else {})}
    return ProxyCommand((*program(), "proxy"), (*options, *proxy_options), environment)


def _check(options: list[str], more: list[str]) -> None:
    """See that the proxy will take the options, and that none behind -- is one of ours."""
    from ironcurtain.cli.run.proxy import command as proxy_command

    ours = proxy_command.make_context("proxy", list(options)).params
    for name, value in proxy_command.make_context("proxy", [*options, *more]).params.items():
        if name in _OURS and value != ours[name]:
            what = "a bundle" if name == _POSITIONS else f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{what} cannot stand behind --", hint="Give it to `ironcurtain wrap`, if at all."
            )
