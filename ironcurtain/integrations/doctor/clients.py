"""Are the clients wrapped, does what they start exist, and which servers do they still start themselves?"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.clients.known_clients import CLIENTS
from ironcurtain.integrations.clients.migration_plan import by_choice, of_projects
from ironcurtain.integrations.clients.store import BackupStore
from ironcurtain.integrations.clients.target import MAX_BYTES, ConfigLocation, places, read_document
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.servers.endpoint_names import CLIENT_ENTRY
from ironcurtain.servers.permitted import project_servers
from ironcurtain.servers.variables import filled_where_set
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import counted, visible

_FILES = ("--servers", "--bundle", "--verify-key", "--opa", "--sandbox", "--engine-ca", "--engine-token-file")
_SHEBANG_BYTES = 4_096
_NO_PROGRAM = "which is no program"


def clients(installation: Installation) -> Iterator[Diagnosis]:
    """Look at the clients that were named, which have to be wrapped, or else at all that are there."""
    count = 0
    for name in installation.clients or CLIENTS:
        existing = [place for place in places(name, None, installation.cwd) if place.path.exists()]
        # In the home directory the project's file can be the user's own.
        there = list({place.path.resolve(): place for place in existing}.values())
        count += len(there)
        if installation.clients and not there:
            what = f"{visible(name)} has no configuration"
            fix = "Start the client once, or name the file that it reads."
            yield Diagnosis.fail(f"client/{visible(name)}", what, fix)
        for place in there:
            yield from _client(place, installation)
    if not count and not installation.clients:
        yield Diagnosis.ok("client", "no client's configuration was found")


def _client(place: ConfigLocation, installation: Installation) -> Iterator[Diagnosis]:
    demanded = bool(installation.clients)
    name = f"client/{visible(place.path.name if place.client == 'file' else place.client)}"
    try:
        source = str(place.path)
        document = read_document(read_bytes(place.path, max_bytes=MAX_BYTES), source, place.shapes)
    except IronCurtainError as error:
        yield from failed(name, error)
        return
    servers = document.entries
    entry = servers.get(CLIENT_ENTRY)
    again = visible(shlex.join(_wrapping(place, entry, installation)))
    past = [
        visible(each) for each, server in servers.items() if each != CLIENT_ENTRY and not by_choice(server)
    ]
    past += [f"{visible(each.name)} (of a project)" for each in of_projects(document, place)]
    if not isinstance(entry, dict):
        if past or demanded:
            named = f" ({', '.join(past)})" if past else ""
            what = f"{visible(source)} is not wrapped: it starts {counted(len(past), 'server')} itself{named}"
            status = "fail" if demanded else "warn"
            yield Diagnosis.model_validate(
                {"name": name, "status": status, "what": what, "fix": f"Run `{again}`."}
            )
        return
    wrong = list(missing(entry, place.directory, "the proxy of the client"))
    for what in wrong:
        yield Diagnosis.fail(name, what, f"Put it back, or run `{again}` anew.")
    behind = list(_behind(name, entry, place.directory))
    yield from behind
    edited = _edited(place, entry)
    if edited:
        fix = f"Run `{again}` to write it anew, or `ironcurtain unwrap`: what it holds now is kept."
        yield Diagnosis.warn(name, f"{visible(source)}: {edited}", fix)
    if past:
        what = f"{visible(source)} starts servers past the policy: {', '.join(past)}"
        yield Diagnosis.warn(name, what, f"Run `{again}`, or remove them.")
    if not wrong and not behind:
        yield Diagnosis.ok(name, f"{visible(source)} is wrapped")


def _wrapping(place: ConfigLocation, entry: JsonValue, installation: Installation) -> list[str]:
    """Return the command that wraps a client as its entry says, or as this installation is."""
    words = json_text.members(entry).get("args")
    given = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    if "proxy" in given and "--servers" in given:
        options = given[given.index("proxy") + 1 : given.index("--servers")]
        at = options.index("--opa") if "--opa" in options else len(options)
        options = options[:at] + options[at + 2 :]
    else:
        workspace = installation.workspace
        options = ["--bundle", str(installation.bundle.absolute())]
        options += ["--sandbox", str(workspace.absolute())] if workspace is not None else []
    return ["ironcurtain", "wrap", place.client if place.client != "file" else str(place.path), *options]


def missing(entry: Mapping[str, JsonValue], directory: Path, started: str) -> Iterator[str]:
    """Yield what an entry of the client names and what is not there; what it starts runs in a directory."""
    command = entry.get("command")
    reason = _no_program(command, directory, _path(entry)) if isinstance(command, str) else _NO_PROGRAM
    if reason:
        yield f"the client starts {visible(str(command))}, {reason}"
    for option, value in _options(entry):
        if option in _FILES and not (directory / value).exists():
            yield f"{started} is started with {option} {visible(value)}, which does not exist"


def _behind(name: str, entry: Mapping[str, JsonValue], directory: Path) -> Iterator[Diagnosis]:
    """Look whether the servers behind the proxy have their programs, where the proxy looks for them."""
    file = next((directory / value for option, value in _options(entry) if option == "--servers"), None)
    if file is None or not file.exists():
        return
    try:
        config = project_servers(file)
    except IronCurtainError as error:
        yield from failed(name, error)
        return
    for server, written in config.servers.items():
        each = filled_where_set(written)
        if server in config.installed:
            try:
                config.installed[server].check()
            except IronCurtainError as error:
                what = f"behind the proxy, {server} cannot run: {error.what}"
                yield Diagnosis.fail(name, what, error.hint, code=error.code)
                continue
        path = each.env.get("PATH") or _path(entry)
        place = config.directory / (each.cwd or "")
        reason = _no_program(each.command, place, path) if each.command else ""
        if reason:
            what = f"behind the proxy, {server} is started with {visible(each.command or '')}, {reason}"
            fix = f"Install it again, or correct it in {visible(str(file))}."
            yield Diagnosis.fail(name, what, fix)


def _edited(place: ConfigLocation, entry: JsonValue) -> str:
    """Say how an entry of `wrap` is not as it was written; nothing if it is, or is somebody's own."""
    generation = BackupStore.of(place.path.resolve()).named_by(entry)
    if generation is None:
        return ""
    if not generation.is_whole:
        return "the backup of the file before it was wrapped is gone"
    try:
        after = read_document(generation.read_wrapped(), str(generation.directory), place.shapes)
        generation.read_original()
    except IronCurtainError as error:
        return error.what
    return (
        ""
        if after.entries.get(CLIENT_ENTRY) == entry
        else f"its server {CLIENT_ENTRY} was changed by hand since it was wrapped"
    )


