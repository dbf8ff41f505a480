"""The key that requests and answers are sealed with: a file that only proxy and approver can read."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from ironcurtain.enforcement.approvals.private_directory import check_ancestors, read_private
from ironcurtain.errors import ApprovalsError
from ironcurtain.system.files import atomic_write
from ironcurtain.system.locks import directory_lock

_BYTES = 32


class ApprovalKey:
    """Seals documents by their digests. Two programs that read the same file make the same seals."""

    def __init__(self, secret: bytes) -> None:
        """Take the secret itself; `read` and `read_or_make` take it from a file."""
        self._secret = secret

    @classmethod
    def read(cls, path: Path) -> ApprovalKey | None:
        """Read a key; None if there is no such file.

        Raises:
            ApprovalsError: If it is no private file, or holds no key.
        """
        secret = read_private(path, max_bytes=_BYTES + 1)
        if secret is None:
            return None
        if len(secret) != _BYTES:
            raise ApprovalsError(
                f"the key is not {_BYTES} bytes long",
                where=str(path),
                hint="Delete it while no proxy runs; the next start makes a new one.",
            )
        return cls(secret)

    @classmethod
    def read_or_make(cls, path: Path) -> ApprovalKey:
        """Read a key, or make one (mode 0600) where there is none.

        Raises:
            ApprovalsError: If it is no private file, or holds no key.
            OSError: If it cannot be written.
        """
        absolute = path.absolute()
        absolute.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_ancestors(absolute)
        with directory_lock(absolute.parent) as descriptor:
            # Two programs that start at once must end up with one key.
            found = cls.read(absolute)
            if found is not None:
                return found
            secret = secrets.token_bytes(_BYTES)
            atomic_write(absolute, secret, mode=0o600)
            os.fsync(descriptor)
            return cls(secret)

    def seal(self, kind: str, digest: str) -> str:
        """Return the seal over a document, given what kind of document it is and its digest."""
        made = hmac.new(self._secret, f"{kind}\n{digest}".encode(), hashlib.sha256)
        return f"hmac-sha256:{made.hexdigest()}"

    def fits(self, kind: str, digest: str, seal: str) -> bool:
        """Tell whether a seal is the one over a document."""
        return hmac.compare_digest(self.seal(kind, digest), seal)
