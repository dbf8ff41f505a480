"""`ironcurtain annotate`: what each argument of each tool is, and what a person should know about it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import CONFIG, FORMAT, MAX_COST, MODEL
from ironcurtain.errors import Exit


@click.command()
@click.argument("servers", nargs=-1)
@CONFIG
@MODEL
@MAX_COST
@click.option("--locked", is_flag=True, help="Use kept answers only; fail where one is missing.")
@click.option("--saved-tools", is_flag=True, help="Prefer saved tool lists over live servers.")
@FORMAT
def command(**options: object) -> Exit:
    """Annotate the tools of SERVERS, or of all servers, and print the annotations.

    Only tools without a kept answer are asked about. Nothing is published; the answers are kept for the
    next compile. What stands out goes to stderr: texts that address the model, tools that changed,
    arguments that hold a language. With --format json the output is an annotations file, as
    `ironcurtain bundle` reads it.

    \b
    Examples:
      ironcurtain annotate
      ironcurtain annotate github --format json > tool-annotations.json

    \b
    Exit: 0 printed, 2 wrong settings or files, 3 a server or model fails, 4 a person must answer or
    confirm.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.annotate", **options)
