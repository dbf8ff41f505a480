"""What `ironcurtain status` does."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ironcurtain.errors import Exit, FileError
from ironcurtain.files import load
from ironcurtain.model import jsontext
from ironcurtain.model.status import ProxyStatus, ServerStatus, Status
from ironcurtain.proxy.running import is_running
from ironcurtain.settings import status_directory
from ironcurtain.text import printable


def run(*, format_: str) -> Exit:
    """Print what each running proxy tells of itself."""
    status = Status(proxies=tuple(_running()))
    if format_ == "json":
        click.echo(jsontext.pretty(status.model_dump(mode="json")), nl=False)
    elif status.proxies:
        for proxy in status.proxies:
            click.echo(printable("\n".join(_lines(proxy))))
    else:
        click.echo("no proxy runs", err=True)
    return Exit.YES if status.proxies else Exit.NO


def _running() -> Iterator[ProxyStatus]:
    for path in sorted(status_directory().glob("*.json")):
        try:
            status = load(path, ProxyStatus)
        except FileError:  # it has just ended
            continue
        # A proxy that was killed leaves its file, but holds no lock.
        if is_running(path):
            yield status


def _lines(proxy: ProxyStatus) -> Iterator[str]:
    yield f"{proxy.session}: process {proxy.pid}, since {proxy.since}"
    yield f"  policy {proxy.revision}" + (", OBSERVING ONLY" if proxy.observe else "")
    waiting = f"{proxy.pending} {'waits' if proxy.pending == 1 else 'wait'} for a person"
    yield f"  {proxy.decisions} decided within the last minute, {waiting}"
    if proxy.trouble:
        yield f"  EVERY CALL IS REFUSED: {proxy.trouble}"
    if proxy.http is not None:
        yield f"  listens on {proxy.http}"
    yield from (f"  node {node.url}: {'serves' if node.serves else node.reason}" for node in proxy.nodes)
    yield from (f"  {_server(server)}" for server in proxy.servers)


def _server(server: ServerStatus) -> str:
    up = "up" if server.up else f"DOWN ({server.reason})"
    return f"{server.name}: {up}, {server.tools} tools, {server.hidden} hidden"
