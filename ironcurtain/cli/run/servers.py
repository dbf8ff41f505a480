"""`ironcurtain servers`: the servers of a project, and the one way in for a new one."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import CONFIG, FORMAT, MAX_COST, MODEL, OPA, Number
from ironcurtain.errors import Exit


@click.group()
def command() -> None:
    """Show, add, fetch and remove the MCP servers of a project.

    \b
    Example:
      ironcurtain servers add notes -- node node_modules/notes-server/index.js

    \b
    Exit: 0 done, others as each command says.
    """  # noqa: D301 - click reads the escape


@command.command()
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option("--env", metavar="KEY=VALUE", multiple=True, help="A variable for the server; repeatable.")
@click.option("--cwd", metavar="DIR", help="Its working directory, relative to the file.")
@click.option("--allow-write", metavar="DIR", multiple=True, help="Let its sandbox write DIR; repeatable.")
@click.option(
    "--allow-domain", metavar="NAME", multiple=True, help="Let it contact NAME (*.NAME); repeatable."
)
@click.option("--compile", "compile_", is_flag=True, help="Go on: compile, verify, and show what changed.")
@click.option("--timeout", type=Number(1), default=60.0, show_default=True, help="Seconds for the server.")
@CONFIG
@MODEL
@MAX_COST
@FORMAT
@OPA
def add(**options: object) -> Exit:
    """Take the server NAME into the project: read its tools, write it down, annotate, show what is new.

    COMMAND starts the server over stdio; relative paths in it start from the directory of
    mcp-servers.json. One that fetches the server (npx, uvx and their like) is fetched first, as
    `ironcurtain servers fetch` does. Every step can be left: the same command, or NAME alone, goes on
    where it stopped. Until a policy is compiled with it, all calls to the server are denied.

    The server's sandbox lets through what the rules permit. --allow-write and --allow-domain add what it
    needs for itself, as a database; with NAME alone they change its entry and do nothing else.

    \b
    Examples:
      ironcurtain servers add notes --allow-write ~/notes.db.d --allow-domain api.example.com
      ironcurtain servers add notes -- node node_modules/notes-server/index.js
      ironcurtain servers add memory -- npx -y @modelcontextprotocol/server-memory
      ironcurtain servers add notes --compile

    \b
    Exit: 0 annotated (with --compile: compiled and verified), 1 it does not verify, 2 wrong options
    or files, 3 the server, a model or the engine fails, 4 a question waits for a person.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.servers", "add", **options)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@click.option("--update", is_flag=True, help="Pin what the registry has now, not what was pinned.")
@CONFIG
@FORMAT
def fetch(**options: object) -> Exit:
    """Fetch the servers whose command fetches them (npx, uvx, pipx run and their like), all or those named.

    Each is installed once into your data directory, outside the sandbox, from the registry that your own npm,
    uv or pip is configured for; none of its code is run: no install scripts, wheels only. What was installed
    is pinned by version and digest beside the configuration, in mcp-servers.lock.json, and is what runs from
    then on. What is there already stays.

    \b
    Examples:
      ironcurtain servers fetch
      ironcurtain servers fetch time --update

    \b
    Exit: 0 all are there, 2 wrong options or files, or a command that cannot be pinned, 3 one cannot be
    fetched, or is not what is pinned.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.fetch", **options)


@command.command("list")
@CONFIG
@FORMAT
def list_(**options: object) -> Exit:
    """Print the servers of the project, and whether the published policy knows them. Starts none.

    \b
    Example:
      ironcurtain servers list

    \b
    Exit: 0 printed, 2 a file is wrong.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.servers", "list_", **options)


@command.command()
@click.argument("name")
@CONFIG
def remove(**options: object) -> Exit:
    """Remove the server NAME from mcp-servers.json; everything else in the file stays.

    \b
    Example:
      ironcurtain servers remove notes

    \b
    Exit: 0 removed, 2 there is no such server or no other, 3 not writable.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.servers", "remove", **options)
