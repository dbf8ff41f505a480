"""Bundles that hold, or seem to hold, more or other files than were signed: refused before OPA is started.

Held by: the list of signed files, names of ours alone, and headers of archives that all programs read alike.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest
from support.records.signing import Attacks, Scene, archive, load_signed, signatures

from ironcurtain.bundle.archive import compress
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


@attack("unsigned")
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


def header(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> bytearray:
    member = tarfile.TarInfo(name)
    member.size, member.type = len(content), kind
    return bytearray(member.tobuf(tarfile.USTAR_FORMAT))


def packed(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    return bytes(header(name, content, kind)) + content + b"\0" * (-len(content) % 512)


def said(**said: str) -> bytes:
    """Return the records of an extended header; each is shorter than 90 bytes."""
    lines = [f"{key}={value}\n".encode() for key, value in said.items()]
    return b"".join(f"{len(line) + 3} ".encode() + line for line in lines)


def by_hand(released: Scene, *instead: bytes) -> bytes:
    """Pack the release with something in the place of the file that decides."""
    kept = [packed(name, content) for name, content in released.files.items() if name != DECISION]
    return compress(b"".join([*kept, *instead]) + b"\0" * 1024)


@attack("no regular file")
def file_that_only_some_programs_take_for_one(released: Scene) -> bytes:
    """Python reads it, and OPA passes it over: a policy without some of its rules."""
    return by_hand(released, packed(DECISION, released.files[DECISION], tarfile.CONTTYPE))


@attack("no regular file")
def file_as_old_programs_packed_it(released: Scene) -> bytes:
    return by_hand(released, packed(DECISION, released.files[DECISION], tarfile.AREGTYPE))


@attack("no regular file")
def file_renamed_by_a_header_before_it(released: Scene) -> bytes:
    named = packed("x", said(path=DECISION), tarfile.XHDTYPE)
    return by_hand(released, named, packed("ironcurtain/other.rego", released.files[DECISION]))


@attack("no regular file")
def file_that_a_header_before_it_makes_shorter(released: Scene) -> bytes:
    length = packed("x", said(size="1"), tarfile.XHDTYPE)
    return by_hand(released, length, packed(DECISION, released.files[DECISION]))


@attack("no regular file")
def name_for_all_files(released: Scene) -> bytes:
    return by_hand(released, packed("x", said(path=DECISION), tarfile.XGLTYPE), packed("y", EVIL))


@attack("no regular file")
def file_named_twice_by_two_kinds_of_header(released: Scene) -> bytes:
    """Python takes the first name, OPA the other one."""
    one = packed("x", said(path=DECISION), tarfile.XHDTYPE)
    other = packed("././@LongLink", b"ironcurtain/other/data.json\0", tarfile.GNUTYPE_LONGNAME)
    return by_hand(released, one, other, packed("y", released.files[DECISION]))


@attack("programs read differently")
def name_in_two_parts_in_a_header_that_has_no_parts(released: Scene) -> bytes:
    content = released.files[DECISION]
    made = header("decision.rego", content)
    made[345:365] = b"ironcurtain/decision"
    made[257:265] = b"ustar  \0"
    made[148:156] = b" " * 8
    made[148:156] = f"{sum(made):06o}\0 ".encode()
    return by_hand(released, bytes(made) + content + b"\0" * (-len(content) % 512))


@attack("no regular file")
def file_with_a_slash_behind_its_name(released: Scene) -> bytes:
    return by_hand(released, packed(f"{DECISION}/", released.files[DECISION]))


@attack("corrupt or truncated")
def header_whose_sum_is_wrong(released: Scene) -> bytes:
    made = header(DECISION, EVIL)
    made[0] ^= 1
    return by_hand(released, bytes(made), EVIL.ljust(512, b"\0"))


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
    return compress(whole + gzip.decompress(archive([(DECISION, EVIL)])))


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
