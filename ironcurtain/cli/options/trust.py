"""Opening a bundle that a report is to be about, with the trust that the command line demands."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa

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
