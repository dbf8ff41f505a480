from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.records.signing import Scene, archive, scene, shipped, signatures, with_serial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle, parse_bundle
from ironcurtain.bundle.revision import SIGNATURES, is_test
from ironcurtain.bundle.signing.keys import SigningAlgorithm, new_key
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import BundleIntegrityError, BundleSignatureError, UsageError
from ironcurtain.system.subprocess_runner import clean_environment, run

KINDS: list[SigningAlgorithm] = ["ES256", "ES384", "ES512", "RS256"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(tmp_path_factory.mktemp("release"), "ES256")


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_signature_is_verified_by_us_and_by_opa(algorithm: SigningAlgorithm, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key.pem", algorithm)
    content = sign(shipped(), key).archive()
    assert parse_bundle(content, Trust(key.public), "x").revision == shipped().revision
    OpaCommand(find()).verify_signature(content, key.public.pem, algorithm)


@pytest.mark.parametrize("algorithm", KINDS)
def test_opa_refuses_what_it_did_not_get_signed(algorithm: SigningAlgorithm, tmp_path: Path) -> None:
    key, other = (new_key(tmp_path / name, algorithm) for name in ("key.pem", "other.pem"))
    for bundle in (shipped(), sign(shipped(), other)):
        with pytest.raises(BundleSignatureError, match=r"OPA refuses the bundle: .*signature") as caught:
            OpaCommand(find()).verify_signature(bundle.archive(), key.public.pem, algorithm)
        assert "/tmp" not in caught.value.what


@pytest.mark.parametrize("algorithm", KINDS)
def test_signing_again_gives_the_same_bytes(algorithm: SigningAlgorithm, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key.pem", algorithm)
    first = sign(shipped(), key)
    assert sign(shipped(), key).archive() == first.archive()
    assert sign(first, key).archive() == first.archive()


def test_a_signature_of_opas_own_is_accepted(released: Scene, tmp_path: Path) -> None:
    directory = tmp_path / "bundle"
    with_serial(shipped(), 8).write_directory(directory)
    key = released.public.parent / "key.pem"
    ended = run(
        [str(find().path), "sign", "--signing-alg", "ES256", "--signing-key", str(key), "--bundle", "."],
        cwd=directory,
        environment=clean_environment(tmp_path),
        timeout=60,
    )
    assert ended.status == 0, ended.stderr
    assert open_bundle(directory, Trust(released.key.public)).serial == 8


def test_signing_changes_neither_revision_nor_unsigned_archive(released: Scene) -> None:
    unsigned = with_serial(shipped(), 8)
    assert released.bundle.revision == unsigned.revision
    assert set(released.bundle.files) == {*unsigned.files, SIGNATURES}
    assert released.bundle.with_files({}).archive() == unsigned.archive()


def test_tests_are_not_signed(released: Scene) -> None:
    tested = shipped().with_files({"ironcurtain/decision/x_test.rego": b"package ironcurtain.x_test\n"})
    assert not any(is_test(name) for name in sign(tested, released.key).files)


def test_the_signature_names_its_key(released: Scene) -> None:
    again = parse_bundle(released.carrying(released.forged()), Trust(released.key.public), "x")
    assert again.serial == 8
    named = released.forged(header={"kid": released.key.public.id})
    assert parse_bundle(released.carrying(named), Trust(released.key.public), "x").serial == 8


def test_trust_that_demands_nothing_is_none(released: Scene) -> None:
    assert not Trust.of().vouches
    assert Trust.of(expect_revision=released.bundle.revision).vouches
    assert Trust.of(verify_key=released.public).vouches
    with pytest.raises(UsageError, match="without a signature"):
        Trust.of(min_serial=1)


@pytest.mark.parametrize(("serial", "accepted"), [(7, True), (8, True), (9, False)])
def test_the_lowest_serial(serial: int, accepted: bool, released: Scene) -> None:
    trust = Trust.of(verify_key=released.public, min_serial=serial)
    if accepted:
        assert parse_bundle(released.bundle.archive(), trust, "x").serial == 8
    else:
        with pytest.raises(BundleSignatureError, match="at least 9 is required"):
            parse_bundle(released.bundle.archive(), trust, "x")


def test_key_and_revision_are_both_demanded(released: Scene) -> None:
    other = "sha256:" + "0" * 64
    trust = Trust.of(verify_key=released.public, expect_revision=other)
    with pytest.raises(BundleIntegrityError, match="not"):
        parse_bundle(released.bundle.archive(), trust, "x")


def test_nothing_of_an_unsigned_bundle_is_read(released: Scene) -> None:
    files = {".manifest": b"no JSON at all", "ironcurtain/rules/data.json": b"{{{"}
    with pytest.raises(BundleSignatureError, match="unsigned"):
        parse_bundle(archive(files.items()), Trust(released.key.public), "x")


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_a_changed_character_of_the_token(at: int, released: Scene) -> None:
    place = at * len(released.token) // 400
    changed = "A" if released.token[place] != "A" else "B"
    token = released.token[:place] + changed + released.token[place + 1 :]
    with pytest.raises(BundleSignatureError):
        parse_bundle(released.carrying(token), Trust(released.key.public), "x")


def test_a_changed_byte_anywhere_is_noticed_or_changes_nothing(released: Scene) -> None:
    content, refused = released.bundle.archive(), 0
    for place in range(1, len(content), len(content) // 150):
        changed = content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :]
        try:
            read = parse_bundle(changed, Trust(released.key.public), "x")
        except (BundleIntegrityError, BundleSignatureError):
            refused += 1
        else:
            assert read.files == released.bundle.files
    assert refused > 140


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"signatures": "x"}', b'{"signatures": [1]}', signatures("")]
)
def test_a_signatures_file_of_another_shape(content: bytes, released: Scene) -> None:
    files = {**released.files, SIGNATURES: content}
    with pytest.raises(BundleSignatureError):
        parse_bundle(archive(files.items()), Trust(released.key.public), "x")


def test_an_unsigned_reader_reads_a_signed_bundle(released: Scene, tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(released.bundle.archive())
    assert json.loads(Bundle.read(path).files[SIGNATURES])["signatures"] == [released.token]
