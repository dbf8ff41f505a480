"""Which of a client's servers can run behind the proxy, and how they are written for it.

A client starts servers in a directory and with a search path that the proxy does not share, and some clients
fill in variables. So what moves is written out: absolute program, working directory, search path. What cannot
be written out stays with the client, with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ironcurtain.errors import FormatError, IronCurtainError, SeveralErrors
from ironcurtain.integrations.clients.carried_settings import SETTINGS
from ironcurtain.integrations.clients.report import LeftServer
from ironcurtain.integrations.clients.target import ClientDocument, ConfigLocation
from ironcurtain.servers.config import check_servers
from ironcurtain.servers.config_model import Server, Servers
from ironcurtain.servers.connect import HANDED_ON
from ironcurtain.servers.variables import VARIABLE, variables_of
from ironcurtain.system.files import parse_document
from ironcurtain.system.frozen import JsonValue, ServerName
from ironcurtain.system.json_text import members
from ironcurtain.system.key_store import names_secret
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_READ = ("command", "args", "env", "cwd", "url", "headers")
_OURS = ("sandbox", "passMeta", "workingRoot", "tools", "gateway", "output")
"""What our own file says of a server. A client's file may come with a project, from anybody: it cannot say
that a server is not contained."""
_CAMEL = re.compile("[a-z][A-Z]|^(?:file|cwd)")
_WRITE_ENV = frozenset({"cursor", "vscode"})
"""Clients that fill in `${env:NAME}`, and not `${NAME}`."""
_MOST_SERVERS = 500
_REMOTE = {None, "http", "streamable-http", "streamableHttp"}
_CLIENTS_OWN = {
    "envFile": "its environment comes from a file that only the client reads (envFile)",
    "headersHelper": "its headers come from a program that only the client runs (headersHelper)",
    "oauth": "it is signed in to by the client (oauth)",
    "auth": "it is signed in to by the client (auth)",
    "env_vars": "variables of its environment are those of the client (env_vars)",
    "env_keys": "its secrets are in a store of the client (env_keys)",
    "bearer_token_env_var": "its token is in the client's environment (bearer_token_env_var)",
    "env_http_headers": "its headers are in the client's environment (env_http_headers)",
}
_PARTS = frozenset({"builtin", "platform", "frontend", "inline_python", "extension"})
"""What a client that lists its own parts among the servers calls them."""


class Sorted(Struct):
    """A client's servers, each in one of two places.

    Attributes:
        moved: By name, as the proxy's `mcp-servers.json` has them.
        left: Those that stay with the client.
        notes: What a person should know about those that move.
    """

    moved: dict[str, dict[str, JsonValue]]
    left: tuple[LeftServer, ...]
    notes: tuple[str, ...]


def sort(
    servers: Mapping[str, JsonValue], place: ConfigLocation, only: tuple[str, ...], search_path: str
) -> Sorted:
    """Say of each server whether it moves.

    Args:
        servers: The client's servers; not the one that is the proxy.
        place: The file that they stand in.
        only: The names of those that may move; empty means all.
        search_path: Where bare program names are looked up, now and by the servers themselves.

    Raises:
        FormatError: If a server is no object, or there are more than 500.
    """
    if len(servers) > _MOST_SERVERS:
        raise FormatError(f"there are more than {_MOST_SERVERS} servers", where=str(place.path))
    moved: dict[str, dict[str, JsonValue]] = {}
    left: list[LeftServer] = []
    notes: list[str] = []
    for name, server in servers.items():
        if not isinstance(server, dict):
            raise FormatError(f"server {quoted(name)} is no object", where=str(place.path))
        if only and name not in only:
            left.append(LeftServer(name=name, reason="--only does not name it", outside=False))
        elif reason := by_choice(server):
            left.append(LeftServer(name=name, reason=reason, outside=False))
        else:
            written = _written(server, place, search_path)
            reason = _obstacle(name, written, place)
            if reason:
                left.append(LeftServer(name=name, reason=reason, outside=True))
            else:
                moved[name] = written
                notes += (*_notes(name, written), *_not_taken(name, server))
    return Sorted(moved, tuple(left), tuple(notes))


def by_choice(server: JsonValue) -> str:
    """Return why the client starts no server, though one stands in the file; empty if it does."""
    entry = members(server)
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return "it is switched off"
    is_part = entry.get("type", entry.get("source")) in _PARTS or {*entry} == {"settings"}
    return "it is a part of the client, and no MCP server" if is_part else ""


def of_projects(document: ClientDocument, place: ConfigLocation) -> list[LeftServer]:
    """Return the servers that Claude Code keeps in the same file for one project each."""
    projects = document.root.fields.get("projects") if place.client == "claude-code" else None
    left = []
    for path, project in projects.items() if isinstance(projects, dict) else ():
        servers = project.get("mcpServers") if isinstance(project, dict) else None
        for name in servers if isinstance(servers, dict) else ():
            reason = f"it is configured for one project alone, {quoted(path)}"
            left.append(LeftServer(name=name, reason=reason, outside=True))
    return left


def _written(server: dict[str, JsonValue], place: ConfigLocation, search_path: str) -> dict[str, JsonValue]:
    """Write a server out, as far as it is what it should be; `_obstacle` says whether it is."""
    known = {"${userHome}": str(Path.home())} if place.variables else {}
    if place.variables and place.project:
        known["${workspaceFolder}"] = str(place.directory)
    taken = {key: value for key, value in server.items() if key not in _OURS and key not in SETTINGS}
    written = {key: _filled(value, known) if key in _READ else value for key, value in taken.items()}
    command, env, cwd = written.get("command"), written.get("env") or {}, written.get("cwd") or ""
    if not (isinstance(command, str) and isinstance(env, dict) and isinstance(cwd, str)):
        return written
    directory = place.directory / Path(cwd).expanduser()
    path = env.get("PATH", search_path)
    # Not resolved: some programs look at the name that they are called by.
    program = directory / command if "/" in command else shutil.which(command, path=str(path))
    return {
        **written,
        "command": os.path.normpath(program) if program and not VARIABLE.match(command) else command,
        "env": {**env, "PATH": path},
        "cwd": cwd if VARIABLE.match(cwd) else os.path.normpath(directory),
    }


def _filled(value: JsonValue, known: Mapping[str, str]) -> JsonValue:
    if isinstance(value, str):
        for name, meaning in known.items():
            value = value.replace(name, meaning)
        return value
    if isinstance(value, list):
        return [_filled(item, known) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, known) for key, item in value.items()}
    return value


def _obstacle(name: str, server: dict[str, JsonValue], place: ConfigLocation) -> str:
    """Return why a server cannot move; empty if it can."""
    if any(names_secret(text) for key in _READ for text in _texts(server.get(key))):
        return "it names a secret of the key store, which only the proxy's own file can"
    texts = [text for key in _READ for text in _texts(server.get(key))]
    own = re.compile(place.shapes[0].dialect.variables)
    if any(own.search(text) or (place.variables and _is_clients(text)) for text in texts):
        return "it uses variables (${…}) that only the client can fill in"
    for key, reason in _CLIENTS_OWN.items():
        if key in server and server[key] != []:
            return reason
    kind = server.get("type")
    if "url" in server and kind not in _REMOTE:
        return f"the proxy does not speak its transport, {quoted(str(kind))}"
    if not _is_name(name):
        return "a policy cannot have its name: letters, digits, - and single _ only, 63 at most"
    return _mistake(name, server, place)


def _is_clients(text: str) -> bool:
    """Tell whether a text has variables that are none of the environment: editors' own are in camel case."""
    return "${" in VARIABLE.sub(
        lambda found: found[0] if not found["editors"] and _CAMEL.search(found["name"]) else "", text
    )


