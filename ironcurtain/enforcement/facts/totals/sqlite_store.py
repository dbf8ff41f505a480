"""Totals in a SQLite file of the user's own, shared by all gateways of that user on one machine.

Each total stands beside a code over it under the key of the user's audit logs: a total that somebody else
wrote is no total. A whole earlier copy of the file is found by who remembers more (`memory.SessionMemory`).
"""

from __future__ import annotations

import contextlib
import hmac
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, read_total, total_text
from ironcurtain.enforcement.facts.totals.store import KEPT_SECONDS, StoreError, TotalKey, TotalsStore
from ironcurtain.system import json_text
from ironcurtain.system.ownership import others_have_access, weakness_above

_PATIENCE = 5.0
_TABLE = """
CREATE TABLE IF NOT EXISTS totals (
  caller TEXT NOT NULL, counter TEXT NOT NULL, window TEXT NOT NULL,
  total TEXT NOT NULL, code TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (caller, counter, window)
) WITHOUT ROWID
"""
_INDEX = "CREATE INDEX IF NOT EXISTS totals_at ON totals (at)"
_ZERO = Decimal(0)


class SqliteStore(TotalsStore):
    """The totals in one file, which is made where it is missing.

    Args:
        file: The file; its directory is made, private to the user.
        key: The key of the codes.
        patience: Seconds to wait for a file that another process has locked.
    """

    def __init__(self, file: Path, key: bytes, patience: float = _PATIENCE) -> None:
        self._file, self._patience = file, patience
        self._key = hmac.digest(key, b"totals of counters", "sha256")
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._kept: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None

    def totals(self, keys: Collection[TotalKey]) -> dict[TotalKey, Decimal]:
        """Return totals; 0 for one that nothing was booked on."""
        with _faults():
            self._keep()
            # What a connection has read before it may not read again: a damaged file is seen by a new one.
            with contextlib.closing(self._connect()) as database:
                return self._read(database, keys)

    def book(self, seen: Mapping[TotalKey, Decimal], added: Mapping[TotalKey, Decimal]) -> bool:
        """Add amounts to totals that are still what was seen, in one transaction."""
        with _faults(), self._writing:
            database = self._keep()
            try:
                return self._booked(database, seen, added)
            except BaseException:
                self._give_up(database)
                raise

    def _booked(
        self,
        database: sqlite3.Connection,
        seen: Mapping[TotalKey, Decimal],
        added: Mapping[TotalKey, Decimal],
    ) -> bool:
        database.execute("BEGIN IMMEDIATE")
        there = self._read(database, seen)
        if there != dict(seen):
            database.execute("ROLLBACK")
            return False
        for key, amount in added.items():
            self._write(database, key, add(there[key], amount))
        database.execute("DELETE FROM totals WHERE at < ?", (time.time() - KEPT_SECONDS,))
        database.execute("COMMIT")
        return True

    def _give_up(self, database: sqlite3.Connection) -> None:
        """Close the connection of a booking that failed: the next one gets its own."""
        with self._lock:
            if self._kept is database:
                self._kept, self._place = None, None
        database.close()

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(
            self._file, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            database.execute("PRAGMA journal_mode = WAL")
            # A booking is on the disk before its call is sent.
            database.execute("PRAGMA synchronous = FULL")
            database.execute(_TABLE)
            database.execute(_INDEX)
        except BaseException:
            database.close()
            raise
        return database

    def _keep(self) -> sqlite3.Connection:
        """See that the file is ours, and return the connection that is kept to it for bookings.

        A new connection for each would cost several times the booking, and the last one to close rewrites the
        file. No connection is made before the file is there, and the file is not opened otherwise afterwards:
        to close it would give up the locks of every connection.
        """
        with self._lock:
            if not os.path.lexists(self._file):
                self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with contextlib.suppress(FileExistsError):  # another gateway was quicker
                    os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            found = self._file.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or others_have_access(found):
                raise StoreError("others can use the store of totals")
            place = (found.st_dev, found.st_ino)
            if self._kept is None or place != self._place:
                if weakness_above(self._file) is not None:
                    raise StoreError("others can put another store of totals in its place")
                # The old one may be in use, and is closed when it is not.
                self._kept, self._place = self._connect(), place
            return self._kept

    def _read(self, database: sqlite3.Connection, keys: Collection[TotalKey]) -> dict[TotalKey, Decimal]:
        return {key: self._total(database, key) for key in keys}

    def _total(self, database: sqlite3.Connection, key: TotalKey) -> Decimal:
        row = database.execute(
            "SELECT total, code FROM totals WHERE caller = ? AND counter = ? AND window = ?",
            (key.caller, key.counter, key.window),
        ).fetchone()
        if row is None:
            return _ZERO
        total, code = map(str, row)
        if not hmac.compare_digest(code.encode(), self._code(key, total).encode()):
            raise StoreError("a total in the store is not what was written")
        return read_total(total)

    def _write(self, database: sqlite3.Connection, key: TotalKey, total: Decimal) -> None:
        text = total_text(total)
        database.execute(
            "INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?, ?, ?)",
            (key.caller, key.counter, key.window, text, self._code(key, text), time.time()),
        )

    def _code(self, key: TotalKey, total: str) -> str:
        told = json_text.canonical([key.caller, key.counter, key.window, total])
        return hmac.digest(self._key, told, "sha256").hex()


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    """Tell whatever is wrong with the file as a `StoreError`."""
    try:
        yield
    except AmountError as error:
        raise StoreError(str(error)) from None
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the store of totals cannot be used ({type(error).__name__})") from error
