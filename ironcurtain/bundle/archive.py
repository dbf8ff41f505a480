"""An OPA bundle as a value: reading it strictly, writing it reproducibly.

A bundle is untrusted until its content matches its revision, and what it claims about itself proves
nothing to anyone who does not know the revision or a key from elsewhere (specification 5.3).
"""

from __future__ import annotations

import io
import os
import struct
import tarfile
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from ironcurtain.bundle.manifest import ROOT, Manifest, Metadata, parse_manifest
from ironcurtain.bundle.members import MAX_BYTES, check_bounds, members, safe_name
from ironcurtain.bundle.revision import MANIFEST, SIGNATURES, digests_of, is_test, revision_of
from ironcurtain.errors import BundleIntegrityError
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, read_regular
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.bundle.provenance_model import Provenance

_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # no name, no time, unknown system
_LARGEST_BLOCK = 0xFFFF
_GZIP = zlib.MAX_WBITS | 16


def compress(data: bytes) -> bytes:
    """Return `data` as a gzip stream without name and time.

    The data are stored, not deflated: builds of zlib differ in the bytes that they produce, and a bundle
    has to have one digest on every machine.
    """
    starts = range(0, max(len(data), 1), _LARGEST_BLOCK)
    blocks = [_block(data[at : at + _LARGEST_BLOCK], last=at == starts[-1]) for at in starts]
    return b"".join([_HEADER, *blocks, struct.pack("<LL", zlib.crc32(data), len(data) & 0xFFFFFFFF)])