def _mistake(name: str, server: dict[str, JsonValue], place: ConfigLocation) -> str:
    """Return what our `mcp-servers.json` would not take; empty if it takes the server."""
    try:
        text = json.dumps({"mcpServers": {name: server}})
        check_servers(parse_document(text, str(place.path), Servers), place.path)
    except SeveralErrors as error:
        return error.errors[0].what
    except IronCurtainError as error:
        return error.what
    return ""


def _is_name(name: str) -> bool:
    try:
        TypeAdapter(ServerName).validate_python(name)
    except ValidationError:
        return False
    return True


def handed_on(servers: Mapping[str, dict[str, JsonValue]], place: ConfigLocation) -> dict[str, str]:
    """Return the variables that a client has to give the proxy, since servers name them, as it fills them in.

    Clients start the proxy with few variables of their own. What would stand for one that is not set is not
    among them: a project's file could else say with what environment the proxy runs.
    """
    if not place.variables:
        return {}
    named = variables_named(servers)
    return {name: f"${{env:{name}}}" if place.client in _WRITE_ENV else text for name, text in named.items()}


def variables_named(servers: Mapping[str, dict[str, JsonValue]]) -> dict[str, str]:
    """Return the variables that servers name, each as it stands there; what every server gets is left out."""
    named = (variables_of(Server.model_validate_json(json.dumps(server))) for server in servers.values())
    return {
        name: text
        for each in named
        for name, text in each.items()
        if name not in HANDED_ON and not name.startswith("IRONCURTAIN")
    }


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _texts(item)]


def _notes(name: str, server: dict[str, JsonValue]) -> list[str]:
    if "url" in server and not server.get("headers"):
        return [f"{name} has no headers: if the client signs in to it (OAuth), the proxy cannot"]
    return []


def _not_taken(name: str, server: dict[str, JsonValue]) -> list[str]:
    given = [key for key in _OURS if key in server]
    return (
        [f"{name}: {', '.join(given)} of the client's file do not count: write them into ours"]
        if given
        else []
    )
