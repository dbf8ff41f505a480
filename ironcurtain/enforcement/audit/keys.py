"""The key of audit logs: it vouches for the head, and makes digests that nobody else can guess at."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from ironcurtain.enforcement.audit.log_paths import LogPaths, audit_directory
from ironcurtain.errors import FileError
from ironcurtain.settings import user_directory
from ironcurtain.system.files import read_bytes
from ironcurtain.system.ownership import others_have_access

KEY_BYTES = 32
_MAX_BYTES = 4096


def default_key_path() -> Path:
    """Return where the user's own key lies."""
    return user_directory() / "audit.key"


def key_file(paths: LogPaths) -> Path | None:
    """Return the file of the key that vouches for a log of the proxy's own; None for a log anywhere else."""
    own = default_key_path()
    is_own = paths.path.absolute().parent == audit_directory().absolute()
    return own if is_own and own.exists() else None


def key_id(key: bytes) -> str:
    """Return what tells keys apart, and nothing else of a key: 16 hexadecimal digits."""
    return hmac.digest(key, b"the id of an audit key", "sha256").hex()[:16]


def read_key(path: Path) -> bytes:
    """Read a key: 64 hexadecimal digits, in a file that nobody else can read.

    Raises:
        FileError: If there is no such file, others can read it, or it holds something else.
    """
    text = read_bytes(path, max_bytes=_MAX_BYTES)
    found = path.stat()
    if found.st_uid != os.geteuid() or others_have_access(found):
        raise FileError("others can read the key of the audit log", where=str(path), hint="chmod 600")
    try:
        key = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise FileError(f"the key is not {KEY_BYTES * 2} hexadecimal digits", where=str(path))
    return key


def make_key(path: Path) -> bytes:
    """Make a key where there is none; return the one that is there then.

    Raises:
        FileError: As `read_key`.
        OSError: If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return read_key(path)
    with os.fdopen(handle, "w") as stream:
        stream.write(secrets.token_hex(KEY_BYTES) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    return read_key(path)
