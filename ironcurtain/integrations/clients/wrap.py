"""Put the proxy between a client and its servers: one entry in the client's file, the servers in ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Literal

from ironcurtain.errors import FormatError, IronCurtainError, UsageError
from ironcurtain.integrations.clients.carried_settings import CarriedSettings, carried
from ironcurtain.integrations.clients.known_clients import STANDARD, Dialect
from ironcurtain.integrations.clients.migration_plan import (
    Sorted,
    handed_on,
    of_projects,
    sort,
    variables_named,
)
from ironcurtain.integrations.clients.ready import (
    Fetch,
    Ready,
    Start,
    absolute,
    check_runnable,
    check_starts,
    fetched,
    to_fetch,
)
from ironcurtain.integrations.clients.report import ClientReport, WrapRecord
from ironcurtain.integrations.clients.store import (
    BackupStore,
    Generation,
    Secrets,
    in_the_open,
    keep,
    secrets_of,
)
from ironcurtain.integrations.clients.target import (
    ClientDocument,
    ConfigLocation,
    Target,
    file_of,
    read_target,
    unified,
    write_target,
)
from ironcurtain.integrations.clients.unwrap import Undone, undone, with_servers
from ironcurtain.servers.config_model import Servers
from ironcurtain.servers.endpoint_names import CLIENT_ENTRY
from ironcurtain.servers.fetched.lock import ServerLock
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.key_store import KeyStore, key_store, reaching
from ironcurtain.system.ownership import weakness
from ironcurtain.system.structs import Struct, field, replace
from ironcurtain.system.text import quoted, visible


class ProxyCommand(Struct):
    """How a client starts the proxy.

    Attributes:
        program: Absolute program and its first arguments, up to and with `proxy`.
        options: Everything but `--servers` and the client's own file; paths are absolute.
        environment: What the client has to set, above all the search path: its own holds almost nothing.
    """

    program: tuple[str, ...]
    options: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


def wrap(  # noqa: PLR0913 - each is an option of the command, and has a default
    place: ConfigLocation,
    command: ProxyCommand,
    *,
    search_path: str,
    only: tuple[str, ...] = (),
    dry_run: bool = False,
    fetch: Fetch | None = None,
    tools: Mapping[str, Sequence[str]] | None = None,
    start: Start | None = None,
) -> ClientReport:
    """Rewrite a client's configuration so that its servers run behind the proxy.

    Each wrap says the whole: a file that is wrapped already is taken as if it were not, with the servers
    that were added to it since. If it would be written as it is, nothing is changed.

    Args:
        place: The client's file.
        command: How it will start the proxy.
        search_path: Where programs are found.
        only: The names of the servers that move; empty means all.
        dry_run: Write nothing, and report the difference.
        fetch: Fetches a server whose command would fetch it. With it, a server that would not run behind the
            proxy is an error; without, all are moved as they are.
        tools: The names of the tools that the policy knows, by server: filters of the client are about them.
        start: Starts each of the servers once, before anything is written.

    Raises:
        UsageError: If there is nothing to wrap, or the file is not of a shape that we know.
        ServerConfigError, FetchError: For each server that would not run; nothing was changed.
        FileError: If the file may not be changed.
        FormatError: If it is not of its format.
        BusyError: If somebody else is changing it.
    """
    store = BackupStore.of(file_of(place))
    with nullcontext() if dry_run else store.lock():
        target = read_target(place)
        plain = undone(target, store)
        sorted_servers = _sorted(target, plain, only, search_path)
        keys = key_store()
        settings = _settings(plain, sorted_servers, place, tools or {})
        change = _change(target, plain, sorted_servers, settings, command, store, keys)
        ready = _ready(plain, change, place, dry_run=dry_run, fetch=fetch)
        kept: list[str] = []
        if start is not None and (change.is_change or ready.is_change) and not dry_run:
            check_starts(change.carried, change.generation.servers, ready.lock, place, start)
        if change.is_change and not dry_run:
            if keys is not None and not keep(change.secrets, keys):
                keys = None
                change = _change(target, plain, sorted_servers, settings, command, store, keys)
            kept = _apply(target, plain, change, store)
        if ready.is_change and not dry_run:
            change.generation.write_lock(ready.lock)
        return ClientReport(
            client=place.client,
            file=str(place.path),
            status=_status(change, ready, dry_run=dry_run),
            moved=tuple(sorted_servers.moved),
            left=(*sorted_servers.left, *of_projects(target.document, place)),
            entry=change.entry,
            text=change.text,
            servers=str(change.generation.servers),
            kept=(str(change.generation.original), *kept),
            notes=(
                *sorted_servers.notes,
                *settings.notes,
                *ready.notes,
                *_of_secrets(change),
                *_of_others(place),
            ),
            diff=unified(target, change.document) if dry_run else "",
        )


def _status(change: _Change, ready: Ready, *, dry_run: bool) -> Literal["unchanged", "would-wrap", "wrapped"]:
    if dry_run:
        return "would-wrap" if change.is_change or ready.notes else "unchanged"
    return "wrapped" if change.is_change else "unchanged"


def _ready(
    plain: Undone, change: _Change, place: ConfigLocation, *, dry_run: bool, fetch: Fetch | None
) -> Ready:
    """Fetch what has to be, by what an earlier wrap pinned where there was one."""
    known = change.generation.read_lock()
    earlier = plain.generation.read_lock() if plain.generation is not None else known
    if fetch is None:
        return Ready(known, is_change=False)
    before = ServerLock(servers={**earlier.servers, **known.servers})
    check_runnable(change.carried, place)
    if dry_run:
        return Ready(before, is_change=False, notes=to_fetch(change.carried, before))
    return fetched(change.carried, before, known, fetch)


def _of_secrets(change: _Change) -> list[str]:
    """Say where the tokens and passwords of the servers are."""
    names = [name.split("/", 2)[2].replace("/", " ", 1) for name in change.secrets.values]
    if not names:
        return []
    what = f"{len(names)} {'secret' if len(names) == 1 else 'secrets'} ({', '.join(map(visible, names))})"
    if change.record.secrets:
        return [f"{what}: in the system's key store, and in no file of ours"]
    place = visible(str(change.generation.servers))
    why = "there is no key store here that can be used (`ironcurtain error IC1009`: the extra `keyring`)"
    return [f"{what}: in {place}, which you alone can read (0600): {why}"]


def _of_others(place: ConfigLocation) -> list[str]:
    """Say that what moves into our file, which nobody else can change, could have been written by others."""
    weak = weakness(place.path)
    return [f"another user can say what these servers are: {weak}"] if weak else []


class _Change(Struct):
    document: ClientDocument
    entry: dict[str, JsonValue]
    text: str
    generation: Generation
    record: WrapRecord
    carried: dict[str, dict[str, JsonValue]]
    original: bytes
    servers: bytes
    is_change: bool
    secrets: Secrets


def _sorted(target: Target, plain: Undone, only: tuple[str, ...], search_path: str) -> Sorted:
    servers = plain.document.entries
    if not servers:
        raise UsageError("the client has no MCP server", where=target.source)
    unknown = [name for name in only if name not in servers]
    if unknown:
        raise UsageError(
            f"there is no server {quoted(unknown[0])}",
            where=target.source,
            hint=f"There are: {', '.join(map(visible, servers))}.",
        )
    sorted_servers = sort(servers, target.place, only, search_path)
    if not sorted_servers.moved:
        reasons = "; ".join(f"{visible(left.name)}: {left.reason}" for left in sorted_servers.left)
        raise UsageError(
            "none of the client's servers can run behind the proxy", where=target.source, hint=reasons
        )
    return sorted_servers


def _settings(
    plain: Undone, found: Sorted, place: ConfigLocation, tools: Mapping[str, Sequence[str]]
) -> CarriedSettings:
    servers = {name: json_text.members(plain.document.entries[name]) for name in found.moved}
    settings = carried(servers, tools, place.owner.timeouts if place.owner is not None else {})
    key, names = plain.document.shape.dialect.handed_on, variables_named(found.moved)
    handed: dict[str, JsonValue] = {key: [*names]} if key and names else {}
    return replace(settings, members={**settings.members, **handed})


def _change(
    target: Target,
    plain: Undone,
    found: Sorted,
    settings: CarriedSettings,
    command: ProxyCommand,
    store: BackupStore,
    keys: KeyStore | None,
) -> _Change:
    before = plain.document
    servers = before.servers
    if servers is None:
        raise IronCurtainError("a file without servers cannot be wrapped")
    written = before.text[servers.start : servers.end]
    command = replace(command, environment={**handed_on(found.moved, target.place), **command.environment})
    if keys is not None and secrets_of(found.moved, "").values:
        command = replace(command, environment={**command.environment, **reaching()})
    generation = store.generation(
        written, list(found.moved), command.program, command.options, command.environment
    )
    secrets = secrets_of(found.moved, f"{store.directory.name}/{generation.directory.name}")
    hiding = secrets if keys is not None else Secrets()
    files = dict.fromkeys([target.path, Path(absolute(str(target.place.path)))])
    dialect, syntax = before.shape.dialect, before.shape.syntax
    entry = proxy_entry(command, generation.servers, tuple(files), dialect) | settings.members
    document = _rewritten(target, before, found, entry)
    record = WrapRecord(
        file=str(target.path),
        pointer=before.shape.pointer,
        moved=tuple(found.moved),
        original=json_text.digest_bytes(before.data),
        wrapped=json_text.digest_bytes(document.data),
        servers=json_text.digest_bytes(_servers(hiding.hidden(found.moved))),
        mode=target.mode,
        secrets=tuple(hiding.values),
    )
    carried = {**found.moved, **_carried(plain, found)}
    is_change = document.data != target.document.data or not generation.is_whole
    return _Change(
        document,
        entry,
        syntax.written(before.shape.pointer, CLIENT_ENTRY, entry),
        generation,
        record,
        carried,
        hiding.redacted(before.data),
        _servers(hiding.hidden(carried)),
        is_change,
        secrets,
    )


def _rewritten(
    target: Target, before: ClientDocument, found: Sorted, entry: dict[str, JsonValue]
) -> ClientDocument:
    """Return the file with the proxy in the place of the servers that move, and all else as it was.

    Raises:
        UsageError: If that cannot be done in its text.
    """
    syntax, pointer, servers = before.shape.syntax, before.shape.pointer, before.servers
    if servers is not None and all(servers.member(name) is not None for name in found.moved):
        text = syntax.collapsed(before.text, servers, found.moved, CLIENT_ENTRY, entry, pointer)
        left = {name: value for name, value in servers.fields.items() if name not in found.moved}
        expected = with_servers(before, {**left, CLIENT_ENTRY: entry})
        with suppress(FormatError):
            document = before.changed(text, target.source)
            if document.root.value == expected:
                return document
    raise UsageError(
        f"the servers are written in a way in which their lines cannot be replaced in {syntax.name}",
        where=target.source,
        hint="Write each of them on lines of its own, as the client itself does; or put them into an "
        "mcp-servers.json, and this in their place, with its path behind --servers: "
        + syntax.on_one_line(pointer, CLIENT_ENTRY, entry),
    )


def _apply(target: Target, plain: Undone, change: _Change, store: BackupStore) -> list[str]:
    """Write our own files, then the client's, then remove what nothing needs any more."""
    kept = [str(store.keep(target.document.data))] if plain.edited else []
    if not change.generation.is_whole:
        change.generation.write(change.record, change.original, change.document.data, change.servers)
    write_target(target, change.document)
    return [*kept, *map(str, store.forget(but=change.generation))]


