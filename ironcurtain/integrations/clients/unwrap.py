"""Give a client its servers back."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from ironcurtain.errors import UsageError
from ironcurtain.integrations.clients.places import ConfigLocation
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.restore_plan import Undone, undone
from ironcurtain.integrations.clients.store import BackupStore, Generation
from ironcurtain.integrations.clients.target import Target, file_of, read_target, unified, write_target
from ironcurtain.system.files import atomic_write, read_bytes


def unwrap(place: ConfigLocation, *, dry_run: bool = False) -> ClientReport:
    """Undo a wrap: byte for byte, or with what others changed in the file since.

    Args:
        place: The client's file.
        dry_run: Write nothing, and report the difference.

    Raises:
        UsageError: If the file was changed so that it cannot be told what it should be; it stays as it is.
        FileError: If the file may not be changed, or its backup is gone or damaged.
        FormatError: If it is no JSON with comments.
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