def decompress(data: bytes, *, max_bytes: int) -> bytes:
    """Return the content of exactly one complete gzip stream.

    Raises:
        ValueError: If it is truncated, is followed by something, or holds more than `max_bytes`.
        zlib.error: If it is corrupt.
    """
    unpacker = zlib.decompressobj(_GZIP)
    content = unpacker.decompress(data, max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it unpacks to more than {max_bytes:,} bytes")
    if not unpacker.eof:
        raise ValueError("it ends too early")
    if unpacker.unused_data:
        raise ValueError("something follows its end")
    return content


def _block(data: bytes, *, last: bool) -> bytes:
    return struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data


DataName: TypeAlias = Literal["annotations", "lists", "patterns", "rules"]
"""The data documents of every bundle, each at `ironcurtain/<name>/data.json`."""

T = TypeVar("T")

_NAMED = 5
_CUSTOM = f"{ROOT}/custom/"


class Bundle(Struct):
    """A bundle whose content matches the revision of its manifest.

    Attributes:
        files: Content by path relative to the bundle's root; `.manifest` and tests included.
        manifest: The parsed manifest.
    """

    files: Mapping[str, bytes]
    manifest: Manifest

    @classmethod
    def build(cls, files: Mapping[str, bytes], metadata: Metadata) -> Bundle:
        """Make a bundle of files (without `.manifest`), computing its revision."""
        described = metadata.model_copy(update={"digests": digests_of(files)})
        manifest = Manifest(
            roots=("ironcurtain",), revision=revision_of(files), rego_version=1, metadata=described
        )
        complete = {**files, MANIFEST: manifest.text().encode()}
        return cls(MappingProxyType(dict(sorted(complete.items()))), manifest)

    @classmethod
    def read(cls, path: Path) -> Bundle:
        """Read a bundle directory or `.tar.gz`.

        Raises:
            BundleIntegrityError: If it is missing, corrupt, truncated, unsafe, too large, or its content
                is not that of its revision; the error names the file.
            NewerFormatError: If a newer IronCurtain wrote it.
        """
        return cls.of_files(read_files(path), str(path))

    @classmethod
    def parse(cls, content: bytes, where: str = "the bundle") -> Bundle:
        """Read a bundle from the content of an archive; errors are those of `read`."""
        return cls.of_files(unpack(content, where), where)

    @classmethod
    def of_files(cls, files: Mapping[str, bytes], where: str) -> Bundle:
        """Make a bundle of all its files, `.manifest` included; errors are those of `read`."""
        check_names(files, where)
        if MANIFEST not in files:
            raise BundleIntegrityError("the bundle has no .manifest", where=where)
        manifest = parse_manifest(files[MANIFEST], where)
        if manifest.revision != revision_of(files):
            raise BundleIntegrityError(
                f"the content is not that of the revision in .manifest: {_difference(files, manifest)}",
                where=where,
                hint="It was changed after the bundle was made; make the bundle again.",
            )
        return cls(MappingProxyType(dict(sorted(files.items()))), manifest)

    @property
    def revision(self) -> str:
        """`sha256:<hex>` of the content, without tests, manifest and signatures."""
        return self.manifest.revision

    @property
    def serial(self) -> int:
        """The integer that configuration gave this policy."""
        return self.manifest.metadata.serial

    @property
    def modules(self) -> Mapping[str, str]:
        """The Rego modules by path, tests included."""
        return {path: data.decode() for path, data in self.files.items() if path.endswith(".rego")}

    @property
    def custom_modules(self) -> Mapping[str, str]:
        """The modules that the policy's project wrote itself by path, tests included."""
        return {path: text for path, text in self.modules.items() if path.startswith(_CUSTOM)}

    @cached_property
    def _data(self) -> dict[str, JsonValue]:
        return {}

    @cached_property
    def _made(self) -> dict[Callable[[Bundle], object], object]:
        return {}

    def once(self, make: Callable[[Bundle], T]) -> T:
        """Return what a function makes of this bundle, which never changes; it is called only once."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]  # type: ignore[return-value]

    def data(self, name: DataName) -> JsonValue:
        """Return one of the data documents, parsed.

        Raises:
            BundleIntegrityError: If it is missing or no JSON.
        """
        path = f"{ROOT}/{name}/data.json"
        if path not in self.files:
            raise BundleIntegrityError("the bundle lacks a data document", where=path)
        if name not in self._data:
            try:
                self._data[name] = json_text.parse(self.files[path], max_bytes=MAX_BYTES, any_double=True)
            except json_text.MalformedJsonError as error:
                raise BundleIntegrityError(f"not valid JSON: {error}", where=path) from None
        return self._data[name]

    def with_files(self, added: Mapping[str, bytes]) -> Bundle:
        """Return the bundle with files added or replaced (tests, say), and its revision computed anew."""
        kept = {path: data for path, data in self.files.items() if path not in {MANIFEST, SIGNATURES}}
        return Bundle.build({**kept, **added}, self.manifest.metadata)

    def with_provenance(self, provenance: Provenance) -> Bundle:
        """Return the bundle with another account of its origin: the revision stays, a signature does not."""
        kept = {path: data for path, data in self.files.items() if path not in {MANIFEST, SIGNATURES}}
        metadata = self.manifest.metadata.model_copy(
            update={"provenance": provenance.model_dump(mode="json")}
        )
        return Bundle.build(kept, metadata)

    @property
    def is_signed(self) -> bool:
        """Whether it carries a signature, whosoever."""
        return SIGNATURES in self.files

    @property
    def has_tests(self) -> bool:
        """Whether Rego tests are among the files."""
        return any(is_test(path) for path in self.files)

    def with_tests_of(self, other: Bundle) -> Bundle:
        """Return the bundle with the tests of another one, which count neither for revision nor signature."""
        tests = {path: data for path, data in other.files.items() if is_test(path)}
        return Bundle(MappingProxyType(dict(sorted({**self.files, **tests}.items()))), self.manifest)

    def with_signatures(self, content: bytes) -> Bundle:
        """Return what the archive of this bundle holds (no tests), with this `.signatures.json`."""
        files = {path: data for path, data in self.files.items() if not is_test(path)}
        complete = {**files, SIGNATURES: content}
        return Bundle(MappingProxyType(dict(sorted(complete.items()))), self.manifest)

    def write_directory(self, path: Path, *, durable: bool = True) -> None:
        """Write all files below a directory, which must not exist or be empty.

        Args:
            path: The directory.
            durable: Whether they are there after a crash; nobody needs that of a temporary directory.

        Raises:
            OSError: If it is not empty or cannot be written.
        """
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise FileExistsError(17, "the directory is not empty", str(path))
        for name, content in self.files.items():
            if durable:
                atomic_write(path / name, content)
            else:
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(content)

    def archive(self) -> bytes:
        """Return the bundle as `.tar.gz` without tests: a pure function of its content."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, content in self.files.items():
                if not is_test(name):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    member.mode = 0o644
                    archive.addfile(member, io.BytesIO(content))
        return compress(stream.getvalue())


def read_files(path: Path) -> dict[str, bytes]:
    """Read the files of a bundle directory or `.tar.gz`, by normalised path; nothing is parsed or believed.

    Raises:
        BundleIntegrityError: If it is missing, corrupt, truncated, unsafe or too large.
    """
    where = str(path)
    try:
        if path.is_dir():
            return _read_directory(path)
        return unpack(read_regular(path, max_bytes=MAX_BYTES), where)
    except OSError as error:
        raise BundleIntegrityError(
            f"the bundle cannot be read: {error.strerror or error}", where=where, hint="Check the path."
        ) from None


def unpack(content: bytes, where: str) -> dict[str, bytes]:
    """Read the files of a `.tar.gz` from memory; errors are those of `read_files`."""
    if len(content) > MAX_BYTES:
        raise BundleIntegrityError(f"the bundle is larger than {MAX_BYTES:,} bytes", where=where)
    try:
        unpacked = decompress(content, max_bytes=MAX_BYTES)
    except (zlib.error, ValueError) as error:
        raise BundleIntegrityError(
            f"the archive is corrupt or truncated: {error}", where=where, hint="Fetch or make it again."
        ) from None
    return members(unpacked, where)


def _difference(files: Mapping[str, bytes], manifest: Manifest) -> str:
    """Name the first files that differ from what the manifest records."""
    found, recorded = digests_of(files), manifest.metadata.digests
    changed = sorted(path for path in {*found, *recorded} if found.get(path) != recorded.get(path))
    if not changed:
        return "the recorded revision itself was changed"
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return ", ".join(quoted(path) for path in changed[:_NAMED]) + more


def _read_directory(root: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    total = 0
    for path in _walk(root):
        name = path.relative_to(root).as_posix()
        if path.is_symlink() or not path.is_file():
            raise BundleIntegrityError("a link or special file in a bundle", where=str(path))
        total += path.stat().st_size
        check_bounds(len(files), total, str(root))
        files[safe_name(name, str(root))] = read_regular(path, max_bytes=MAX_BYTES)
    return files


def _walk(root: Path) -> Iterator[Path]:
    for directory, subdirectories, names in os.walk(root):
        for name in subdirectories:
            if (Path(directory) / name).is_symlink():
                yield Path(directory) / name
        for name in names:
            yield Path(directory) / name


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
