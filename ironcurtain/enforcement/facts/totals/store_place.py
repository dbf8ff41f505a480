"""Where totals of callers are kept, as the command line says it: a file, or a server for several machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ironcurtain.errors import UsageError
from ironcurtain.settings import state_directory
from ironcurtain.system import extras
from ironcurtain.system.structs import SecretStruct
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.enforcement.facts.totals.redis_store import RedisStore
    from ironcurtain.enforcement.facts.totals.store import TotalsStore

_OVER_NETWORK = ("redis", "rediss")
_OPTION = "--state"
_FORMS = "Write a path, redis://HOST:PORT/NUMBER, rediss:// for TLS, or unix:///PATH."


class StorePlace(SecretStruct):
    """A place for totals.

    Attributes:
        name: What it is called in messages: a path, or an address without user and password.
        file: The SQLite file; None where a server keeps them.
    """

    secret_fields = frozenset({"_url"})

    name: str
    file: Path | None
    _url: str = ""

    @classmethod
    def parse(cls, text: str | None) -> StorePlace:
        """Read what the command line says; None is a file of the user's own.

        Raises:
            UsageError: If it is no place. The message has no password.
            ExtraMissingError: If a server is named, and the extra `redis` is not installed.
        """
        if text is None or "://" not in text:
            file = Path(text).absolute() if text else state_directory() / "totals.sqlite"
            return cls(str(file), file)
        name = _name(text)
        extras.need("redis")
        return cls(name, None, text)

    @property
    def files(self) -> tuple[Path, ...]:
        """What SQLite writes: no tool may touch it."""
        if self.file is None:
            return ()
        return tuple(
            self.file.with_name(f"{self.file.name}{end}") for end in ("", "-wal", "-shm", "-journal")
        )

    def server(self) -> RedisStore | None:
        """Return the server; None where totals are in a file."""
        if self.file is not None:
            return None
        from ironcurtain.enforcement.facts.totals.redis_store import RedisStore  # noqa: PLC0415 - the extra

        return RedisStore(self._url, self.name)

    def open(self, key: bytes) -> TotalsStore:
        """Return the store.

        Args:
            key: The key of the user's audit logs; with it totals in a file are known by their codes.
        """
        from ironcurtain.enforcement.facts.totals.sqlite_store import (  # noqa: PLC0415 - servers start first
            SqliteStore,
        )

        return self.server() or SqliteStore(self.file or Path(), key)


def _name(url: str) -> str:
    """Return an address without what is secret in it.

    Raises:
        UsageError: If it is none that is known.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("the store's address is no URL", where=_OPTION, hint=_FORMS) from None
    if parts.query or parts.fragment or not _is_known(parts):
        raise UsageError("the store's address is none that is known", where=_OPTION, hint=_FORMS)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return visible(f"{parts.scheme}://{host}{f':{port}' if port is not None else ''}{parts.path}")


def _is_known(parts: SplitResult) -> bool:
    number = parts.path.removeprefix("/")
    if parts.scheme == "unix":
        return not parts.hostname and bool(number)
    return parts.scheme in _OVER_NETWORK and bool(parts.hostname) and (not number or number.isdecimal())
