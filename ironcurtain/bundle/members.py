"""The files of a bundle's archive, read so that no two programs can find other files in it.

Readers of tar differ in what they take for a file, and in which of several headers names it or says how
long it is: old and contiguous files, headers of POSIX and GNU, sparse files, prefixes of names. So a header
here is a plain one of POSIX.1-1988, of a file or a directory, and there are no others. These we write.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import PurePosixPath

from ironcurtain.errors import BundleIntegrityError
from ironcurtain.system.text import quoted

MAX_BYTES = 256 << 20
MAX_FILES = 20_000
_BLOCK = tarfile.BLOCKSIZE
_TYPE = slice(156, 157)
_MAGIC = slice(257, 265)
_UNUSED = {b"ustar\x0000": 500, b"ustar  \0": 345}
"""Where begins what a plain header does not use, by form: where POSIX has more of the name, GNU has else."""


def members(archive: bytes, where: str) -> dict[str, bytes]:
    """Return the files of a tar archive by normalised path.

    Args:
        archive: The whole archive, not compressed.
        where: The bundle, for errors.

    Raises:
        BundleIntegrityError: If it is corrupt or truncated, has too many or too large files, a file twice,
            or anything that is not a plain file or directory with a safe name.
    """
    files: dict[str, bytes] = {}
    total = 0
    for header, at in _headers(archive, where):
        name = safe_name(header.name, where)
        if header.isdir():
            continue
        if name in files:
            raise BundleIntegrityError(f"{quoted(name)} is in the archive twice", where=where)
        total += header.size
        check_bounds(len(files), total, where)
        data = archive[at : at + header.size]
        if len(data) != header.size:
            raise BundleIntegrityError(f"{quoted(name)} is truncated", where=where)
        files[name] = data
    return files


def safe_name(name: str, where: str) -> str:
    """Return the normalised name of a file in a bundle.

    Raises:
        BundleIntegrityError: If it is absolute, or leads outside or back.
    """
    plain = name.removeprefix("./") if name != "." else name
    path = PurePosixPath(plain)
    if path.is_absolute() or ".." in path.parts or "\\" in plain or not plain.isprintable():
        raise BundleIntegrityError(f"{quoted(name)} is no safe path in a bundle", where=where)
    return path.as_posix()


def check_bounds(count: int, total: int, where: str) -> None:
    """Refuse a file more than a bundle may have, or more bytes in all.

    Raises:
        BundleIntegrityError: Then.
    """
    if count >= MAX_FILES or total > MAX_BYTES:
        raise BundleIntegrityError(
            f"the bundle has more than {MAX_FILES:,} files or {MAX_BYTES:,} bytes", where=where
        )


def _headers(archive: bytes, where: str) -> Iterator[tuple[tarfile.TarInfo, int]]:
    """Yield each header, and where the content behind it begins."""
    at = 0
    while (block := archive[at : at + _BLOCK]).strip(b"\0"):
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError) as error:
            raise BundleIntegrityError(
                f"the archive is corrupt or truncated: {error}", where=where, hint="Fetch or make it again."
            ) from None
        _check_plain(header, block, where)
        yield header, at + _BLOCK
        at += _BLOCK + -(-header.size // _BLOCK) * _BLOCK
    if len(archive) - at < 2 * _BLOCK or archive[at:].strip(b"\0"):
        raise BundleIntegrityError("the archive is truncated: it does not end as tar files do", where=where)


def _check_plain(header: tarfile.TarInfo, block: bytes, where: str) -> None:
    unused = _UNUSED.get(block[_MAGIC])
    if unused is None or block[unused:].strip(b"\0"):
        raise BundleIntegrityError(
            f"{quoted(header.name)} is packed in a form that programs read differently",
            where=where,
            hint="Make the archive with `ironcurtain bundle` or `ironcurtain compile`.",
        )
    kind = block[_TYPE]
    is_file = kind == tarfile.REGTYPE and header.size >= 0 and not header.name.endswith("/")
    is_directory = kind == tarfile.DIRTYPE and header.size == 0
    if not is_file and not is_directory:
        raise BundleIntegrityError(f"{quoted(header.name)} in the archive is no regular file", where=where)
