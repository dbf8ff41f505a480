from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e.program import SHIPPED, Inside, assert_clear
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.revision import digests_of

ARCHIVE = SHIPPED.parent / "bundle.tar.gz"
CONTENT = ARCHIVE.read_bytes()
# Flags, time and system of the gzip header say nothing about what is in it.
IDLE = range(3, 10)
CALL = ("filesystem", "read_text_file", "{}")
FILES = sorted(digests_of(Bundle.read(SHIPPED).files))
quickly = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def damaged(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


@quickly
@given(st.integers(0, len(CONTENT) - 1).filter(lambda n: n not in IDLE), st.integers(0, 7))
def test_a_flipped_bit_anywhere_in_an_archive(
    inside: Inside, tmp_path: Path, position: int, bit: int
) -> None:
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(damaged(CONTENT, position, bit))
    assert_clear(inside("input", "--bundle", str(path), *CALL), 3, "IC3101")
    assert_clear(inside("verify", str(path)), 3, "IC3101")


@quickly
@given(st.integers(0, len(CONTENT) - 1))
def test_an_archive_cut_anywhere(inside: Inside, tmp_path: Path, length: int) -> None:
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(CONTENT[:length])
    assert_clear(inside("input", "--bundle", str(path), *CALL), 3, "IC3101")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path_factory.mktemp("copied") / "bundle"))


@quickly
@given(st.sampled_from(FILES), st.floats(0, 1, exclude_max=True), st.integers(0, 7))
def test_a_flipped_bit_anywhere_in_a_directory(
    inside: Inside, copied: Path, name: str, place: float, bit: int
) -> None:
    path = copied / name
    whole = path.read_bytes()
    path.write_bytes(damaged(whole, int(place * len(whole)), bit))
    try:
        ended = inside("input", "--bundle", str(copied), *CALL)
        assert_clear(ended, 3, "IC3101")
        assert name in ended.err
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize("name", [".manifest", *FILES])
def test_a_directory_that_lacks_a_file(name: str, inside: Inside, copied: Path) -> None:
    (copied / name).rename(copied.parent / "away")
    try:
        assert_clear(inside("decide", "--bundle", str(copied), *CALL), 3, "IC3101")
    finally:
        (copied.parent / "away").rename(copied / name)


def test_a_file_too_many(inside: Inside, copied: Path) -> None:
    (copied / "ironcurtain" / "more.rego").write_text("package ironcurtain.more\n")
    try:
        assert_clear(inside("verify", str(copied)), 3, "IC3101")
    finally:
        (copied / "ironcurtain" / "more.rego").unlink()


@pytest.mark.parametrize("command", [("verify",), ("input", "--bundle"), ("decide", "--bundle")])
def test_a_bundle_of_a_newer_format(command: tuple[str, ...], inside: Inside, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(SHIPPED, tmp_path / "bundle"))
    manifest = json.loads((bundle / ".manifest").read_text())
    manifest["metadata"]["format"] = "ironcurtain/bundle/v2"
    manifest["metadata"]["of_the_future"] = True
    (bundle / ".manifest").write_text(json.dumps(manifest))
    ended = inside(*command, str(bundle), *(CALL if len(command) == 2 else ()))
    assert_clear(ended, 2, "IC1004")
    assert "hint: Update IronCurtain." in ended.err


def test_another_revision_than_expected(inside: Inside) -> None:
    ended = inside("verify", str(SHIPPED), "--expect-revision", "sha256:\x1b")
    assert_clear(ended, 3, "IC3101")
    assert "\x1b" not in ended.err
