"""Give a client its servers back.

From a wrapped file back to the one that it was, with whatever others changed in it meanwhile.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from ironcurtain.errors import FileError, IronCurtainError, UsageError
from ironcurtain.integrations.clients.edit import JSON, JsonNode, replaced
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.store import BackupStore, Generation
from ironcurtain.integrations.clients.target import (
    ClientDocument,
    ConfigLocation,
    Target,
    file_of,
    read_document,
    read_target,
    unified,
    write_target,
)
from ironcurtain.servers.endpoint_names import CLIENT_ENTRY
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted


def unwrap(place: ConfigLocation, *, dry_run: bool = False) -> ClientReport:
    """Undo a wrap: byte for byte, or with what others changed in the file since.

    Raises:
        UsageError: If the file was changed so that it cannot be told what it should be; it stays as it is.
        FileError: If the file may not be changed, or its backup is gone or damaged.
        FormatError: If it is not of its format.
        BusyError: If somebody else is changing it.
    """
    store = BackupStore.of(file_of(place))
    with nullcontext() if dry_run else store.lock():
        target = read_target(place)
        plain = undone(target, store)
        if plain.generation is None:
            return _not_wrapped(target, store, dry_run=dry_run)
        kept = [] if dry_run else _apply(target, plain, store)
        return ClientReport(
            client=place.client,
            file=str(place.path),
            status="would-unwrap" if dry_run else "unwrapped",
            moved=plain.moved,
            kept=tuple(kept),
            diff=unified(target, plain.document) if dry_run else "",
        )


def restore(place: ConfigLocation) -> ClientReport:
    """Put the last backup back, whatever the file holds now; that is kept beside the backup's place.

    Raises:
        UsageError: If there is no backup of the file.
        FileError: If the backup is damaged.
    """
    path = file_of(place)
    store = BackupStore.of(path)
    with store.lock():
        generations = store.generations()
        if not generations:
            raise UsageError("there is no backup of this file", where=str(place.path))
        generation = generations[0]
        data, record = generation.read_original(), generation.record()
        present = read_bytes(path) if path.exists() else None
        kept = [] if present in {None, generation.read_wrapped(), data} else [store.keep(present or b"")]
        facts = path.stat() if present is not None else None
        owner = (facts.st_uid, facts.st_gid) if facts is not None else None
        atomic_write(path, data, mode=record.mode, owner=owner)
        kept += store.forget()
        return ClientReport(
            client=place.client,
            file=str(place.path),
            status="unwrapped",
            moved=record.moved,
            kept=tuple(map(str, kept)),
        )


def is_wrapped(place: ConfigLocation) -> bool:
    """Tell whether a file is wrapped, or there is a backup of it."""
    return bool(BackupStore.of(file_of(place)).generations())


def _apply(target: Target, plain: Undone, store: BackupStore) -> list[str]:
    kept = [str(store.keep(target.document.data))] if plain.edited else []
    write_target(target, plain.document)
    return [*kept, *map(str, store.forget())]


def _not_wrapped(target: Target, store: BackupStore, *, dry_run: bool) -> ClientReport:
    """Say that there is nothing to undo, unless somebody took our entry out by hand."""
    generations = store.generations()
    if generations and not _is_one_of(target.document.data, generations):
        raise UsageError(
            'the server "ironcurtain" has been taken out of the file by hand',
            where=target.source,
            hint=f"The file as it was is kept in {_original(generations)}; `ironcurtain unwrap "
            "--discard-edits` puts it back.",
        )
    kept = [] if dry_run else store.forget()
    return ClientReport(
        client=target.place.client,
        file=str(target.place.path),
        status="unchanged",
        kept=tuple(map(str, kept)),
        notes=("it is not wrapped",),
    )


def _is_one_of(data: bytes, generations: list[Generation]) -> bool:
    return any(data == generation.read_original() for generation in generations)


def _original(generations: list[Generation]) -> Path:
    return generations[0].original


class Undone(Struct):
    """A file without the proxy.

    Attributes:
        document: What it holds then.
        generation: The wrap that was undone; None if the file is not wrapped.
        moved: The servers that came back.
        edited: Whether something that somebody wrote is not in `document`: a change of our entry, or of
            the servers around it, which went back as they were.
    """

    document: ClientDocument
    generation: Generation | None = None
    moved: tuple[str, ...] = ()
    edited: bool = False


def undone(target: Target, store: BackupStore) -> Undone:
    """Say what a file would hold without the proxy; nothing is written.

    A file that is as `wrap` left it gives the backup, byte for byte. In any other the servers alone are put
    back and everything else stays as it is now.

    Raises:
        UsageError: If its server `ironcurtain` is not of our making, or a moved server stands there again.
        FileError: If the backup is gone or damaged.
    """
    now = target.document
    if now.servers is None or CLIENT_ENTRY not in now.servers.fields:
        return Undone(now)
    generation = store.named_by(now.entries[CLIENT_ENTRY])
    if generation is None:
        hint = "Rename it, or remove it from the file; then try again."
        what = f"the file has a server {quoted(CLIENT_ENTRY)} that `ironcurtain wrap` did not write"
        raise UsageError(what, where=target.source, hint=hint)
    if not generation.is_whole:
        hint = "Remove the entry by hand and configure the servers anew."
        raise FileError("the backup of this file is gone", where=str(generation.original), hint=hint)
    record, original = generation.record(), generation.read_original()
    wrapped = generation.read_wrapped()
    before = read_document(original, str(generation.original), (now.shape,))
    if wrapped == now.data:
        return Undone(before, generation, record.moved)
    after = read_document(wrapped, str(generation.directory), (now.shape,))
    entry = _servers(after).fields[CLIENT_ENTRY]
    if now.shape.syntax is JSON and _text(now) == _text(after):
        text = replaced(now.text, now.servers, _text(before))
        return Undone(_checked(target, text, before, record.moved), generation, record.moved)
    text = _put_back(target, now.servers, before, record.moved)
    document = _checked(target, text, before, record.moved)
    return Undone(document, generation, record.moved, edited=now.servers.fields[CLIENT_ENTRY] != entry)


def with_servers(document: ClientDocument, servers: dict[str, JsonValue]) -> JsonValue:
    """Return a document's value with other servers in it."""
    pointer = document.shape.pointer
    for key in reversed(range(len(pointer))):
        holder = document.root.fields
        for step in pointer[:key]:
            holder = json_text.members(holder[step])
        servers = {**holder, pointer[key]: servers}
    return servers


