"""`ironcurtain audit receipt`, and what plain Python and plain OPA make of the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e.program import Ended, Inside, assert_clear
from support.deployments.proxied import Place
from support.projects.policies import rule
from support.records.audited import KEY, write_log
from support.records.receipts import checked
from support.records.sessions import RULES, Session, make_session

from ironcurtain.enforcement.audit.hash_chain import head_text
from ironcurtain.enforcement.audit.record_types import GENESIS
from ironcurtain.enforcement.audit.witness import append
from ironcurtain.system.json_text import digest_bytes

PATHS = ["docs/a", "docs/b", "work/c"]
MODE = [rule("hard", "deny", tool=["read"], args=[{"name": "mode", "op": "matches", "value": "h.*"}]), *RULES]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = make_session(tmp_path_factory.mktemp("session"))
    made.record("raw", PATHS)
    made.record("abstract", PATHS, abstract=True)
    made.record("beyond", PATHS, out_of_reach=("docs/b",))
    made.bundle(RULES)
    return made


def receipt(
    inside: Inside, session: Session, *options: str, bundle: str = "bundle.tar.gz", file: str = "receipt.json"
) -> Ended:
    (session.root / file).unlink(missing_ok=True)
    more = ["--directory", str(session.audit), "--bundle", str(session.root / bundle)]
    return inside("audit", "receipt", *options, *more, "-o", str(session.root / file))


def written(session: Session) -> Any:
    return json.loads((session.root / "receipt.json").read_text())


def again(session: Session, log: str, *, bundle: str = "bundle.tar.gz") -> tuple[int, str]:
    heads = session.audit / "heads" / f"{log}.json"
    return checked(session.root / "receipt.json", session.root / bundle, heads)


def test_the_script_needs_nothing_of_ours() -> None:
    command = [sys.executable, "-I", "-S", "-c", "import ironcurtain"]
    assert (
        b"No module named 'ironcurtain'" in subprocess.run(command, capture_output=True, check=False).stderr
    )


@pytest.mark.parametrize("log", ["raw", "abstract"])
def test_a_call_is_decided_again_by_plain_opa(log: str, session: Session, inside: Inside) -> None:
    ended = receipt(inside, session, "id0002", "--log", log)
    assert (ended.code, ended.err) == (0, "")
    assert "receipt.json: 1 record (1 decided), complete, proved up to line 8 of" in ended.out
    (record,) = written(session)["records"]
    assert (record["line"], record["record"]["verdict"]) == (6, "escalate")
    assert record["sentence"] == {"clause": "C1", "text": record["sentence"]["text"]}
    (subject,) = record["input"]["subjects"].values()
    assert (subject["value"] == str(session.home / "work/c")) is (log == "raw")
    assert ("docs" in json.dumps(record)) is False
    assert again(session, log) == (0, "1 records without gaps, 1 decided again as recorded\n")


def test_one_call_is_decided_by_opa_eval_itself(session: Session, inside: Inside, tmp_path: Path) -> None:
    receipt(inside, session, "id0002", "--log", "raw")
    (tmp_path / "input.json").write_text(json.dumps(written(session)["records"][0]["input"]))
    query = ["opa", "eval", "-b", str(session.root / "bundle.tar.gz"), "-i", str(tmp_path / "input.json")]
    said = subprocess.run(
        [*query, "--format", "raw", "data.ironcurtain.decision.decision"], capture_output=True, check=True
    )
    assert json.loads(said.stdout)["verdict"] == "escalate"


@pytest.mark.parametrize(("log", "decided", "lines"), [("raw", 4, 7), ("beyond", 3, 6)])
def test_a_period_has_no_gap(log: str, decided: int, lines: int, session: Session, inside: Inside) -> None:
    ended = receipt(inside, session, "--since", "2020-01-01", "--log", log)
    assert (ended.code, ended.err) == (0, "")
    found = written(session)
    kinds = [each["kind"] for each in found["records"]]
    assert (found["complete"], kinds.count("decided"), len(kinds)) == (True, decided, lines)
    refused = [words for words in found["not_shown"] if "refused call" in words]
    assert len(refused) == (log == "beyond") == kinds.count("refused")
    assert again(session, log) == (0, f"{lines} records without gaps, {decided} decided again as recorded\n")


def test_every_call_under_a_sentence(session: Session, inside: Inside) -> None:
    rules = [*RULES[:2], RULES[2] | {"clause": "C2"}]
    session.record("sentences", PATHS, rules=rules)
    session.bundle(rules, "sentences.tar.gz")
    ended = receipt(inside, session, "--clause", "C1", "--log", "sentences", bundle="sentences.tar.gz")
    assert (ended.code, ended.err) == (0, "")
    found = written(session)
    assert {each["sentence"]["clause"] for each in found["records"]} == {"C1"}
    assert (len(found["records"]), found["complete"]) == (3, False)
    assert any("no other such calls" in words for words in found["not_shown"])
    assert again(session, "sentences", bundle="sentences.tar.gz")[1].startswith("3 records with gaps, 3 dec")


def test_a_signed_archive_is_what_decided(session: Session, inside: Inside) -> None:
    key = session.root / "signing.pem"
    assert inside("key", "new", "-o", str(key)).code == 0
    session.bundle(RULES, "signed.tar.gz", key=key)
    session.record("signed", PATHS, key=key)
    ended = receipt(inside, session, "id0000", "--log", "signed", bundle="signed.tar.gz")
    assert (ended.code, ended.err) == (0, "")
    assert ", signed\n" in ended.out
    assert len(written(session)["bundle"]["signatures"]) == 1
    assert again(session, "signed", bundle="signed.tar.gz")[0] == 0
    # The unsigned twin has the same rules, and is not the archive that decided.
    assert_clear(receipt(inside, session, "id0000", "--log", "signed"), 3, "IC3101")


def test_a_witness_ends_the_chain_early(session: Session, inside: Inside) -> None:
    seals = [json.loads(line)["seal"] for line in (session.audit / "raw.jsonl").read_bytes().splitlines()]
    witness = session.root / "witness"
    for count in (3, 8):
        append(witness, "raw", count, seals[count - 1], KEY)
    key = ["--key", str(session.root / "key")]
    ended = receipt(inside, session, "id0000", "--log", "raw", "--witness", str(witness), *key)
    assert (ended.code, len(written(session)["chain"]["digests"])) == (0, 2), ended.err
    assert checked(session.root / "receipt.json", session.root / "bundle.tar.gz", witness)[0] == 0


def test_a_digest_that_cannot_stand_in_for_a_comparison(session: Session, inside: Inside) -> None:
    session.bundle(MODE, "mode.tar.gz")
    session.record("hard", PATHS, rules=MODE, abstract=True, mode="hard")
    refuse(receipt(inside, session, "id0000", "--log", "hard", bundle="mode.tar.gz"), session, "tests mode")
    session.record("soft", PATHS, rules=MODE, abstract=True, mode="soft")
    ended = receipt(inside, session, "id0000", "--log", "soft", bundle="mode.tar.gz")
    assert (ended.code, ended.err) == (0, "")
    assert "soft" not in json.dumps(written(session)["records"])
    assert again(session, "soft", bundle="mode.tar.gz")[0] == 0


def test_a_redacted_value_that_a_rule_tests_and_one_that_none_does(session: Session, inside: Inside) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    session.bundle(MODE, "mode.tar.gz")
    session.record("tested", PATHS, rules=MODE, mode=secret)
    refuse(receipt(inside, session, "id0000", "--log", "tested", bundle="mode.tar.gz"), session, "tests mode")
    session.record("untested", PATHS, mode=secret)
    ended = receipt(inside, session, "id0000", "--log", "untested")
    assert (ended.code, ended.err) == (0, "")
    (record,) = written(session)["records"]
    assert record["input"]["args"]["mode"].startswith("[redacted:")
    assert any("`[redacted:…]`" in words for words in written(session)["not_shown"])
    assert again(session, "untested")[0] == 0


def test_records_of_before_and_lines_of_before(session: Session, inside: Inside) -> None:
    write_log(session.audit, 1, session="before")
    refuse(receipt(inside, session, "d000000", "--log", "before"), session, "an older version")
    place = session.record("sealed", PATHS)
    seal, lines = GENESIS, []
    for line in place.path.read_bytes().splitlines():
        content = b'{"previous":"' + seal.encode() + line[line.index(b'","record":') : line.index(b',"seal"')]
        seal = digest_bytes(content)
        lines.append(content + f',"seal":"{seal}"}}\n'.encode())
    place.path.write_bytes(b"".join(lines))
    place.head.write_bytes(head_text("sealed", len(lines), seal, KEY))
    refuse(receipt(inside, session, "id0000", "--log", "sealed"), session, "sealed by an older version")


def refuse(ended: Ended, session: Session, why: str) -> None:
    assert_clear(ended, 1, "IC2003")
    assert why in ended.err
    assert not (session.root / "receipt.json").exists()


def test_what_is_refused_writes_nothing(session: Session, inside: Inside) -> None:
    session.bundle(RULES[1:], "other.tar.gz")
    assert_clear(receipt(inside, session, "id0000", "--log", "raw", bundle="other.tar.gz"), 3, "IC3101")
    for wrong in (["--clause", "C9"], ["nothing"], [], ["id0000", "--clause", "C1"], ["--since", "soon"]):
        assert_clear(receipt(inside, session, *wrong, "--log", "raw"), 2, "IC1001")
    session.record("changed", PATHS)
    file = session.audit / "changed.jsonl"
    file.write_bytes(file.read_bytes().replace(b"docs/a", b"docs/b"))
    assert_clear(receipt(inside, session, "id0000", "--log", "changed"), 3, "IC3404")
    assert not (session.root / "receipt.json").exists()


@pytest.mark.parametrize("values", ["redacted", "abstract"])
def test_calls_through_the_proxy_up_to_what_its_witness_was_told(
    values: str, tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest in the log is that of the published archive, and the proxy's own key verifies the log."""
    place = Place(tmp_path.resolve())
    witness, file = place.root / "witness", place.root / "receipt.json"

    async def session() -> None:
        options = ("--witness", str(witness), "--audit-values", values)
        async with place.client(*options) as client:
            assert not (await client.call_tool("fix__echo", {"text": "hush"})).is_error
            await client.call_tool("fix__echo", {"text": 7})

    anyio.run(session)
    monkeypatch.setenv("HOME", str(place.home))
    options = ["--since", "2020-01-01", "--bundle", str(place.bundle), "--witness", str(witness)]
    ended = inside("audit", "receipt", *options, "-o", str(file))
    assert (ended.code, ended.err) == (0, "")
    kinds = [each["kind"] for each in json.loads(file.read_text())["records"]]
    assert (kinds[0], kinds.count("decided"), kinds.count("refused")) == ("decided", 1, 1)
    assert ("hush" in file.read_text()) is (values == "redacted")
    code, said = checked(file, place.bundle, witness)
    assert (code, said) == (0, f"{len(kinds)} records without gaps, 1 decided again as recorded\n")