def proxy_entry(
    command: ProxyCommand, servers: Path, own: tuple[Path, ...] = (), dialect: Dialect = STANDARD
) -> dict[str, JsonValue]:
    """Return the client's server that is the proxy, as the client writes it.

    Args:
        command: How the client starts it.
        servers: The `mcp-servers.json` that it reads.
        own: The files that the entry stands in: no tool may touch them.
        dialect: How the client writes a server.
    """
    program, *first = command.program
    protected = [word for path in own for word in ("--protected", str(path))]
    arguments: list[JsonValue] = [*first, *command.options, "--servers", str(servers), *protected]
    entry: dict[str, JsonValue] = {"command": program, "args": arguments}
    if command.environment:
        entry["env"] = {**command.environment}
    return dialect.write(entry, CLIENT_ENTRY)


def _carried(plain: Undone, found: Sorted) -> dict[str, dict[str, JsonValue]]:
    """Return the servers that moved earlier, with what people have edited in the proxy's file since."""
    generation = plain.generation
    if generation is None or not generation.servers.exists() or not generation.has_edited_servers():
        return {}
    current = load(generation.servers, Servers).model_dump(by_alias=True, exclude_unset=True, mode="json")
    moved = {name: server for name, server in current["mcpServers"].items() if name in found.moved}
    return in_the_open(moved)


def _servers(servers: dict[str, dict[str, JsonValue]]) -> bytes:
    return (json.dumps({"mcpServers": servers}, indent=2, ensure_ascii=False) + "\n").encode()
