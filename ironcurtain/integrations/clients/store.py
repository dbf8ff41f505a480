"""What we keep of each wrapped file, below the user's own directory: private, and out of every tool's reach.

    clients/NAME-DIGEST/GENERATION/original          the file before, but for secrets in the key store
                                   wrapped           the file after
                                   mcp-servers.json  what the proxy reads
                                   mcp-servers.lock.json  what was fetched of it, if something was
                                   record.json       written last: without it there is no generation

A generation is named by the servers that moved and by how the proxy is started; the client's entry names it.
So whichever state a crash leaves the client's file in, what belongs to that state is there.

Tokens and passwords of the servers that move go into the system's key store: the values of `env` and
`headers` whose names say so. Our files hold their names there; the backup, too, which is put together again
byte for byte.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, count, pairwise
from pathlib import Path

from ironcurtain.errors import BusyError, FileError, IronCurtainError
from ironcurtain.integrations.clients.report import WrapRecord
from ironcurtain.servers.fetched.lock import ServerLock, read_lock, write_lock
from ironcurtain.servers.variables import VARIABLE
from ironcurtain.settings import clients_directory
from ironcurtain.system import json_text
from ironcurtain.system.extras import how_to_install
from ironcurtain.system.files import atomic_write, load, read_bytes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.key_store import KeyStore, KeyStoreError, filled, key_store, reference
from ironcurtain.system.locks import work_lock
from ironcurtain.system.secret_forms.hiding import is_named_by, without_secrets
from ironcurtain.system.secret_forms.names import is_secret_setting
from ironcurtain.system.structs import Struct, field

_PRIVATE_FILE, _PRIVATE_DIRECTORY = 0o600, 0o700
_WAIT = 30.0
_MAX_BYTES = 32 << 20


class Generation(Struct):
    """The directory of one wrap; it need not be there."""

    directory: Path

    @property
    def servers(self) -> Path:
        """The `mcp-servers.json` that the proxy reads; people may edit it."""
        return self.directory / "mcp-servers.json"

    @property
    def original(self) -> Path:
        """The backup."""
        return self.directory / "original"

    @property
    def is_whole(self) -> bool:
        """Whether everything of it was written."""
        return (self.directory / "record.json").is_file()

    def record(self) -> WrapRecord:
        """Read what belongs to the wrap.

        Raises:
            IronCurtainError: If it is not there or not ours.
        """
        return load(self.directory / "record.json", WrapRecord)

    def read_original(self) -> bytes:
        """Read the backup.

        Raises:
            FileError: If it is not there, or not as it was written.
        """
        record = self.record()
        kept = read_bytes(self.original, max_bytes=_MAX_BYTES)
        data = restored(kept, record.secrets, str(self.original))
        return self._as_written(self.original, data, record.original)

    def read_wrapped(self) -> bytes:
        """Read the file as it was after the wrap.

        Raises:
            FileError: If it is not there, or not as it was written.
        """
        path = self.directory / "wrapped"
        return self._as_written(path, read_bytes(path, max_bytes=_MAX_BYTES), self.record().wrapped)

    def has_edited_servers(self) -> bool:
        """Tell whether somebody edited the proxy's servers since they were written."""
        return not self.servers.exists() or _digest(self.servers) != self.record().servers

    def read_lock(self) -> ServerLock:
        """Read what was fetched of the servers; nothing where that cannot be read, and is fetched anew."""
        try:
            return read_lock(self.servers)
        except IronCurtainError:
            return ServerLock()

    def write_lock(self, lock: ServerLock) -> None:
        """Write what was fetched of the servers.

        Raises:
            PublishError: If it cannot be written.
        """
        write_lock(self.servers, lock, mode=_PRIVATE_FILE)

    def write(self, record: WrapRecord, original: bytes, wrapped: bytes, servers: bytes) -> None:
        """Write everything but the lock; the record, which makes it whole, last."""
        _make_private(self.directory)
        (self.directory / "record.json").unlink(missing_ok=True)
        contents = {"original": original, "wrapped": wrapped, "mcp-servers.json": servers}
        for name, data in contents.items():
            atomic_write(self.directory / name, data, mode=_PRIVATE_FILE)
        text = json_text.pretty(record.model_dump(mode="json"))
        atomic_write(self.directory / "record.json", text.encode(), mode=_PRIVATE_FILE)

    @staticmethod
    def _as_written(path: Path, data: bytes, digest: str) -> bytes:
        if json_text.digest_bytes(data) != digest:
            raise FileError("the backup is not as it was written", where=str(path))
        return data


