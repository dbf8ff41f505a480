"""Bundles that hold, or seem to hold, more or other files than were signed: refused before OPA is started."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest
from support.signing import Attacks, Scene, archive, load_signed, signatures

from ironcurtain.bundle import gzipped
from ironcurtain.bundle.revision import SIGNATURES
from ironcurtain.errors import BundleIntegrityError, BundleSignatureError

RULES = "ironcurtain/rules/data.json"
DECISION = "ironcurtain/decision/decision.rego"
EVIL = b'package ironcurtain.decision\n\ndecision := {"verdict": "allow"}\n'

attack = Attacks()
flood = Attacks()
"""What costs time to make and to read, and is refused whatever key signed the bundle."""


# -- what is in the bundle -----------------------------------------------------------------------


@attack("is not as it was signed")
def changed_rule(released: Scene) -> bytes:
    rules = released.files[RULES].replace(b'"deny"', b'"allow"', 1)
    assert rules != released.files[RULES]
    return archive({**released.files, RULES: rules}.items())


@attack("is not as it was signed")
def raised_serial_in_the_manifest(released: Scene) -> bytes:
    manifest = released.files[".manifest"].replace(b'"serial": 8', b'"serial": 9')
    return archive({**released.files, ".manifest": manifest}.items())


@attack("no strict JSON: duplicate key")
def data_that_two_parsers_read_differently(released: Scene) -> bytes:
    rules = released.files[RULES].replace(b"{", b'{"rules": {}, ', 1)
    return archive({**released.files, RULES: rules}.items())


@attack("not signed: .*attacker/data.json")
def extra_data(released: Scene) -> bytes:
    return archive({**released.files, "ironcurtain/attacker/data.json": b"{}"}.items())


@attack("not signed: .*attacker.rego")
def extra_module(released: Scene) -> bytes:
    return archive({**released.files, "ironcurtain/decision/attacker.rego": EVIL}.items())


@attack("not signed: .*a_test.rego")
def extra_module_that_calls_itself_a_test(released: Scene) -> bytes:
    return archive({**released.files, "ironcurtain/decision/a_test.rego": EVIL}.items())


@attack("not signed: .*ironcurtain/.signatures.json")
def second_signatures_file(released: Scene) -> bytes:
    files = {"ironcurtain/.signatures.json": signatures(released.forged(key=released.other))}
    return archive({**files, **released.files}.items())


@attack("no file of a bundle of ours")
def signed_second_signatures_file(released: Scene) -> bytes:
    files = {**released.files, "ironcurtain/.signatures.json": b"{}"}
    token = released.forged({"files": released.listed(files)})
    return archive({**files, SIGNATURES: signatures(token)}.items())


@attack("not signed: .*patch.json")
def delta_bundle(released: Scene) -> bytes:
    patch = {"data": [{"op": "upsert", "path": "/ironcurtain/rules", "value": {}}]}
    return archive({**released.files, "patch.json": json.dumps(patch).encode()}.items())


@attack("not signed")
def delta_bundle_alone(released: Scene) -> bytes:
    patch = {"data": [{"op": "upsert", "path": "/ironcurtain/rules", "value": {}}]}
    return archive([(".manifest", released.files[".manifest"]), ("patch.json", json.dumps(patch).encode())])


@attack('"ironcurtain/patch.json" is no file of a bundle of ours')
def signed_delta_bundle(released: Scene) -> bytes:
    files = {**released.files, "ironcurtain/patch.json": b'{"data": []}'}
    token = released.forged({"files": released.listed(files)})
    return archive({**files, SIGNATURES: signatures(token)}.items())


@attack("not signed: .*x.manifest")
def second_manifest(released: Scene) -> bytes:
    return archive({**released.files, "ironcurtain/x.manifest": b'{"roots": [""]}'}.items())


@attack("not signed: .*.manifest.pb")
def manifest_in_another_form(released: Scene) -> bytes:
    return archive({**released.files, ".manifest.pb": b""}.items())


@attack("not signed: .*policy.wasm")
def compiled_policy_in_the_bundle(released: Scene) -> bytes:
    return archive({**released.files, "policy.wasm": b"\0asm"}.items())


@attack("holds no tests")
def signed_test_that_redefines_the_decision(released: Scene) -> bytes:
    files = {**released.files, "ironcurtain/decision/x_test.rego": EVIL}
    token = released.forged({"files": released.listed(files)})
    return archive({**files, SIGNATURES: signatures(token)}.items())


# -- how it is packed ----------------------------------------------------------------------------


@attack("in the archive twice")
def file_packed_twice_the_bad_one_last(released: Scene) -> bytes:
    return archive([*released.files.items(), (DECISION, EVIL)])


@attack("in the archive twice")
def file_packed_twice_the_bad_one_first(released: Scene) -> bytes:
    return archive([(DECISION, EVIL), *released.files.items()])


@attack("in the archive twice")
def file_packed_again_with_a_dot(released: Scene) -> bytes:
    return archive([*released.files.items(), (f"./{DECISION}", EVIL)])


@attack("not signed: .*Decision.rego")
def file_packed_again_in_another_case(released: Scene) -> bytes:
    return archive([*released.files.items(), (DECISION.replace("decision.rego", "Decision.rego"), EVIL)])


@attack("one file on some systems")
def signed_names_that_differ_in_case(released: Scene) -> bytes:
    files = {**released.files, DECISION.replace("decision.rego", "Decision.rego"): EVIL}
    token = released.forged({"files": released.listed(files)})
    return archive({**files, SIGNATURES: signatures(token)}.items())


@attack("no safe path")
def path_that_leads_outside(released: Scene) -> bytes:
    return archive([*released.files.items(), ("ironcurtain/../../x.rego", EVIL)])


@attack("no safe path")
def absolute_path(released: Scene) -> bytes:
    return archive([*released.files.items(), ("/etc/cron.d/x", EVIL)])


@attack("no regular file")
def link_in_the_archive(released: Scene) -> bytes:
    member = tarfile.TarInfo(DECISION)
    member.type, member.linkname = tarfile.SYMTYPE, "/tmp/evil.rego"
    files = released.files
    del files[DECISION]
    return archive([*files.items(), (member, b"")])


@attack("corrupt or truncated")
def truncated(released: Scene) -> bytes:
    content = released.bundle.archive()
    return content[: len(content) // 2]


@attack("something follows its end")
def second_archive_behind_the_first(released: Scene) -> bytes:
    return released.bundle.archive() + archive([(DECISION, EVIL)])


@attack("does not end as tar files do")
def files_behind_the_end_of_the_archive(released: Scene) -> bytes:
    whole = gzip.decompress(released.bundle.archive())
    return gzipped.compress(whole + gzip.decompress(archive([(DECISION, EVIL)])))


@flood("unpacks to more")
def bomb(released: Scene) -> bytes:
    del released
    return gzip.compress(b"\0" * (257 << 20), 1)


@flood("files or .* bytes")
def more_files_than_anybody_needs(released: Scene) -> bytes:
    return archive([*released.files.items(), *((f"ironcurtain/x/{n}.rego", b"") for n in range(20_001))])


def test_there_are_enough_attacks() -> None:
    assert len(attack | flood) >= 25


@pytest.mark.parametrize("name", attack)
def test_it_is_refused_before_anything_is_loaded(name: str, released: Scene, tripwire: Path) -> None:
    attack.is_refused(name, released, tripwire)


@pytest.mark.parametrize("name", flood)
@pytest.mark.parametrize("released", ["ES256"], indirect=True)
def test_a_flood_is_refused_before_anything_is_loaded(name: str, released: Scene, tripwire: Path) -> None:
    flood.is_refused(name, released, tripwire)


def test_a_directory_with_a_link_to_a_signed_file(released: Scene, tripwire: Path, tmp_path: Path) -> None:
    directory = tmp_path / "bundle"
    released.bundle.write_directory(directory)
    load_signed(directory, released, tripwire)
    (tmp_path / "started").unlink()
    (directory / DECISION).rename(tmp_path / "kept.rego")
    (directory / DECISION).symlink_to(tmp_path / "kept.rego")
    with pytest.raises(BundleIntegrityError, match="link"):
        load_signed(directory, released, tripwire)
    assert not (tmp_path / "started").exists()


def test_a_directory_with_its_tests_was_not_signed(released: Scene, tripwire: Path, tmp_path: Path) -> None:
    directory = tmp_path / "bundle"
    released.bundle.write_directory(directory)
    (directory / "ironcurtain/decision/decision_test.rego").write_text("package ironcurtain.decision\n")
    with pytest.raises(BundleSignatureError, match="not signed"):
        load_signed(directory, released, tripwire)
