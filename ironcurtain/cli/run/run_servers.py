"""What `ironcurtain servers add|list|remove` do."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from ironcurtain.analysis.matrix.report import Row
from ironcurtain.analysis.matrix.text import exactness_mark, outcome_words, places
from ironcurtain.analysis.onboarding.onboarding import PublishedRules, newcomer_rows
from ironcurtain.analysis.onboarding.report import ListedServer, NewTool, Onboarding, ServerList
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.cli.author.authoring import spending
from ironcurtain.cli.author.run_annotate import annotate_tools, annotation_lines
from ironcurtain.cli.main import command_of
from ironcurtain.cli.options.project import Project, read_project
from ironcurtain.cli.review.assumed_facts import assumed_world
from ironcurtain.cli.run import servers_file
from ironcurtain.cli.run.connecting import visits
from ironcurtain.cli.run.fetching import fetch_aloud, wanted_of
from ironcurtain.cli.run.server_permissions import Permissions
from ironcurtain.compiler.annotate.changes import published_annotations
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.enforcement.sandbox.profile import can_be_let_through
from ironcurtain.enforcement.sandbox.reach.reach import reach_of
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit, UsageError
from ironcurtain.model.annotations import Annotations
from ironcurtain.servers.config import check_servers
from ironcurtain.servers.config_model import Server, Servers
from ironcurtain.servers.fetched.lock import read_lock, with_fetched, write_lock
from ironcurtain.servers.fetched.lock_model import FetchedServer
from ironcurtain.servers.listing import list_tools
from ironcurtain.system import json_text
from ironcurtain.system.files import has_content, load, parse_document
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import counted, printable, quoted, visible


def add(
    *,
    name: str,
    words: tuple[str, ...],
    env: tuple[str, ...],
    cwd: str | None,
    allow_write: tuple[str, ...],
    allow_domain: tuple[str, ...],
    compile_: bool,
    timeout: float,
    config: str | None,
    model: str | None,
    max_cost: float | None,
    format_: str,
    opa: str | None,
) -> Exit:
    """Read, write down, annotate, show what is new, and go on if that is wanted."""
    project = read_project(config)
    entry = _entry(words, env, cwd)
    more = Permissions.of(allow_write, allow_domain)
    if entry is None and more.any:
        return _permit(project, name, more)
    if entry is not None and more.any:
        entry["sandbox"] = more.added_to({}, ())
    proposed = _proposed(project, name, entry)
    fetched = _fetched(project, name, proposed.servers[name])
    lock = with_fetched(read_lock(_file(project)), fetched)
    tools = list_tools(check_servers(proposed, _file(project), lock), visits(), only=[name], timeout=timeout)
    _say(f"read: {counted(len(tools[name]), 'tool')} of {name}")
    if _write_down(project, name, entry, fetched):
        _say(f"written: {name} in {_file(project).name}")
    with spending(max_cost) as ledger:
        annotations = annotate_tools(project, tools, model, ledger).annotations
    _say(f"annotated: {counted(len(tools[name]), 'tool')} of {name}")
    report = _report(project, name, annotations, opa)
    if format_ == "text":
        click.echo("\n".join(map(printable, _lines(report, annotations))))
    status = Exit.YES
    if compile_:
        with contextlib.redirect_stdout(sys.stdout if format_ == "text" else sys.stderr):
            status = _go_on(project, model, max_cost, opa)
        report = _report(project, name, annotations, opa)
    if format_ == "json":
        click.echo(json_text.pretty(report.model_dump(mode="json")), nl=False)
    return status


def list_(*, config: str | None, format_: str) -> Exit:
    """Print the servers, configured or published."""
    project = read_project(config)
    configured = load(_file(project), Servers).servers if has_content(_file(project)) else {}
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
        click.echo(json_text.pretty(ServerList(servers=listed).model_dump(mode="json")), nl=False)
        return Exit.YES
    words = {
        "governed": "the policy knows {} tools",
        "new": "not in the policy: every call is denied",
        "removed": "not configured any more; the policy knows {} tools",
    }
    for each in listed:
        click.echo(f"{each.name}: {words[each.state].format(each.tools)}: {visible(' '.join(each.command))}")
    return Exit.YES


def remove(*, name: str, config: str | None) -> Exit:
    """Take a server out of the file, and say what still speaks of it."""
    project = read_project(config)
    file = _file(project)
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


def _permit(project: Project, name: str, more: Permissions) -> Exit:
    """Add permissions to the sandbox of a server that is there."""
    file = _file(project)
    with servers_file.alone(file):
        text = servers_file.read_or_start(file)
        named = _permitted_domains(project, name)
        changed = servers_file.with_permissions(text, str(file), name, more, named)
        check_servers(parse_document(changed, str(file), Servers), file)
        if changed != text:
            servers_file.write(file, changed)
    for what in more.words:
        _say(f"written: the sandbox of {name} {what}")
    _say("a proxy that runs takes it at its next start")
    return Exit.YES


def _permitted_domains(project: Project, name: str) -> tuple[str, ...]:
    """Return the domains that the published rules open: a list of the configuration stands in their place."""
    bundle = project.path("output") / "bundle"
    if not bundle.exists():
        return ()
    reach = reach_of(PolicyContent.of(Bundle.read(bundle)), name)
    return tuple(domain for domain in reach.domains if can_be_let_through(domain))


def _file(project: Project) -> Path:
    return project.path("servers")


def _entry(words: tuple[str, ...], env: tuple[str, ...], cwd: str | None) -> dict[str, Json] | None:
    """Return the entry that the command line asks for; None if it asks to go on with one that is there."""
    if not words:
        if env or cwd:
            raise UsageError("--env and --cwd belong to a command", hint="Give the command behind --.")
        return None
    variables = dict(each.partition("=")[::2] for each in env)
    if not all(variables) or not all("=" in each for each in env):
        raise UsageError("--env wants KEY=VALUE")
    entry: dict[str, Json] = {"command": words[0]}
    if words[1:]:
        entry["args"] = list(words[1:])
    if variables:
        entry["env"] = variables
    if cwd is not None:
        entry["cwd"] = cwd
    return entry


def _proposed(project: Project, name: str, entry: dict[str, Json] | None) -> Servers:
    """Return the servers as they will be; nothing is written before the new one has shown its tools.

    Raises:
        UsageError: If the server is there with another command, or there is neither server nor command.
    """
    return parse_document(_with_entry(project, name, entry), str(_file(project)), Servers)


def _with_entry(project: Project, name: str, entry: dict[str, Json] | None) -> str:
    file = _file(project)
    text = servers_file.read_or_start(file)
    there = parse_document(text, str(file), Servers).servers.get(name)
    if there is None and entry is None:
        raise UsageError(
            f"there is no server {quoted(name)} yet",
            where=str(file),
            hint=f"Give its command: ironcurtain servers add {visible(name)} -- COMMAND …",
        )
    if entry is None or there == Server.model_validate_json(json_text.canonical(entry)):
        return text
    if there is not None:
        raise UsageError(
            f"the server {quoted(name)} is there with another command or other keys",
            where=str(file),
            hint="Give the name alone to go on with it, or remove it first, or edit the file.",
        )
    return servers_file.with_server(text, str(file), name, entry)


def _fetched(project: Project, name: str, server: Server) -> dict[str, FetchedServer]:
    """Fetch the server where its command would, by what is pinned of it."""
    wanted = wanted_of(server) if server.sandbox is not False else None
    if wanted is None:
        return {}
    return {name: fetch_aloud(name, wanted, read_lock(_file(project)).servers.get(name))}


def _write_down(
    project: Project, name: str, entry: dict[str, Json] | None, fetched: dict[str, FetchedServer]
) -> bool:
    """Write the server into the file as that is now; tell whether it was not there yet."""
    file = _file(project)
    with servers_file.alone(file):
        lock = read_lock(file)
        if (made := with_fetched(lock, fetched)) != lock:
            write_lock(file, made)
        text = _with_entry(project, name, entry)
        if file.exists() and text == servers_file.read_or_start(file):
            return False
        servers_file.write(file, text)
    return True


def _report(project: Project, name: str, annotations: Annotations, opa: str | None) -> Onboarding:
    """Say how far the server has come, and what the published rules would decide about its tools."""
    output = project.path("output")
    custom = project.path("custom") if project.settings.custom is not None else None
    rules = PublishedRules.read(output, frozenset(project.settings.case_insensitive_hosts), custom)
    bundle = output / "bundle"
    rows: Mapping[str, tuple[Row, ...]] = {}
    if rules is not None:
        world = assumed_world(str(bundle), None)
        rows = newcomer_rows(rules, name, annotations, world, find(Path(opa) if opa else None))
    tools = []
    for tool in annotations.servers[name].tools:
        old = rules.annotations.find(name, tool.tool) if rules is not None else None
        same = old is not None and old.schema_digest == tool.schema_digest
        status = "new" if old is None else "known" if same else "changed"
        tools.append(
            NewTool.model_validate({"tool": tool.tool, "status": status, "rows": rows.get(tool.tool, ())})
        )
    compiled = bool(tools) and all(tool.status == "known" for tool in tools)
    shown = Path(project.settings.output) / "bundle"
    follow = (f"ironcurtain verify {shown}", f"ironcurtain matrix {shown}")
    return Onboarding(
        server=name,
        stage="compiled" if compiled else "annotated",
        revision=Bundle.read(bundle).revision if rules is not None else None,
        tools=tuple(tools),
        next=follow if compiled else ("ironcurtain compile", *follow),
    )


def _lines(report: Onboarding, annotations: Annotations) -> Iterator[str]:
    yield from annotation_lines(annotations)
    if report.revision is None:
        yield "no policy is published yet: every call is denied until one is compiled"
    for tool in report.tools:
        if tool.status == "known":
            continue
        yield f"{tool.status} to the policy: {visible(tool.tool)}"
        for row in tool.rows:
            shown = "; ".join(" ".join(outcome_words(row, outcome).split()) for outcome in row.outcomes)
            mark = "uncovered: " if row in tool.uncovered else ""
            yield f"    {mark}{', '.join(row.roles)} in {places(row)}{exactness_mark(row)}: {shown}"
    uncovered = sum(len(tool.uncovered) for tool in report.tools)
    cells = sum(len(tool.rows) for tool in report.tools)
    if report.stage == "annotated":
        if cells:
            yield f"{uncovered} of {cells} cells are uncovered: denied until the constitution says otherwise"
        yield f"next: say in the constitution what {report.server} may do, then"
    else:
        yield f"{report.server} is in the published policy; next:"
    yield from (f"    {command}" for command in report.next)


def _go_on(project: Project, model: str | None, max_cost: float | None, opa: str | None) -> Exit:
    """Compile, verify, and show what became looser; return what the verification says."""
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
    status: Exit = command_of(name).main(
        args=list(arguments), prog_name=f"ironcurtain {name}", standalone_mode=False
    )
    return status


def _command_words(server: Server) -> tuple[str, ...]:
    return (server.command, *server.args) if server.command else (server.url or server.tools or "",)


def _say(text: str) -> None:
    click.echo(printable(text), err=True)
