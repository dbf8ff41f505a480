"""A server's entry in a project's `mcp-servers.json`: as the command line asks for it, checked, written.

Nothing is written before a new server has shown its tools; `cli/run/servers.py` has the commands.
"""

from __future__ import annotations

from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.cli.options.project import Project
from ironcurtain.cli.run.fetching import fetch_aloud, print_note, wanted_of
from ironcurtain.enforcement.sandbox.profile import can_be_let_through
from ironcurtain.enforcement.sandbox.reach.reach import reach_of
from ironcurtain.errors import Exit, UsageError
from ironcurtain.integrations.clients import servers_file
from ironcurtain.integrations.clients.servers_file import Permissions
from ironcurtain.servers.config import check_servers
from ironcurtain.servers.config_model import Server, Servers
from ironcurtain.servers.fetched.lock import FetchedServer, read_lock, with_fetched, write_lock
from ironcurtain.servers.permitted import permit as permit_servers
from ironcurtain.servers.permitted import unpermitted
from ironcurtain.system import json_text
from ironcurtain.system.files import parse_document, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible


def entry_of(words: tuple[str, ...], env: tuple[str, ...], cwd: str | None) -> dict[str, JsonValue] | None:
    """Return the entry that the command line asks for; None if it asks to go on with one that is there."""
    if not words:
        if env or cwd:
            raise UsageError("--env and --cwd belong to a command", hint="Give the command behind --.")
        return None
    variables: dict[str, JsonValue] = dict(each.partition("=")[::2] for each in env)
    if not all(variables) or not all("=" in each for each in env):
        raise UsageError("--env wants KEY=VALUE")
    entry: dict[str, JsonValue] = {"command": words[0]}
    if words[1:]:
        entry["args"] = list(words[1:])
    if variables:
        entry["env"] = variables
    if cwd is not None:
        entry["cwd"] = cwd
    return entry


def proposed(project: Project, name: str, entry: dict[str, JsonValue] | None) -> Servers:
    """Return the servers as they will be; nothing is written before the new one has shown its tools.

    Raises:
        UsageError: If the server is there with another command, or there is neither server nor command.
    """
    return parse_document(_with_entry(project, name, entry), str(project.path("servers")), Servers)


def _with_entry(project: Project, name: str, entry: dict[str, JsonValue] | None) -> str:
    file = project.path("servers")
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


def write_down(
    project: Project, name: str, entry: dict[str, JsonValue] | None, fetched: dict[str, FetchedServer]
) -> bool:
    """Write the server into the file as that is now; tell whether it was not there yet."""
    file = project.path("servers")
    with servers_file.alone(file):
        lock = read_lock(file)
        if (made := with_fetched(lock, fetched)) != lock:
            write_lock(file, made)
        text = _with_entry(project, name, entry)
        if file.exists() and text == servers_file.read_or_start(file):
            return False
        servers_file.write(file, text)
    return True


def permit(project: Project, name: str, more: Permissions, file: Path) -> Exit:
    """Add permissions to the sandbox of a server that is in a file: the project's, or a wrapped client's.

    Raises:
        FileError: If there is no such file.
        ServerConfigError: If the server is not in it.
    """
    text = read_text(file)
    with servers_file.alone(file):
        text = read_text(file)
        parse_document(text, str(file), Servers)
        named = _permitted_domains(project, name)
        changed = servers_file.with_permissions(text, str(file), name, more, named)
        lock = read_lock(file)
        now = check_servers(parse_document(changed, str(file), Servers), file, lock)
        # What the command line adds is permitted with it, and nothing else that the entry says.
        before = check_servers(parse_document(text, str(file), Servers), file, lock)
        is_added = not unpermitted(before, [name])
        if changed != text:
            servers_file.write(file, changed)
        if is_added:
            permit_servers(now, [name])
    for what in more.words:
        print_note(f"written: the sandbox of {name} {what}")
    print_note("a proxy that runs takes it at its next start")
    return Exit.YES


def _permitted_domains(project: Project, name: str) -> tuple[str, ...]:
    """Return the domains that the published rules open: a list of the configuration stands in their place."""
    bundle = project.path("output") / "bundle"
    if not bundle.exists():
        return ()
    reach = reach_of(PolicyContent.of(Bundle.read(bundle)), name)
    return tuple(domain for domain in reach.domains if can_be_let_through(domain))


def fetched_of(project: Project, name: str, server: Server) -> dict[str, FetchedServer]:
    """Fetch the server where its command would, by what is pinned of it."""
    wanted = wanted_of(server) if server.sandbox is not False else None
    if wanted is None:
        return {}
    return {name: fetch_aloud(name, wanted, read_lock(project.path("servers")).servers.get(name))}
