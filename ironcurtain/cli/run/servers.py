"""`ironcurtain servers`: list, add, fetch and remove a project's servers."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import CONFIG, FORMAT, MAX_COST, MODEL, OPA, Number
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.secret_forms.hiding import words_without_secrets
from ironcurtain.system.text import counted, printable, visible

if TYPE_CHECKING:
    from ironcurtain.analysis.matrix.report import Row
    from ironcurtain.analysis.onboarding.report import Onboarding
    from ironcurtain.cli.options.project import Project
    from ironcurtain.model.annotations import Annotations
    from ironcurtain.servers.config_model import Server


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
@click.option(
    "--servers",
    metavar="FILE",
    help="With NAME and --allow-… alone: the servers' configuration to change (default: the project's).",
)
@click.option("--compile", "compile_", is_flag=True, help="Go on: compile, verify, and show what changed.")
@click.option("--timeout", type=Number(1), default=60.0, show_default=True, help="Seconds for the server.")
@CONFIG
@MODEL
@MAX_COST
@FORMAT
@OPA
def add(
    *,
    name: str,
    words: tuple[str, ...],
    env: tuple[str, ...],
    cwd: str | None,
    allow_write: tuple[str, ...],
    allow_domain: tuple[str, ...],
    servers: str | None,
    compile_: bool,
    timeout: float,
    config: str | None,
    model: str | None,
    max_cost: float | None,
    format_: str,
    opa: str | None,
) -> Exit:
    """Take the server NAME into the project: read its tools, write it down, annotate, show what is new.

    COMMAND starts the server over stdio; relative paths in it start from the directory of
    mcp-servers.json. One that fetches the server (npx, uvx and their like) is fetched first, as
    `ironcurtain servers fetch` does. Every step can be left: the same command, or NAME alone, goes on
    where it stopped. Until a policy is compiled with it, all calls to the server are denied.

    The server's sandbox lets through what the rules permit. --allow-write and --allow-domain add what it
    needs for itself, as a database; with NAME alone they change its entry and do nothing else, with
    --servers that of another file, as of a wrapped client.

    \b
    Examples:
      ironcurtain servers add notes --allow-write ~/notes.db.d --allow-domain api.example.com
      ironcurtain servers add notes --servers FILE --allow-write ~/notes.db.d
      ironcurtain servers add notes -- node node_modules/notes-server/index.js
      ironcurtain servers add memory -- npx -y @modelcontextprotocol/server-memory
      ironcurtain servers add notes --compile

    \b
    Exit: 0 annotated (with --compile: compiled and verified), 1 it does not verify, 2 wrong options
    or files, 3 the server, a model or the engine fails, 4 a question waits for a person.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.onboarding.report import text_lines
    from ironcurtain.cli.author.annotate import annotate_tools, annotation_lines
    from ironcurtain.cli.author.authoring import spending
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.cli.run.fetching import server_launcher
    from ironcurtain.cli.run.server_entry import entry_of, fetched_of, permit, proposed, write_down
    from ironcurtain.integrations.clients.servers_file import Permissions
    from ironcurtain.servers.config import check_servers
    from ironcurtain.servers.fetched.lock import read_lock, with_fetched
    from ironcurtain.servers.permitted import permit as permit_servers
    from ironcurtain.servers.tool_lists.listing import list_tools
    from ironcurtain.servers.tools import left_out

    project = read_project(config)
    entry = entry_of(words, env, cwd)
    more = Permissions.of(allow_write, allow_domain)
    if entry is None and more.any:
        return permit(project, name, more, Path(servers) if servers is not None else project.path("servers"))
    if servers is not None:
        raise UsageError(
            "--servers goes with --allow-write and --allow-domain alone",
            hint="A server is added to the project; --config names another one.",
        )
    if entry is not None and more.any:
        entry["sandbox"] = more.added_to({}, ())
    file, document = project.path("servers"), proposed(project, name, entry)
    fetched = fetched_of(project, name, document.servers[name])
    lock = with_fetched(read_lock(file), fetched)
    config_ = check_servers(document, file, lock)
    if entry is not None and more.any:
        permit_servers(config_, [name])
    tools = list_tools(config_, server_launcher(), only=[name], timeout=timeout)
    _say(f"read: {counted(len(tools[name]), 'tool')} of {name}")
    for sentence in left_out(tools):
        _say(sentence)
    if write_down(project, name, entry, fetched):
        _say(f"written: {name} in {file.name}")
    with spending(max_cost) as ledger:
        annotations = annotate_tools(project, tools, model, ledger).annotations
    _say(f"annotated: {counted(len(tools[name]), 'tool')} of {name}")
    report = _report(project, name, annotations, opa)
    if format_ == "text":
        click.echo("\n".join(map(printable, [*annotation_lines(annotations), *text_lines(report)])))
    status = Exit.YES
    if compile_:
        with contextlib.redirect_stdout(sys.stdout if format_ == "text" else sys.stderr):
            status = _go_on(project, model, max_cost, opa)
        report = _report(project, name, annotations, opa)
    if format_ == "json":
        print_json(report)
    return status


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@click.option("--update", is_flag=True, help="Pin what the registry has now, not what was pinned.")
@CONFIG
@FORMAT
def fetch(
    *, names: tuple[str, ...], servers: str | None, update: bool, config: str | None, format_: str
) -> Exit:
    """Fetch the servers whose command fetches them (npx, uvx, pipx run and their like), all or those named.

    Each is installed once into your data directory, outside the sandbox, from the registry that your own npm
    or uv is configured for; none of its code is run: no install scripts, no git, wheels only. What was
    installed is pinned by version and digest beside the configuration, in mcp-servers.lock.json, and is what
    runs from then on. What is there already stays.

    \b
    Examples:
      ironcurtain servers fetch
      ironcurtain servers fetch time --update

    \b
    Exit: 0 all are there, 2 wrong options or files, or a command that cannot be pinned, 3 one cannot be
    fetched, or is not what is pinned.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.run.fetching import fetch_servers

    return fetch_servers(names=names, servers=servers, update=update, config=config, format_=format_)


@command.command("permit")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@CONFIG
def permit_(*, names: tuple[str, ...], servers: str | None, config: str | None) -> Exit:
    """Permit what servers want beyond strict containment, or the import of their module: all, or those named.

    Commands that read tools (`compile`, `annotate`, `tools`, `drift`, `lists`, `doctor`, `attack --live`)
    start no server without a sandbox, with more files open to it than the project's, or with a sandbox of the
    project's own program, and import no module of tools, before you permit that entry as it is written.
    The permission is recorded in your own directory. A changed entry needs another one. Read what you permit.
    In CI, IRONCURTAIN_PERMIT_SERVERS=all permits everything instead.

    \b
    Examples:
      ironcurtain servers permit
      ironcurtain servers permit desk --servers mcp-servers.json

    \b
    Exit: 0 permitted, or nothing needs it, 2 a file is wrong or has no such server, 3 not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.servers.config import is_module, load_servers, unread_module
    from ironcurtain.servers.permitted import permit

    file = Path(servers) if servers is not None else read_project(config).path("servers")
    configured = unread_module(file) if is_module(file) else load_servers(file)
    if unknown := set(names) - configured.servers.keys():
        raise UsageError(f"there is no server {visible(min(unknown))}", where=str(file))
    wanted = permit(configured, names or configured.servers)
    for name, needed in wanted.items():
        for each in needed:
            _say(f"permitted: server {name}: {each}")
    if not wanted:
        _say("nothing needs a permission: servers are started strictly contained")
    return Exit.YES