def _put_back(target: Target, servers: JsonNode, before: ClientDocument, moved: tuple[str, ...]) -> str:
    again = [name for name in moved if name in servers.fields]
    if again:
        raise UsageError(
            f"servers that run behind the proxy stand in the file again: {', '.join(again)}",
            where=target.source,
            hint="Remove or rename them, or put the backup back with `ironcurtain unwrap --discard-edits`.",
        )
    source = _servers(before)
    members = [member for member in source.members if member.name in moved]
    expanded = target.document.shape.syntax.expanded
    return expanded(target.document.text, servers, CLIENT_ENTRY, before.text, members)


def _checked(target: Target, text: str, before: ClientDocument, moved: tuple[str, ...]) -> ClientDocument:
    """Read back what would be written: what moved and what stands there now, nothing else."""
    now = target.document
    document = now.changed(text, target.source)
    kept = {name: value for name, value in _servers(now).fields.items() if name != CLIENT_ENTRY}
    back = {name: _servers(before).fields[name] for name in moved}
    if document.root.value != with_servers(now, {**kept, **back}):
        raise IronCurtainError("the file would not hold what it should; nothing was changed")
    return document


def _servers(document: ClientDocument) -> JsonNode:
    if document.servers is None:
        raise FileError("the backup holds no servers")
    return document.servers


def _text(document: ClientDocument) -> str:
    servers = _servers(document)
    return document.text[servers.start : servers.end]
