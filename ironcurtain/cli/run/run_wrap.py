"""What `ironcurtain wrap` does."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import click

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.cli.options.bundle_argument import no_bundle, one_bundle
from ironcurtain.cli.output import terminal
from ironcurtain.cli.run import proxy
from ironcurtain.cli.run.fetching import fetch_aloud
from ironcurtain.cli.run.known_package import known_of
from ironcurtain.enforcement.proxy.configuration import check_sandbox
from ironcurtain.enforcement.sandbox.reach.agreement import disagreements
from ironcurtain.errors import Exit, FileError, UsageError
from ironcurtain.integrations.clients.places import CLIENTS, ConfigLocation, Scope, places
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.restore_plan import ENTRY
from ironcurtain.integrations.clients.target import file_of, read_target
from ironcurtain.integrations.clients.wrap import ProxyCommand, proxy_entry, wrap
from ironcurtain.model.known import KnownServer
from ironcurtain.policy import Policy
from ironcurtain.servers.config import load_servers
from ironcurtain.system.extras import need
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import printable, quoted, visible

_SITE = ("sandbox", "home", "verify_key")
_TRUST = ("expect_revision", "min_serial")
_POSITIONS = "positions"
_OURS = {_POSITIONS, "bundle", "opa", "servers", "protected", "http", "http_anywhere", *_SITE, *_TRUST}


def run(
    *,
    positions: tuple[str, ...],
    bundle: str | None,
    scope: Scope | None,
    only: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    print_: bool,
    servers: str | None,
    format_: str,
    **site: Json,
) -> Exit:
    """Wrap a client's configuration, or print how a client would start the proxy."""
    need("mcp")  # a client would be left with a proxy that cannot start
    first, client, proxy_options = _divided(positions, unnamed=print_ and servers is not None)
    bundle = one_bundle(bundle, first)
    if client is None:
        _check_unnamed(print_=print_, scope=scope, only=only, dry_run=dry_run, yes=yes)
        return _print_for(servers, _named(bundle), site, proxy_options)
    if servers is not None:
        raise UsageError("--servers is for --print without a client", hint="A client's servers are its own.")
    place = chosen(client, scope, _has_servers)
    policy = Policy.load(_named(bundle), **site)
    check_sandbox(policy)  # the proxy would not start, and the client have no servers
    command = _command(policy, _named(bundle), site, proxy_options)
    known = known_of(place)

    def act(*, dry_run: bool) -> ClientReport:
        report = wrap(
            place, command, search_path=_search_path(), only=only, dry_run=dry_run, fetch=fetch_aloud
        )
        notes = (*report.notes, *_unknown(policy, report, known), *_disagreeing(policy, report))
        return report.model_copy(update={"notes": notes})

    if print_:
        report = _print_would_be(act(dry_run=True))
    elif not (dry_run or yes):
        preview = act(dry_run=True)
        if not terminal.is_there():
            return _unasked(preview, format_)
        if not _agreed(preview):
            click.echo("nothing was changed", err=True)
            return Exit.NO
        report = act(dry_run=False)
        print_report(report, format_, told=preview)
    else:
        report = act(dry_run=dry_run)
        print_report(report, format_)
    return Exit.NO if any(left.outside for left in report.left) else Exit.YES


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
    if bundle is None:
        raise no_bundle()
    return bundle


def _unknown(policy: Policy, report: ClientReport, reviewed: Mapping[str, KnownServer]) -> Iterator[str]:
    known = PolicyContent.of(policy.bundle).annotations.servers
    for name in sorted({*report.moved} - {*known}):
        found = reviewed.get(name)
        help_ = (
            f"; the tools of {found.package.name} are annotated by the collection that ships with "
            f"IronCurtain: `ironcurtain servers add {name} -- COMMAND` in the policy's project"
            if found is not None
            else ""
        )
        yield f"{name}: the policy knows no tool of it, so every call is denied{help_}"


def _disagreeing(policy: Policy, report: ClientReport) -> Iterator[str]:
    """Say what the policy permits the moved servers and their sandboxes do not, once they are written."""
    if report.servers and Path(report.servers).exists():
        config = load_servers(Path(report.servers))
        found = disagreements(PolicyContent.of(policy.bundle), config)
        yield from (each.line for each in found if each.server in report.moved)


def _check_unnamed(*, print_: bool, **others: Json) -> None:
    """See that no client is meant: only --print can do without one, and takes little else then."""
    if not print_:
        found = [f"{name} ({place.path})" for name in CLIENTS for place in _there(name)]
        known = f"None was found here. Name one ({', '.join(CLIENTS)}), or a file of their shape."
        hint = f"Found: {visible(', '.join(found))}." if found else known
        raise UsageError("which client is to be wrapped?", hint=hint)
    for name, value in others.items():
        if value:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} means nothing where no client is named", hint="Leave it out.")


def _print_for(servers: str | None, bundle: str, site: dict[str, Json], proxy_options: Sequence[str]) -> Exit:
    """Print the entry for a client that nobody named."""
    if servers is None:
        raise UsageError("--print without a client needs --servers FILE", hint="Name your mcp-servers.json.")
    load_servers(Path(servers))
    command = _command(Policy.load(bundle, **site), bundle, site, proxy_options)
    _print_entry(proxy_entry(command, Path(_absolute(servers))))
    return Exit.YES


def _print_would_be(report: ClientReport) -> ClientReport:
    """Print the entry that a wrap would write, and say what is not done without one."""
    _print_entry(report.entry or {})
    _tell(report)
    if report.servers and not Path(report.servers).exists():
        click.echo(f"note: {visible(report.servers)} is not there: `ironcurtain wrap` writes it", err=True)
    return report