@command.command("list")
@CONFIG
@FORMAT
def list_(*, config: str | None, format_: str) -> Exit:
    """Print the servers of the project, and whether the published policy knows them. Starts none.

    \b
    Example:
      ironcurtain servers list

    \b
    Exit: 0 printed, 2 a file is wrong.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.onboarding.report import ListedServer, ServerList
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.compiler.annotate.changes import published_annotations
    from ironcurtain.servers.config_model import Servers
    from ironcurtain.system.files import has_content, load

    project = read_project(config)
    file = project.path("servers")
    configured = load(file, Servers).servers if has_content(file) else {}
    published = published_annotations(project.path("output"))
    known = {name: len(each.tools) for name, each in published.servers.items()} if published else {}
    listed = tuple(
        ListedServer(
            name=name,
            command=_command_words(configured[name]) if name in configured else (),
            tools=known.get(name, 0),
            state="removed" if name not in configured else "governed" if name in known else "new",
        )
        for name in sorted(configured.keys() | known.keys())
    )
    if format_ == "json":
        print_json(ServerList(servers=listed))
        return Exit.YES
    words = {
        "governed": "the policy knows {} tools",
        "new": "not in the policy: every call is denied",
        "removed": "not configured any more; the policy knows {} tools",
    }
    for each in listed:
        click.echo(f"{each.name}: {words[each.state].format(each.tools)}: {visible(' '.join(each.command))}")
    return Exit.YES


@command.command()
@click.argument("name")
@CONFIG
def remove(*, name: str, config: str | None) -> Exit:
    """Remove the server NAME from mcp-servers.json; everything else in the file stays.

    \b
    Example:
      ironcurtain servers remove notes

    \b
    Exit: 0 removed, 2 there is no such server or no other, 3 not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.compiler.annotate.changes import published_annotations
    from ironcurtain.compiler.annotate.confirmations import Confirmations
    from ironcurtain.integrations.clients import servers_file
    from ironcurtain.servers.fetched.lock import read_lock, write_lock
    from ironcurtain.system.files import has_content, load

    project = read_project(config)
    file = project.path("servers")
    with servers_file.alone(file):
        text = servers_file.read_or_start(file)
        servers_file.write(file, servers_file.without_server(text, str(file), name))
        lock = read_lock(file)
        if name in lock.servers:
            left = {each: found for each, found in lock.servers.items() if each != name}
            write_lock(file, lock.model_copy(update={"servers": left}))
    published = published_annotations(project.path("output"))
    if published is not None and name in published.servers:
        _say(f"the published policy knows {name} until the next `ironcurtain compile`")
    confirmations = project.path("confirmations")
    confirmed = load(confirmations, Confirmations).confirmed if has_content(confirmations) else ()
    if any(each.server == name for each in confirmed):
        _say(f"{confirmations.name} still speaks of {name}: remove its entries, too")
    return Exit.YES


