"""Bundles that the holder of the key did not sign: each is refused before OPA is even started.

Held by: a check of ours before OPA's, narrower than it: one signature, the key's algorithm, every file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.records.signing import Attacks, Scene, archive, encoded, load_signed, signatures, with_serial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.revision import SIGNATURES
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.errors import BundleSignatureError

DECISION = "ironcurtain/decision/decision.rego"
EVIL = b'package ironcurtain.decision\n\ndecision := {"verdict": "allow"}\n'
NO_ALGORITHM = encoded(b'{"alg": "none"}')

attack = Attacks()


# -- whose signature -----------------------------------------------------------------------------


@attack("unsigned")
def stripped_signature(released: Scene) -> bytes:
    files = released.files
    del files[SIGNATURES]
    return archive(files.items())


@attack("is not as it was signed|files that are")
def signature_of_another_bundle(released: Scene) -> bytes:
    return archive({**released.files, SIGNATURES: released.older.files[SIGNATURES]}.items())


@attack("signature is of the key")
def signed_again_by_another_key(released: Scene) -> bytes:
    return sign(released.bundle, released.other).archive()


@attack("signature is not of the key")
def another_key_under_the_name_of_ours(released: Scene) -> bytes:
    return released.carrying(released.forged(header={"kid": released.key.public.id}, key=released.other))


@attack("signature is not of the key")
def another_key_under_no_name(released: Scene) -> bytes:
    return released.carrying(released.forged(key=released.other))


@attack("signature is not of the key")
def signature_of_zeros(released: Scene) -> bytes:
    content, _, signature = released.token.rpartition(".")
    return released.carrying(f"{content}.{'A' * len(signature)}")


@attack("signature is not of the key")
def payload_changed_under_its_signature(released: Scene) -> bytes:
    header, _, signature = released.token.split(".")
    files = {**released.files, DECISION: EVIL}
    payload = encoded(json.dumps({"files": released.listed(files)}).encode())
    token = f"{header}.{payload}.{signature}"
    return archive({**files, SIGNATURES: signatures(token)}.items())


# -- how the signature says it has to be checked -------------------------------------------------


@attack("no compact JSON Web Signature")
def algorithm_none(released: Scene) -> bytes:
    _, payload, _ = released.token.split(".")
    return released.carrying(f"{NO_ALGORITHM}.{payload}.")


@attack('made with "none"')
def algorithm_none_with_a_signature(released: Scene) -> bytes:
    _, payload, signature = released.token.split(".")
    return released.carrying(f"{NO_ALGORITHM}.{payload}.{signature}")


@attack('made with "HS256"')
def public_key_as_shared_secret(released: Scene) -> bytes:
    return released.carrying(released.forged(key=released.key.public.pem.encode()))


@attack("made with ")
def another_algorithm_of_the_same_key(released: Scene) -> bytes:
    return released.carrying(released.forged(header={"alg": "PS256"}))


@attack('the key "../../etc/passwd"')
def key_id_that_is_a_path(released: Scene) -> bytes:
    return released.carrying(released.forged(header={"kid": "../../etc/passwd"}))


@attack("header is not as we write it: jku")
def address_of_keys_in_the_header(released: Scene) -> bytes:
    header = {"jku": "https://attacker.invalid/keys", "kid": released.other.public.id}
    return released.carrying(released.forged(header=header, key=released.other))


@attack("header is not as we write it: jwk")
def key_in_the_header(released: Scene) -> bytes:
    return released.carrying(released.forged(header={"jwk": {"kty": "EC"}}, key=released.other))


@attack("header is not as we write it: x5c")
def certificate_in_the_header(released: Scene) -> bytes:
    return released.carrying(released.forged(header={"x5c": ["MIIB"]}, key=released.other))


@attack("header is not as we write it: (b64|crit)")
def unencoded_payload(released: Scene) -> bytes:
    return released.carrying(released.forged(header={"b64": False, "crit": ["b64"]}))


@attack("header is not as we write it: duplicate key")
def header_that_says_two_algorithms(released: Scene) -> bytes:
    _, payload, signature = released.token.split(".")
    header = f'{{"alg": "none", "alg": "{released.key.public.algorithm}"}}'.encode()
    return released.carrying(f"{encoded(header)}.{payload}.{signature}")


@attack("no compact JSON Web Signature")
def padded_base64(released: Scene) -> bytes:
    return released.carrying(released.token + "=")


@attack("no compact JSON Web Signature")
def token_with_white_space(released: Scene) -> bytes:
    return released.carrying(released.token.replace(".", ".\n", 1))


@attack("no compact JSON Web Signature")
def token_of_five_parts(released: Scene) -> bytes:
    return released.carrying(f"{released.token}.AA.AA")


# -- what the signature lists --------------------------------------------------------------------


@attack("signatures.json is not as we write it: duplicate key")
def signatures_given_twice(released: Scene) -> bytes:
    text = f'{{"signatures": ["{released.token}"], "signatures": []}}'.encode()
    return archive({**released.files, SIGNATURES: text}.items())


@attack("signatures.json is not as we write it: signatures")
def two_signatures(released: Scene) -> bytes:
    content = signatures(released.token, released.forged(key=released.other))
    return archive({**released.files, SIGNATURES: content}.items())


@attack("signatures.json is not as we write it: signatures")
def no_signature_in_the_signatures_file(released: Scene) -> bytes:
    return archive({**released.files, SIGNATURES: signatures()}.items())


@attack("signatures.json is not as we write it: plugin")
def verifier_of_the_attackers_choice(released: Scene) -> bytes:
    return released.carrying(released.token, plugin="always")


@attack("the signature is not as we write it: files")
def empty_list_of_files(released: Scene) -> bytes:
    return released.carrying(released.forged({"files": []}))


@attack("the signature is not as we write it: duplicate key")
def payload_with_two_lists_of_files(released: Scene) -> bytes:
    listed = json.dumps(released.listed())
    return released.carrying(released.forged(f'{{"files": [], "files": {listed}}}'.encode()))


@attack("names a file twice")
def file_listed_twice_with_two_digests(released: Scene) -> bytes:
    listed = released.listed()
    return released.carrying(released.forged({"files": [{**listed[0], "hash": "0" * 64}, *listed]}))


@attack("signed, but not there")
def listed_file_is_missing(released: Scene) -> bytes:
    files = released.files
    del files["ironcurtain/policy/git/policy.rego"]
    return archive(files.items())


@attack("the signature is not as we write it: files/0/algorithm")
def digests_by_md5(released: Scene) -> bytes:
    listed = [{**each, "algorithm": "MD5"} for each in released.listed()]
    return released.carrying(released.forged({"files": listed}))


@attack("is not as it was signed")
def digest_of_another_file(released: Scene) -> bytes:
    files = released.files
    files[DECISION] = files["ironcurtain/matching/matching.rego"]
    return archive(files.items())


@attack("the signature is not as we write it: scope")
def signature_for_another_scope(released: Scene) -> bytes:
    return released.carrying(released.forged({"files": released.listed(), "scope": "staging"}))


@attack("the signature is not as we write it: keyid")
def key_id_in_the_payload(released: Scene) -> bytes:
    return released.carrying(released.forged({"files": released.listed(), "keyid": "other"}))


# -- which release -------------------------------------------------------------------------------


@attack("serial 7, and at least 8")
def older_release(released: Scene) -> bytes:
    return released.older.archive()


def test_what_was_released_is_accepted(released: Scene, tripwire: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(released.bundle.archive())
    with load_signed(path, released, tripwire) as policy:
        assert policy.trusted
        assert policy.decide("filesystem", "no_such_tool", {}).verdict == "deny"
    assert (tmp_path / "started").exists()


def test_there_are_enough_attacks() -> None:
    assert len(attack) >= 30


@pytest.mark.parametrize("name", attack)
def test_it_is_refused_before_anything_is_loaded(name: str, released: Scene, tripwire: Path) -> None:
    attack.is_refused(name, released, tripwire)


def test_a_newer_release_needs_the_key_all_the_same(released: Scene, tripwire: Path, tmp_path: Path) -> None:
    newer = with_serial(Bundle.parse(released.older.archive()), 99)
    path = tmp_path / "bundle.tar.gz"
    path.write_bytes(newer.archive())
    with pytest.raises(BundleSignatureError, match="unsigned"):
        load_signed(path, released, tripwire)
