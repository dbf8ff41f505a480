"""The system's key store (Secret Service, Keychain), through the library `keyring`, where there is one.

What is kept there is named in configurations as `${keyring:NAME}` and read when a server starts. Stores that
only write files are not taken: a file that we write ourselves is no worse, and is said to be one.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ironcurtain.errors import ServerConfigError
from ironcurtain.system.text import quoted

T = TypeVar("T")

_SERVICE = "ironcurtain"
_REFERENCE = re.compile(r"\$\{keyring:([A-Za-z0-9._/-]+)\}")
_SYSTEM = ("keyring.backends.SecretService", "keyring.backends.macOS", "keyring.backends.kwallet")
_SECONDS = 20.0
"""How long a store may take: a locked one asks a person, who may not be there."""

_BUS = "DBUS_SESSION_BUS_ADDRESS"


class KeyStoreError(Exception):
    """The key store did not do what it was asked."""


class KeyStore:
    """A key store of the system that can be used."""

    def __init__(self, backend: ModuleType) -> None:
        self._backend = backend

    def put(self, name: str, value: str) -> None:
        """Keep a secret under a name, in the place of what was kept there.

        Raises:
            KeyStoreError: If it cannot be kept.
        """
        _in_time(lambda: self._backend.set_password(_SERVICE, name, value))

    def get(self, name: str) -> str | None:
        """Return what is kept under a name; None if that is nothing.

        Raises:
            KeyStoreError: If the store cannot be read.
        """
        found: str | None = _in_time(lambda: self._backend.get_password(_SERVICE, name))
        return found

    def remove(self, name: str) -> None:
        """Remove what is kept under a name, if something is.

        Raises:
            KeyStoreError: If it is there and cannot be removed.
        """
        if self.get(name) is not None:
            _in_time(lambda: self._backend.delete_password(_SERVICE, name))


def key_store() -> KeyStore | None:
    """Return the system's key store; None where there is none, or the library is not installed."""
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return None
    if _BUS not in os.environ and (usual := Path(f"/run/user/{os.getuid()}/bus")).is_socket():
        os.environ[_BUS] = f"unix:path={usual}"  # desktop clients start servers with almost no environment
    backend = keyring.get_keyring()
    found = getattr(backend, "backends", None) or [backend]
    usable = next((candidate for candidate in found if type(candidate).__module__ in _SYSTEM), None)
    return KeyStore(usable) if usable is not None else None


def reaching() -> dict[str, str]:
    """Return what has to stand in the environment of a process that reaches the key store."""
    return {_BUS: os.environ[_BUS]} if _BUS in os.environ else {}


def reference(name: str) -> str:
    """Return how a configuration names a secret."""
    return f"${{keyring:{name}}}"


def names_secret(text: str) -> bool:
    """Tell whether a text names a secret: whoever may write that could have another one's read."""
    return _REFERENCE.search(text) is not None


def filled(
    values: Mapping[str, str], where: str, others: Callable[[str], str] = lambda text: text
) -> dict[str, str]:
    """Return environment variables or headers with the secrets that they name.

    Args:
        values: The texts, by name.
        where: What the error names.
        others: Is given the text between the secrets; returns what stands in its place.

    Raises:
        ServerConfigError: If a secret is not there, or the key store cannot be read.
    """

    def whole(text: str) -> str:
        pieces = _REFERENCE.split(text)  # every second one is a secret's name
        return "".join(_read(each, where) if at % 2 else others(each) for at, each in enumerate(pieces))

    return {key: whole(text) for key, text in values.items()}


def _read(name: str, where: str) -> str:
    store = key_store()
    why = "there is no key store that can be used"
    try:
        value = store.get(name) if store is not None else None
        why = "the key store does not have it" if store is not None else why
    except KeyStoreError as error:
        value, why = None, str(error)
    if value is None:
        raise ServerConfigError(
            f"the secret {quoted(name)} cannot be read: {why}",
            where=where,
            hint="Unlock the key store; `ironcurtain error IC1009` installs the extra `keyring`, where that "
            "is missing; or write the value into the file itself.",
        )
    return value


def _in_time(act: Callable[[], T]) -> T:
    """Do something with the store; one that waits for a person who is not there is given up."""
    done: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            done.append(act())
        except Exception as error:  # noqa: BLE001 - backends raise errors of their own kinds
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if failed:
        raise KeyStoreError(f"the key store failed ({type(failed[0]).__name__})") from failed[0]
    if not done:
        raise KeyStoreError(f"the key store did not answer within {_SECONDS:.0f} seconds; it may be locked")
    return done[0]