def _report(project: Project, name: str, annotations: Annotations, opa: str | None) -> Onboarding:
    """Say how far the server has come, and what the published rules would decide about its tools."""
    from ironcurtain.analysis.onboarding.onboarding import PublishedRules, newcomer_rows, onboarding_report
    from ironcurtain.cli.review.policy_argument import assumed_world
    from ironcurtain.engine.locate import find

    output = project.path("output")
    custom = project.path("custom") if project.settings.custom is not None else None
    rules = PublishedRules.read(output, frozenset(project.settings.case_insensitive_hosts), custom)
    bundle = output / "bundle"
    rows: Mapping[str, tuple[Row, ...]] = {}
    if rules is not None:
        world = assumed_world(str(bundle), None)
        rows = newcomer_rows(rules, name, annotations, world, find(Path(opa) if opa else None))
    shown = Path(project.settings.output) / "bundle"
    return onboarding_report(rules, bundle, shown, name, annotations, rows)


def _go_on(project: Project, model: str | None, max_cost: float | None, opa: str | None) -> Exit:
    """Compile, verify, and show what became looser; return what the verification says."""
    import tempfile

    settings = ["--config", str(project.file)] if project.file is not None else []
    engine = ["--opa", opa] if opa else []
    bundle, archive = project.path("output") / "bundle", project.path("output") / "bundle.tar.gz"
    more = [*(["--model", model] if model else []), *(["--max-cost", str(max_cost)] if max_cost else [])]
    with tempfile.TemporaryDirectory() as temporary:
        old = Path(temporary) / "old.tar.gz"
        if archive.exists():
            old.write_bytes(archive.read_bytes())
        _command("compile", *settings, *more, *engine)
        status = _command("verify", str(bundle), *settings, *engine)
        if old.exists():
            _command("diff", str(old), str(bundle), *engine)
    return status


def _command(name: str, *arguments: str) -> Exit:
    from ironcurtain.cli.main import command_of

    status: Exit = command_of(name).main(
        args=list(arguments), prog_name=f"ironcurtain {name}", standalone_mode=False
    )
    return status


def _command_words(server: Server) -> tuple[str, ...]:
    words = (server.command, *server.args) if server.command else (server.url or server.tools or "",)
    return tuple(words_without_secrets(words))


def _say(text: str) -> None:
    click.echo(printable(text), err=True)
