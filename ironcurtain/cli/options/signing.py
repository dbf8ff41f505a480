"""Keys on the command line: `--sign` and `--key`, and opening a bundle that a key must have signed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
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
        # The library for keys is slow to load, and few commands sign.
        from ironcurtain.bundle.signing.keys import read_private_key
        from ironcurtain.bundle.signing.signature import sign as sign_bundle

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


_BESIDE = "bundle"


def verify_signed(bundle: str, trust: Trust, opa: Opa) -> Bundle:
    """Open a bundle with its Rego tests; where a key is demanded, OPA verifies the signature after us.

    Raises:
        BundleSignatureError: If it is not signed as it has to be, or is older than it may be.
        BundleIntegrityError: If it is missing, corrupt, unsafe, or has another revision.
    """
    read = open_bundle(Path(bundle), trust)
    if trust.key is not None:
        OpaCommand(opa).verify_signature(read.archive(), trust.key.pem, trust.key.algorithm)
    return with_tests_beside(read, Path(bundle))


def with_tests_beside(read: Bundle, path: Path) -> Bundle:
    """Return a bundle with its Rego tests.

    An archive holds none. They are taken from the directory `bundle` beside it, if that holds the same
    revision, so that a release can be verified like the directory that it was made from.
    """
    beside = path.absolute().parent / _BESIDE
    if read.has_tests or not beside.is_dir():
        return read
    made_from = Bundle.read(beside)
    return read.with_tests_of(made_from) if made_from.revision == read.revision else read
