"""`ironcurtain web`: pages for people, in the browser of this machine."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.cli.run.approvals import place
from ironcurtain.errors import Exit


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@place
def command(*, port: int, directory: str | None, key: str | None) -> Exit:
    """Show what waits for you in a browser on this machine, and take your answers there.

    It prints an address with a code that lets one browser in, once, for eight hours; when it was used, the
    next one is printed. Only this machine can connect. Run it in a terminal of your own, not in the agent's.

    \b
    Example:
      ironcurtain web

    \b
    Exit: 0 a signal came, 2 wrong options, 3 the port cannot be taken.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.system.extras import need

    need("jinja2")
    import anyio

    from ironcurtain.enforcement.approvals.inbox import default_paths
    from ironcurtain.web.approvals import Waiting
    from ironcurtain.web.serving import serve

    usual_directory, usual_key = default_paths()
    waiting = Waiting(Path(directory) if directory else usual_directory, Path(key) if key else usual_key)
    anyio.run(serve, waiting, port, click.echo)
    return Exit.YES
