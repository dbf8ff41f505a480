"""Which files a bundle of ours may hold: modules and data below its root, a manifest, one signatures file.

OPA gives meaning to more names than that, in any directory: patches of a delta bundle, compiled programs,
a second manifest (whatever ends in `.manifest`), a second signatures file. None of them can be in a bundle.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from ironcurtain.bundle.manifest import ROOT
from ironcurtain.bundle.revision import MANIFEST, SIGNATURES
from ironcurtain.errors import BundleIntegrityError
from ironcurtain.system.text import quoted

_AT_TOP = {MANIFEST, SIGNATURES}
_DATA = "data.json"
_MODULE = ".rego"


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse names that a bundle of ours never has, and names that some systems take for one.

    Args:
        names: Normalised paths relative to the bundle's root.
        where: The bundle, for errors.

    Raises:
        BundleIntegrityError: Naming the first such file.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not _is_ours(name):
            raise BundleIntegrityError(
                f"{quoted(name)} is no file of a bundle of ours",
                where=where,
                hint="A bundle holds modules and data below ironcurtain/, .manifest and .signatures.json.",
            )
        other = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if other != name:
            raise BundleIntegrityError(
                f"{quoted(other)} and {quoted(name)} are one file on some systems", where=where
            )


def _is_ours(name: str) -> bool:
    if name in _AT_TOP:
        return True
    path = PurePosixPath(name)
    inside = len(path.parts) > 1 and path.parts[0] == ROOT and path.as_posix() == name
    hidden = any(part.startswith(".") for part in path.parts)
    return inside and not hidden and (path.name == _DATA or path.suffix == _MODULE)
