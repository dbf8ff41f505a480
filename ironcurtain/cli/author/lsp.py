"""`ironcurtain lsp`: the language server for editors."""

from __future__ import annotations

import click

from ironcurtain.errors import Exit


@click.command()
@click.option("--stdio", is_flag=True, help="Speak on stdin and stdout; there is no other way.")
@click.option("--no-verify", is_flag=True, help="Do not run the checks of `verify` on what is published.")
def command(*, stdio: bool, no_verify: bool) -> Exit:
    """Tell an editor what is wrong while you type: in the constitution, scenarios, answers and settings.

    An editor starts it and speaks the Language Server Protocol on stdin and stdout;
    `ironcurtain error editors` sets up three of them. Needs the extra `lsp`.

    \b
    Example:
      ironcurtain lsp

    \b
    Exit: 0 the editor ended the session, 2 wrong options, or the extra is not installed.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.integrations.editor.server import serve

    del stdio  # editors name the one way that there is
    serve(runs_gate=not no_verify)
    return Exit.YES