class BackupStore(Struct):
    """What is kept of one client's file."""

    directory: Path

    @classmethod
    def of(cls, path: Path) -> BackupStore:
        """Return the store of a file, by its real path."""
        name = re.sub(r"[^A-Za-z0-9]+", "-", path.name).strip("-")[:40]
        digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return cls(clients_directory().absolute() / f"{name}-{digest}")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold off every other wrap and unwrap of the same file.

        Raises:
            BusyError: If another one does not end.
        """
        _make_private(self.directory.parent)
        busy = BusyError(
            "another process wraps or unwraps this file",
            where=str(self.directory),
            hint="Wait until it is done.",
        )
        with work_lock(self.directory.with_suffix(".lock"), seconds=_WAIT, busy=busy):
            yield

    def generation(self, *parts: JsonSource) -> Generation:
        """Return the generation of what moves and of how the proxy is started."""
        name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
        return Generation(self.directory / name)

    def named_by(self, entry: JsonValue) -> Generation | None:
        """Return the generation that a client's entry, as we write one, names; None if it is not ours."""
        arguments = entry.get("args") if isinstance(entry, dict) else None
        for text in arguments if isinstance(arguments, list) else ():
            if isinstance(text, str) and Path(text).parent.parent == self.directory:
                return Generation(Path(text).parent)
        return None

    def generations(self) -> list[Generation]:
        """Return every whole generation, the last written first."""
        generations = [
            Generation(path) for path in self.directory.glob("*") if (path / "record.json").is_file()
        ]
        return sorted(generations, key=lambda each: each.original.stat().st_mtime_ns, reverse=True)

    def keep(self, data: bytes) -> Path:
        """Keep what somebody edited and what would be lost; return where."""
        _make_private(self.directory)
        path = self.directory / f"edited-{hashlib.sha256(data).hexdigest()[:12]}.json"
        atomic_write(path, data, mode=_PRIVATE_FILE)
        return path

    def forget(self, *, but: Generation | None = None) -> list[Path]:
        """Remove all generations but one; return copies of those servers' files that people edited."""
        kept = []
        for generation in map(Generation, filter(Path.is_dir, self.directory.glob("*"))):
            if but is not None and generation.directory == but.directory:
                continue
            if generation.is_whole and generation.servers.exists() and generation.has_edited_servers():
                kept.append(self.keep(read_bytes(generation.servers, max_bytes=_MAX_BYTES)))
            if generation.is_whole:
                remove(generation.record().secrets)
            (generation.directory / "record.json").unlink(missing_ok=True)
            shutil.rmtree(generation.directory)
        if self.directory.exists() and not any(self.directory.iterdir()):
            self.directory.rmdir()
        return kept


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    directory.chmod(_PRIVATE_DIRECTORY)


def _digest(path: Path) -> str:
    return json_text.digest_bytes(read_bytes(path, max_bytes=_MAX_BYTES))


_KEYS = ("env", "headers")
_SHORTEST = 8
"""A shorter value is a word such as `none`, and would be found all over a file."""

_PLACE = re.compile(rb"\$\{keyring:([A-Za-z0-9._/-]+)#(\d)\}")


