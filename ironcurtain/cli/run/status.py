"""`ironcurtain status`: which proxies run, and how they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import FORMAT
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, IronCurtainError
from ironcurtain.system.text import counted, printable, visible

if TYPE_CHECKING:
    from ironcurtain.enforcement.proxy.status.report import ProxyStatus, ServerStatus


@click.command()
@FORMAT
def command(*, format_: str) -> Exit:
    """Show your running proxies: servers, hidden tools, policy, and calls that wait for approval.

    \b
    Example:
      ironcurtain status --format json

    \b
    Exit: 0 a proxy runs, 1 none does.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.proxy.status.liveness_lock import is_running
    from ironcurtain.enforcement.proxy.status.report import Status
    from ironcurtain.settings import status_directory

    running = [path for path in sorted(status_directory().glob("*.json")) if is_running(path)]
    status = Status(proxies=tuple(_read(running)))
    if format_ == "json":
        print_json(status)
    else:
        for line in (line for proxy in status.proxies for line in _lines(proxy)):
            click.echo(printable(line))
        if not running:
            click.echo("no proxy runs", err=True)
    return Exit.YES if running else Exit.NO


def _read(paths: Iterable[Path]) -> Iterator[ProxyStatus]:
    """Read what can be read: a proxy of another version hides no other one."""
    from ironcurtain.enforcement.proxy.status.report import ProxyStatus
    from ironcurtain.system.files import load

    for path in paths:
        try:
            yield load(path, ProxyStatus)
        except IronCurtainError as error:
            if path.exists():  # one that has just ended needs no word
                click.echo(printable(f"{visible(str(path))} cannot be read: {error.what}"), err=True)


def _lines(proxy: ProxyStatus) -> Iterator[str]:
    yield f"{proxy.session}: process {proxy.pid}, since {proxy.since}"
    yield f"  policy {proxy.revision}" + (", OBSERVING ONLY" if proxy.observe else "")
    waiting = f"{proxy.pending} {'waits' if proxy.pending == 1 else 'wait'} for a person"
    yield f"  {proxy.decisions} decided within the last minute, {waiting}"
    if proxy.trouble:
        yield f"  EVERY CALL IS REFUSED: {proxy.trouble}"
    if proxy.notice:
        yield f"  {proxy.notice}"
    if proxy.http is not None:
        yield f"  listens on {proxy.http}"
    yield from (f"  node {node.url}: {'serves' if node.serves else node.reason}" for node in proxy.nodes)
    for server in proxy.servers:
        yield f"  {_server(server)}"
        yield from (f"    {sentence}" for sentence in server.withheld)
        yield from (f"    its sandbox refused: {sentence}" for sentence in server.refused)


def _server(server: ServerStatus) -> str:
    if server.starting:
        return f"{server.name}: not up yet, it starts with the first client"
    up = "up" if server.up else f"DOWN ({server.reason})"
    return f"{server.name}: {up}, {counted(server.tools, 'tool')}, {server.hidden} hidden"
