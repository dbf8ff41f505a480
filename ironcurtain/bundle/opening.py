"""The one way from a path to a bundle that is used: nothing is parsed before the signature was checked.

What a bundle says about itself proves nothing. Trust comes from outside: a public key, or a revision that
somebody knows.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ironcurtain.bundle.archive import Bundle, read_files, unpack
from ironcurtain.errors import BundleIntegrityError, BundleSignatureError, UsageError
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.bundle.signing.keys import PublicKey


class Trust(Struct):
    """What a bundle has to be.

    Attributes:
        key: Whose signature it has to carry; None demands none.
        expect_revision: Its revision, if that is known.
        min_serial: The lowest serial number that may be loaded; needs a key, since only a signature
            makes the number more than a claim.
    """

    key: PublicKey | None = None
    expect_revision: str | None = None
    min_serial: int | None = None

    @classmethod
    def of(
        cls,
        *,
        verify_key: str | Path | None = None,
        expect_revision: str | None = None,
        min_serial: int | None = None,
    ) -> Trust:
        """Read the public key of a PEM file, if one is named.

        Raises:
            UsageError: For a serial number without a key.
            FileError, FormatError: If the file holds no public key.
        """
        if verify_key is None:
            if min_serial is not None:
                raise UsageError(
                    "a serial number proves nothing without a signature", hint="Name the --verify-key."
                )
            return cls(None, expect_revision)
        return cls(_keys().read_public_key(Path(verify_key)), expect_revision, min_serial)

    @property
    def vouches(self) -> bool:
        """Whether a bundle that was opened with this is known to be the right one."""
        return self.key is not None or self.expect_revision is not None

    def signature_words(self, bundle: Bundle) -> str:
        """Say of a bundle that was opened with this whether it is signed, and whose signature was checked."""
        if self.key is not None:
            return "signed by the given key"
        return "signed by a key that was not checked" if bundle.is_signed else "unsigned"


def open_bundle(path: Path, trust: Trust) -> Bundle:
    """Read a bundle directory or `.tar.gz` and hold it against what it has to be.

    Raises:
        BundleSignatureError: If it is not signed as it has to be, or is older than it may be.
        BundleIntegrityError: If it is missing, corrupt, unsafe, or has another revision.
        NewerFormatError: If a newer IronCurtain wrote it.
    """
    return _trusted(read_files(path), trust, str(path))


def parse_bundle(content: bytes, trust: Trust, where: str) -> Bundle:
    """Read the content of an archive as `open_bundle` reads a file."""
    return _trusted(unpack(content, where), trust, where)


def _trusted(files: dict[str, bytes], trust: Trust, where: str) -> Bundle:
    if trust.key is not None:
        _signature().check_signature(files, trust.key, where)
    bundle = Bundle.of_files(files, where)
    if trust.expect_revision not in (None, bundle.revision):
        raise BundleIntegrityError(
            f"the bundle has revision {bundle.revision}, not {quoted(str(trust.expect_revision))}",
            where=where,
        )
    if trust.min_serial is not None and bundle.serial < trust.min_serial:
        raise BundleSignatureError(
            f"the bundle has serial {bundle.serial}, and at least {trust.min_serial} is required",
            where=where,
            hint="It is an older release: fetch the newest one.",
        )
    return bundle


def _keys() -> ModuleType:
    """Load what reads keys when a key is named: cryptography is slow to load, and most commands need none."""
    return importlib.import_module("ironcurtain.bundle.signing.keys")


def _signature() -> ModuleType:
    return importlib.import_module("ironcurtain.bundle.signing.signature")
