"""Where fetched servers are installed, and the digest of what lies there.

    ~/.local/share/ironcurtain/servers/NAME-VERSION-DIGEST/         one installation, named by its digest
                                       NAME-VERSION-DIGEST.digest   written last: of all that is in it

Installations are shared by all projects and clients of a user, and each can be fetched again.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from ironcurtain.errors import FetchError
from ironcurtain.system.frozen import Digest
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_NOTES = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
"""What installers note of themselves beside a Python package's metadata: nothing of it runs."""
_COMPILED = "__pycache__"
_CHUNK = 1 << 20
_NAME_DIGITS = 16


def managed_directory() -> Path:
    """Return where fetched servers are installed, whether it is there or not."""
    return platformdirs.user_data_path("ironcurtain").absolute() / "servers"


def installation(package: str, version: str, tree: Digest) -> Path:
    """Return the directory of an installation, whether it is there or not."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", f"{package}-{version}").strip("-.")
    return managed_directory() / f"{name}-{tree.removeprefix('sha256:')[:_NAME_DIGITS]}"


class Digests(Struct):
    """What lies in an installation.

    Attributes:
        tree: Of what was fetched; the same wherever the same packages are installed.
        whole: Of that and of what Python compiled of it here.
    """

    tree: Digest
    whole: Digest


def digests(directory: Path) -> Digests:
    """Return the digests of all files below a directory: names, contents, links, and what can be executed.

    Raises:
        OSError: If one cannot be read.
        FetchError: If a link leads out of it: what runs there would be none of these files.
    """
    tree, whole = hashlib.sha256(), hashlib.sha256()
    top = Path(os.path.realpath(directory))
    for name, path in sorted(_files(directory, "")):
        facts = path.lstat()
        if stat.S_ISLNK(facts.st_mode):
            if path.readlink().is_absolute() or not Path(os.path.realpath(path)).is_relative_to(top):
                raise FetchError(f"the link {visible(name)} leads out of what was fetched")
            kind, content = "link", hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
        elif stat.S_ISREG(facts.st_mode):
            kind = "program" if facts.st_mode & stat.S_IXUSR else "file"
            content = _content(path)
        else:
            kind, content = "other", ""
        line = f"{kind} {content} ".encode() + os.fsencode(name) + b"\0"
        whole.update(line)
        if _COMPILED not in name.split("/"):
            tree.update(line)
    return Digests(f"sha256:{tree.hexdigest()}", f"sha256:{whole.hexdigest()}")


def note_of(place: Path) -> Path:
    """Return the file that holds the digest of a whole installation; without it there is none."""
    return place.with_name(f"{place.name}.digest")


def is_whole(place: Path, tree: Digest) -> bool:
    """Tell whether an installation is there and is, file by file, what was installed."""
    try:
        actual = digests(place)
        return actual.tree == tree and note_of(place).read_text("ascii") == actual.whole
    except (OSError, UnicodeDecodeError, FetchError):
        return False


def _files(directory: Path, above: str) -> Iterator[tuple[str, Path]]:
    """Yield what lies below a directory, but directories; each with its path from the top."""
    with os.scandir(directory) as entries:
        for entry in entries:
            name = f"{above}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), f"{name}/")
            elif not (entry.name in _NOTES and above.endswith(".dist-info/")):
                yield name, Path(entry.path)


def _content(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
