"""The options `--sign` and `--key` of the commands that make bundles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ironcurtain.cli import lazy
from ironcurtain.errors import UsageError

if TYPE_CHECKING:
    from ironcurtain.bundle.archive import Bundle


def chosen_signer(*, sign: bool, key: str | None) -> Callable[[Bundle], Bundle] | None:
    """Return what signs a bundle, if that is wanted; the key is read now, before any work is done.

    Raises:
        UsageError: If a key is named and nothing is to be signed.
        FileError, FormatError: If the key cannot be used.
    """
    if sign:
        signer: Callable[[Bundle], Bundle] = lazy.load("operate.key").signer(key)
        return signer
    if key is not None:
        raise UsageError("--key signs nothing by itself", hint="Add --sign.")
    return None