def _options(entry: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    words = entry.get("args")
    return itertools.pairwise(str(word) for word in words) if isinstance(words, list) else iter(())


def _path(entry: Mapping[str, JsonValue]) -> str | None:
    """Return the search path that the client gives the proxy, and it to its servers; None is our own."""
    environment = entry.get("env")
    path = environment.get("PATH") if isinstance(environment, dict) else None
    return path if isinstance(path, str) else None


def _no_program(command: str, directory: Path, path: str | None) -> str:
    """Return why a command cannot be started in a directory; nothing if it can."""
    if not directory.is_dir():
        return f"in {visible(str(directory))}, which is no directory"
    program = shutil.which(str(directory / command) if os.sep in command else command, path=path)
    if program is None:
        return _NO_PROGRAM
    first = b""
    with suppress(OSError), Path(program).open("rb") as file:  # some programs can be run, and not be read
        first = file.read(_SHEBANG_BYTES).partition(b"\n")[0]
    words = first.removeprefix(b"#!").split()
    # A virtual environment that was moved leaves scripts behind whose Python is gone.
    if first.startswith(b"#!") and words and not os.path.exists(words[0]):  # noqa: PTH110 - bytes
        return f"whose interpreter {visible(os.fsdecode(words[0]))} is gone"
    return ""
