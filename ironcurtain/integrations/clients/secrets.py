"""Tokens and passwords of servers that move behind the proxy: out of our files, into the system's key store.

What counts is a value of `env` or `headers` whose name says what it is. Our files then hold its name in the
store; the backup, too, which is put together again byte for byte.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count

from ironcurtain.errors import FileError
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.key_store import KeyStore, KeyStoreError, filled, key_store, reference

_NAMES = re.compile(
    r"token|secret|passw|passphrase|credential|api_?-?key|access_?key|private_?key|authorization|cookie"
    r"|(?:^|[_-])(?:key|pat|pwd|auth|dsn)$",
    re.IGNORECASE,
)
_KEYS = ("env", "headers")
_SHORTEST = 8
"""A shorter value is a word such as `none`, and would be found all over a file."""

_PLACE = re.compile(rb"\$\{keyring:([A-Za-z0-9._/-]+)#(\d)\}")


@dataclass(frozen=True)
class Secrets:
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
        found = re.compile(b"|".join(map(re.escape, sorted(marks, key=len, reverse=True))))
        return found.sub(lambda match: marks[match[0]], original)


def secrets_of(servers: Mapping[str, dict[str, JsonValue]], prefix: str) -> Secrets:
    """Find the secrets of servers; each gets a name below a prefix, and equal ones share it."""
    names: dict[str, str] = {}
    for server, entry in servers.items():
        for key in _KEYS:
            values = entry.get(key)
            for name, value in values.items() if isinstance(values, dict) else ():
                if isinstance(value, str) and len(value) >= _SHORTEST and _NAMES.search(name):
                    names.setdefault(value, _free(f"{prefix}/{server}", name, names.values()))
    return Secrets({name: value for value, name in names.items()})


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
            hint="Install `ironcurtain[keyring]`, and run this in your own session.",
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