def _print_entry(entry: dict[str, Json]) -> None:
    click.echo(json.dumps({ENTRY: entry}, indent=2, ensure_ascii=False))


def _there(name: str) -> list[ConfigLocation]:
    # In the home directory the project's file can be the user's own.
    there = [place for place in places(name, None, Path.cwd()) if place.path.exists()]
    return list({file_of(place): place for place in there}.values())


def _unasked(report: ClientReport, format_: str) -> Exit:
    """Show what would change where nobody can be asked; what is as it should be needs no answer."""
    print_report(report, format_)
    if report.status == "unchanged":
        return Exit.NO if any(left.outside for left in report.left) else Exit.YES
    click.echo("nothing was changed: nobody is there to be asked, and --yes was not given", err=True)
    return Exit.NO


def _agreed(report: ClientReport) -> bool:
    """Show what would change and ask; nothing to change needs no answer."""
    if report.status == "unchanged":
        return True
    _print_difference(report, err=True)
    _tell(report)
    return terminal.types("yes", f"write {visible(report.file)}; anything else leaves it")


def chosen(client: str, scope: Scope | None, fits: Callable[[ConfigLocation], bool]) -> ConfigLocation:
    """Return the one file that a client's name means: of several, the one that fits.

    Raises:
        UsageError: If two fit.
        FileError: If there is none.
    """
    found = places(client, scope, Path.cwd())
    if len(found) == 1:
        return found[0]
    # In the home directory the project's file can be the user's own.
    fitting = list({file_of(place): place for place in found if fits(place)}.values())
    if len(fitting) > 1:
        names = " and ".join(str(place.path) for place in fitting)
        raise UsageError(
            f"{client} has two configurations: {visible(names)}", hint="Choose with --scope user or project."
        )
    if not fitting:
        names = " and ".join(str(place.path) for place in found)
        raise FileError(
            f"no configuration of {client} is one: looked at {visible(names)}",
            hint="Name the file, or choose with --scope.",
        )
    return fitting[0]


def print_report(report: ClientReport, format_: str, told: ClientReport | None = None) -> None:
    """Print what was done: the result to standard output, what to know of it to standard error.

    Args:
        report: What was done, or would be.
        format_: `text` or `json`.
        told: What was shown of it before; what is to be known of it is not said again.
    """
    if format_ == "json":
        click.echo(report.model_dump_json())
        return
    _print_difference(report)
    if not report.diff:
        click.echo(f"{report.status.replace('-', ' ')}: {visible(report.file)}")
        if report.servers and report.status != "unwrapped":
            click.echo(f"  behind the proxy: {visible(', '.join(report.moved))}")
            click.echo(f"  their configuration: {visible(report.servers)}")
        for path in report.kept:
            click.echo(f"  kept: {visible(path)}")
    if told is None or (told.left, told.notes) != (report.left, report.notes):
        _tell(report)


def _print_difference(report: ClientReport, *, err: bool = False) -> None:
    for line in report.diff.split("\n")[:-1]:
        click.echo(printable(line), err=err)


def _tell(report: ClientReport) -> None:
    for left in report.left:
        outside = "OUTSIDE the policy" if left.outside else "left alone"
        click.echo(f"{outside}: {visible(left.name)}: {printable(left.reason)}", err=True)
    for note in report.notes:
        click.echo(f"note: {printable(note)}", err=True)


def _has_servers(place: ConfigLocation) -> bool:
    if not place.path.exists():
        return False
    servers = read_target(place).document.servers
    return servers is not None and bool(servers.members)


def _command(
    policy: Policy, bundle: str, site: dict[str, Json], proxy_options: Sequence[str]
) -> ProxyCommand:
    """Return the proxy's command line with absolute paths, held against the proxy's own options."""
    options = ["--bundle", _absolute(bundle), "--opa", str(policy.opa.path.absolute())]
    for name in _SITE:
        if site[name] is not None:
            options += [f"--{name.replace('_', '-')}", _absolute(site[name])]
    for path in site["protected"]:
        options += ["--protected", _absolute(path)]
    for name in _TRUST:
        if site[name] is not None:
            options += [f"--{name.replace('_', '-')}", str(site[name])]
    _check(options, list(proxy_options))
    home = os.environ.get("IRONCURTAIN_HOME")
    # A desktop client's own path holds neither the sandbox's programs nor git.
    environment = {"PATH": _search_path(), **({"IRONCURTAIN_HOME": _absolute(home)} if home else {})}
    return ProxyCommand((*_program(), "proxy"), (*options, *proxy_options), environment)


def _search_path() -> str:
    return os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))


def _check(options: list[str], more: list[str]) -> None:
    """See that the proxy will take the options, and that none behind -- is one of ours."""
    ours = proxy.command.make_context("proxy", list(options)).params
    for name, value in proxy.command.make_context("proxy", [*options, *more]).params.items():
        if name in _OURS and value != ours[name]:
            what = "a bundle" if name == _POSITIONS else f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{what} cannot stand behind --", hint="Give it to `ironcurtain wrap`, if at all."
            )


def _program() -> tuple[str, ...]:
    """Return how this program is started from anywhere, with any search path."""
    called = Path(sys.argv[0])
    if called.name == "ironcurtain" and os.access(called, os.X_OK) and called.is_file():
        return (str(called.absolute()),)
    # -I: neither the client's directory nor its environment can put another module in our place.
    return (sys.executable, "-I", "-c", "from ironcurtain.cli.main import main; main()")


def _absolute(path: str) -> str:
    absolute = os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - without ..; links stay
    try:
        absolute.encode()
    except UnicodeEncodeError:
        quoted_path = shlex.quote(visible(absolute))
        raise UsageError(f"the path {quoted_path} is not UTF-8; no client can be told it") from None
    return absolute
