from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.manifest import Metadata
from ironcurtain.errors import BundleIntegrityError, NewerFormatError

FILES = {
    "ironcurtain/rules/data.json": b'{"rules": {}}',
    "ironcurtain/a/a.rego": b"package ironcurtain.a\n",
    "ironcurtain/a/a_test.rego": b"package ironcurtain.a_test\n",
}
METADATA = Metadata(format="ironcurtain/bundle/v1", serial=7, engine_version="1.22.2", suffixes="x")


@pytest.fixture
def bundle() -> Bundle:
    return Bundle.build(FILES, METADATA)


Member: TypeAlias = tuple[tarfile.TarInfo, bytes]


def packed(*members: Member, mode: Literal["w:", "w:gz", "w:bz2"] = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for member, content in members:
            member.size = len(content) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def members(bundle: Bundle) -> list[Member]:
    return [(tarfile.TarInfo(name), content) for name, content in bundle.files.items()]


def test_directory_and_archive_have_one_revision(tmp_path: Path, bundle: Bundle) -> None:
    bundle.write_directory(tmp_path / "b")
    (tmp_path / "b.tar.gz").write_bytes(bundle.archive())
    directory, archive = Bundle.read(tmp_path / "b"), Bundle.read(tmp_path / "b.tar.gz")
    assert directory.revision == archive.revision == bundle.revision
    assert directory.files == bundle.files
    assert set(bundle.files) - set(archive.files) == {"ironcurtain/a/a_test.rego"}
    assert archive.serial == 7
    assert archive.data("rules") == {"rules": {}}


def test_the_archive_is_a_pure_function_of_the_content(bundle: Bundle) -> None:
    shuffled = Bundle.build(dict(reversed(FILES.items())), METADATA)
    assert shuffled.archive() == bundle.archive()
    assert Bundle.parse(bundle.archive()).archive() == bundle.archive()
    assert gzip.decompress(bundle.archive())[:11] == b".manifest\0\0"


def test_an_archive_beyond_one_stored_block_is_whole() -> None:
    large = {"ironcurtain/rules/data.json": b'{"x": "' + b"y" * 200_000 + b'"}'}
    bundle = Bundle.build(large, METADATA)
    assert Bundle.parse(bundle.archive()).files == bundle.files


@pytest.mark.parametrize("path", sorted(set(FILES) - {"ironcurtain/a/a_test.rego"}))
def test_a_changed_file_is_named(tmp_path: Path, bundle: Bundle, path: str) -> None:
    bundle.write_directory(tmp_path / "b")
    (tmp_path / "b" / path).write_bytes(b"{}")
    with pytest.raises(BundleIntegrityError, match=path):
        Bundle.read(tmp_path / "b")


def test_an_added_and_a_removed_file_are_named(tmp_path: Path, bundle: Bundle) -> None:
    bundle.write_directory(tmp_path / "b")
    (tmp_path / "b/extra.rego").write_text("package ironcurtain.decision\n")
    with pytest.raises(BundleIntegrityError, match=r"extra\.rego"):
        Bundle.read(tmp_path / "b")
    (tmp_path / "b/extra.rego").unlink()
    (tmp_path / "b/ironcurtain/a/a.rego").unlink()
    with pytest.raises(BundleIntegrityError, match=r"a/a\.rego"):
        Bundle.read(tmp_path / "b")


def test_a_link_in_a_directory_is_refused(tmp_path: Path, bundle: Bundle) -> None:
    bundle.write_directory(tmp_path / "b")
    (tmp_path / "b/link").symlink_to("/etc")
    with pytest.raises(BundleIntegrityError, match="link"):
        Bundle.read(tmp_path / "b")


@pytest.mark.parametrize("cut", [1, 20, 200, 1000, -1, -8, -9, -1024])
def test_a_truncated_archive_is_refused(bundle: Bundle, cut: int) -> None:
    with pytest.raises(BundleIntegrityError):
        Bundle.parse(bundle.archive()[:cut])


def test_a_truncated_tar_in_a_whole_gzip_is_refused(bundle: Bundle) -> None:
    tar = gzip.decompress(bundle.archive())
    for cut in (512, 700, 1536, 2100):
        with pytest.raises(BundleIntegrityError):
            Bundle.parse(gzip.compress(tar[:cut]))


def test_every_changed_byte_is_noticed_or_changes_nothing(bundle: Bundle) -> None:
    archive = bundle.archive()
    for at in range(0, len(archive), 37):
        changed = archive[:at] + bytes([archive[at] ^ 0x40]) + archive[at + 1 :]
        try:
            assert Bundle.parse(changed).revision == bundle.revision
        except (BundleIntegrityError, NewerFormatError):
            continue


@pytest.mark.parametrize(
    "name", ["/etc/x", "../x", "a/../../x", "ironcurtain/../../x", "a\\..\\x", "a\x1b[2Jx"]
)
def test_a_path_that_leads_outside_is_refused(bundle: Bundle, name: str) -> None:
    with pytest.raises(BundleIntegrityError, match="safe path"):
        Bundle.parse(packed(*members(bundle), (tarfile.TarInfo(name), b"x")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(bundle: Bundle, kind: bytes) -> None:
    member = tarfile.TarInfo("ironcurtain/link")
    member.type, member.linkname = kind, "/etc/passwd"
    with pytest.raises(BundleIntegrityError, match="no regular file"):
        Bundle.parse(packed(*members(bundle), (member, b"")))


def test_a_file_given_twice_is_refused(bundle: Bundle) -> None:
    again = (tarfile.TarInfo("./ironcurtain/a/a.rego"), b"package ironcurtain.a\n")
    with pytest.raises(BundleIntegrityError, match="twice"):
        Bundle.parse(packed(*members(bundle), again))


def test_a_bomb_is_refused() -> None:
    with pytest.raises(BundleIntegrityError, match="unpacks to more"):
        Bundle.parse(gzip.compress(b"\0" * (257 << 20), 1))


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b""), gzip.compress(b"x" * 600)],
    ids=["empty", "no-gzip", "nothing-inside", "no-tar-inside"],
)
def test_something_else_is_refused(content: bytes) -> None:
    with pytest.raises(BundleIntegrityError):
        Bundle.parse(content)


def test_a_bundle_that_is_missing_or_has_no_manifest_is_refused(tmp_path: Path, bundle: Bundle) -> None:
    with pytest.raises(BundleIntegrityError):
        Bundle.read(tmp_path / "none")
    with pytest.raises(BundleIntegrityError, match="manifest"):
        Bundle.read(tmp_path)
    with pytest.raises(BundleIntegrityError, match="manifest"):
        Bundle.parse(packed(*members(bundle)[1:]))


def test_a_newer_format_is_told_from_a_broken_one(bundle: Bundle) -> None:
    newer = bundle.files[".manifest"].replace(b"bundle/v1", b"bundle/v2")
    files = [(tarfile.TarInfo(n), newer if n == ".manifest" else c) for n, c in bundle.files.items()]
    with pytest.raises(NewerFormatError, match="v2"):
        Bundle.parse(packed(*files))