class Secrets(Struct):
    """The secrets of one wrap.

    Attributes:
        values: Each value by its name in the key store.
    """

    values: Mapping[str, str] = field(default_factory=dict)

    def hidden(self, servers: Mapping[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
        """Return servers that name the secrets in the place of their values."""
        names = {value: reference(name) for name, value in self.values.items()}
        return {server: _replaced(entry, names) for server, entry in servers.items()}

    def redacted(self, original: bytes) -> bytes:
        """Return a file with a mark in the place of each secret, however it is written."""
        marks = {
            form: f"${{keyring:{name}#{number}}}".encode()
            for name, value in self.values.items()
            for number, form in enumerate(_forms(value))
        }
        if not marks:
            return original
        pattern = re.compile(b"|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
        return pattern.sub(lambda match: marks[match[0]], original)


def secrets_of(servers: Mapping[str, dict[str, JsonValue]], prefix: str) -> Secrets:
    """Find the secrets of servers; each gets a name below a prefix, and equal ones share it."""
    names: dict[str, str] = {}
    for server, entry in servers.items():
        for key in _KEYS:
            values = entry.get(key)
            for name, value in values.items() if isinstance(values, dict) else ():
                if isinstance(value, str) and _is_secret(name, value):
                    names.setdefault(value, _free(f"{prefix}/{server}", name, names.values()))
    return Secrets({name: value for value, name in names.items()})


def _is_secret(name: str, value: str) -> bool:
    """Tell whether a variable or a header is a secret; a text with variables in it only names one."""
    return len(value) >= _SHORTEST and is_secret_setting(name) and not VARIABLE.search(value)


def without_secrets_of(text: str, servers: Mapping[str, JsonValue]) -> str:
    """Return the text of a client's file that may be shown, of which these are the servers."""
    entries = {name: entry for name, entry in servers.items() if isinstance(entry, dict)}
    values = {*secrets_of(entries, "").values.values(), *chain.from_iterable(map(_flagged, entries.values()))}
    forms = sorted({form.decode() for value in values for form in _forms(value)}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, forms)) or r"\b\B")
    return without_secrets(pattern.sub("[redacted]", text))


def _flagged(entry: dict[str, JsonValue]) -> Iterator[str]:
    """Yield the words of a server's command line that flags before them name secrets."""
    words = entry.get("args")
    for flag, word in pairwise(words if isinstance(words, list) else ()):
        if (
            isinstance(flag, str)
            and isinstance(word, str)
            and len(word) >= _SHORTEST
            and is_named_by(flag, word)
        ):
            yield word


def _free(place: str, name: str, used: Collection[str]) -> str:
    """Return a name in the key store that no other secret has: two variables can be spelled alike there."""
    plain = f"{place}/{re.sub(r'[^A-Za-z0-9._-]', '-', name)}"
    names = chain([plain], (f"{plain}-{number}" for number in count(2)))
    return next(each for each in names if each not in used)


def keep(secrets: Secrets, store: KeyStore) -> bool:
    """Put secrets into the key store; tell whether all of them are there and can be read again.

    If they are not, none is left there: no record would name it, and nobody would remove it.
    """
    try:
        for name, value in secrets.values.items():
            store.put(name, value)
        if all(store.get(name) == value for name, value in secrets.values.items()):
            return True
    except KeyStoreError:
        pass
    _removed(secrets.values, store)
    return False


def remove(names: Iterable[str]) -> None:
    """Remove secrets from the key store, as far as it lets us."""
    wanted = list(names)
    store = key_store() if wanted else None
    if store is not None:
        _removed(wanted, store)


def _removed(names: Iterable[str], store: KeyStore) -> None:
    for name in names:
        with contextlib.suppress(KeyStoreError):
            store.remove(name)


def restored(redacted: bytes, names: Iterable[str], where: str) -> bytes:
    """Return a file as it was before `redacted`.

    Raises:
        FileError: If the key store cannot be read, or has them no more.
    """
    known = set(names)
    if not known:
        return redacted
    store = key_store()
    if store is None:
        raise FileError(
            "the secrets of the backup are in the system's key store, which cannot be used",
            where=where,
            hint=f"{how_to_install('keyring')}; and run this in your own session.",
        )
    try:
        values = {name: store.get(name) for name in known}
    except KeyStoreError as error:
        raise FileError(f"the secrets of the backup cannot be read: {error}", where=where) from error

    def put_back(match: re.Match[bytes]) -> bytes:
        value = values.get(match[1].decode())
        return match[0] if value is None else _forms(value)[int(match[2])]

    return _PLACE.sub(put_back, redacted)


def in_the_open(servers: Mapping[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
    """Return servers with the values of the secrets that they name.

    Raises:
        ServerConfigError: If one cannot be read.
    """
    return {server: _changed(entry, partial(filled, where=server)) for server, entry in servers.items()}


def _replaced(entry: dict[str, JsonValue], names: Mapping[str, str]) -> dict[str, JsonValue]:
    return _changed(entry, lambda texts: {name: names.get(text, text) for name, text in texts.items()})


def _changed(
    entry: dict[str, JsonValue], change: Callable[[dict[str, str]], dict[str, str]]
) -> dict[str, JsonValue]:
    """Return a server with its environment and its headers changed, as far as they are texts."""
    changed = dict(entry)
    for key in _KEYS:
        values = entry.get(key)
        if isinstance(values, dict):
            texts = {name: text for name, text in values.items() if isinstance(text, str)}
            changed[key] = {**values, **change(texts)}
    return changed


def _forms(value: str) -> list[bytes]:
    """Return the ways in which JSON writes a text: plain, in ASCII, with escaped slashes."""
    plain, ascii_ = json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]
    return [text.encode() for text in (plain, ascii_, plain.replace("/", "\\/"), ascii_.replace("/", "\\/"))]
