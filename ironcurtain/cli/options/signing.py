"""The options `--sign` and `--key` of the commands that make bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import read_private_key
from ironcurtain.bundle.signing.signature import sign as sign_bundle
from ironcurtain.errors import UsageError
from ironcurtain.settings import user_directory

_PRIVATE = "signing-key.pem"


def chosen_signer(*, sign: bool, key: str | None) -> Callable[[Bundle], Bundle] | None:
    """Return what signs a bundle, if that is wanted; the key is read now, before any work is done.

    Raises:
        UsageError: If a key is named and nothing is to be signed.
        FileError, FormatError: If the key cannot be used.
    """
    if sign:
        return partial(sign_bundle, key=read_private_key(key_file(key)))
    if key is not None:
        raise UsageError("--key signs nothing by itself", hint="Add --sign.")
    return None


def key_file(key: str | None) -> Path:
    """Return the file of the private key that is named, or of the user's own."""
    return Path(key) if key is not None else default_key()


def default_key() -> Path:
    """Return the file of the user's own private key: beside what no tool call can reach."""
    return user_directory() / _PRIVATE


def public_beside(path: Path) -> Path:
    """Return the file of the public key that `key new` writes beside a private one."""
    return path.with_name(f"{path.stem}.pub.pem")
