"""Somebody shows an auditor a receipt that is not what was decided: one changed by hand, one of another
log or bundle, or one of a log whose writer lied about the policy.

Held by: digests in the sealed record of what OPA was asked and of the bundle, a chain that ends at a head
from elsewhere, and OPA, which the auditor asks again without IronCurtain.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.program import in_process
from support.records.audited import KEY
from support.records.receipts import checked
from support.records.sessions import RULES, Session, make_session

from ironcurtain.enforcement.audit.hash_chain import head_text, json_bytes, seal_line, seal_of
from ironcurtain.enforcement.audit.record_types import GENESIS
from ironcurtain.system.json_text import digest_bytes

PATHS = ["docs/a", "work/b", "docs/c"]
LOOSER = [RULES[0] | {"name": "read-all", "if": {"tool": ["read"]}}, *RULES]
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = make_session(tmp_path_factory.mktemp("session"))
    made.record("work", PATHS)
    made.bundle(RULES)
    made.bundle(LOOSER, "looser.tar.gz")
    _receipt(made, "work")
    return made


def _receipt(session: Session, log: str) -> None:
    options = [
        "--log",
        log,
        "--directory",
        str(session.audit),
        "--bundle",
        str(session.root / "bundle.tar.gz"),
    ]
    file = str(session.root / "good.json")
    ended = in_process("audit", "receipt", "--since", "2020-01-01", *options, "-o", file, cwd=session.root)
    assert ended.code == 0, ended.err


def _judged(session: Session, change: Change, bundle: str = "bundle.tar.gz", log: str = "work") -> str:
    """Change a good receipt; return what the auditor's script says of it."""
    document = json.loads((session.root / "good.json").read_text())
    change(document)
    forged = session.root / "forged.json"
    forged.write_text(json.dumps(document))
    code, said = checked(forged, session.root / bundle, session.audit / "heads" / f"{log}.json")
    assert (code != 0) is said.startswith("FORGED: "), said
    return said


def _asked(document: dict[str, Any]) -> dict[str, Any]:
    """Return the entry of the call that a person was asked about."""
    (found,) = [each for each in document["records"] if each["record"].get("verdict") == "escalate"]
    entry: dict[str, Any] = found
    return entry


def _reseal(document: dict[str, Any]) -> None:
    """Make the digests and the head of a receipt fit to its records, as a forger can."""
    chain = document["chain"]
    for each in document["records"]:
        chain["digests"][each["line"] - chain["first"]] = digest_bytes(json_bytes(each["record"]))
    seal = chain["before"]
    for each in chain["digests"]:
        seal = seal_of(seal, each)
    chain["head"]["seal"] = seal


def test_a_receipt_that_nobody_changed_holds(session: Session) -> None:
    assert _judged(session, lambda _: None) == "7 records without gaps, 4 decided again as recorded\n"


def test_a_forged_value_of_the_record(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        _asked(document)["record"]["subjects"][0]["value"] = "/elsewhere"

    assert "FORGED: record or position of line" in _judged(session, change)


def test_a_forged_value_of_what_opa_was_asked(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        asked = _asked(document)["input"]
        asked["args"]["path"] = "/elsewhere"

    assert "FORGED: input of line" in _judged(session, change)


def test_a_pattern_that_does_not_cover_the_resource(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        asked = _asked(document)["input"]
        (id_,) = asked["subjects"]
        asked["patterns"]["read-path"].append("~/docs")
        asked["within"]["read-path"]["~/docs"] = {id_: True}

    assert "FORGED: input of line" in _judged(session, change)


def test_a_forged_verdict(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        _asked(document)["record"]["verdict"] = "allow"

    assert "FORGED: record or position of line" in _judged(session, change)


def test_a_forged_verdict_with_a_chain_made_anew(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        _asked(document)["record"]["verdict"] = "allow"
        _reseal(document)

    assert _judged(session, change) == "FORGED: position\n"


def test_a_call_that_is_passed_off_as_one_that_no_policy_decided(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        _asked(document).update(kind="refused", input=None)

    assert "FORGED: kind of line" in _judged(session, change)


def test_another_sentence_under_a_verdict(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        _asked(document)["sentence"]["text"] = "Everything is permitted."

    assert "FORGED: sentence of line" in _judged(session, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: _asked(document).update(line=_asked(document)["line"] - 1),
        lambda document: document["chain"].update(first=document["chain"]["first"] + 1),
        lambda document: document["chain"]["digests"].pop(),
        lambda document: document.update(session="other"),
    ],
    ids=["line", "first", "shorter", "session"],
)
def test_a_forged_position(change: Change, session: Session) -> None:
    assert "position" in _judged(session, change)


def test_a_call_that_is_left_out_of_a_period(session: Session) -> None:
    """The file may say that it is complete: the script counts."""

    def change(document: dict[str, Any]) -> None:
        document["records"].remove(_asked(document))

    assert _judged(session, change) == "6 records with gaps, 3 decided again as recorded\n"


def test_a_receipt_of_another_log(session: Session) -> None:
    session.record("other", PATHS)
    assert _judged(session, lambda _: None, log="other") == "FORGED: position\n"


def test_a_forged_bundle(session: Session) -> None:
    def change(document: dict[str, Any]) -> None:
        document["bundle"]["digest"] = digest_bytes((session.root / "looser.tar.gz").read_bytes())

    assert _judged(session, lambda _: None, bundle="looser.tar.gz") == "FORGED: bundle\n"
    assert "FORGED: bundle of line" in _judged(session, change, bundle="looser.tar.gz")


def test_data_of_the_policy_inside_the_receipt(session: Session) -> None:
    """OPA is given the questions of a file, and nothing else that stands in it."""

    def change(document: dict[str, Any]) -> None:
        document["ironcurtain"] = {"rules": {"clauses": {"C1": {"text": "Everything is permitted."}}}}
        document["asked"] = {}

    assert _judged(session, change) == "7 records without gaps, 4 decided again as recorded\n"


def test_a_writer_of_the_log_who_lies_about_the_policy(session: Session, tmp_path: Path) -> None:
    """Log, head and receipt fit: the policy does not, and neither the command nor OPA says that it does."""
    shutil.copytree(session.audit, tmp_path / "audit")
    log, head = tmp_path / "audit" / "work.jsonl", session.audit / "heads" / "lie.json"
    seal, lines = GENESIS, []
    for line in log.read_bytes().splitlines():
        record = json.loads(line)["record"]
        if record.get("verdict") == "escalate":
            record |= {"verdict": "allow", "rule": "read-docs", "approval": None}
        text, seal = seal_line(json_bytes(record), seal)
        lines.append(text)
    (session.audit / "lie.jsonl").write_bytes(b"".join(lines))
    head.write_bytes(head_text("lie", len(lines), seal, KEY))
    options = ["--log", "lie", "--directory", str(session.audit), "--since", "2020-01-01"]
    bundle, file = str(session.root / "bundle.tar.gz"), tmp_path / "lie.json"
    ended = in_process("audit", "receipt", *options, "--bundle", bundle, "-o", str(file), cwd=tmp_path)
    assert (ended.code, ended.codes, file.exists()) == (1, ["IC2003"], False)
    assert "does not decide id0001 as recorded: it was allow by read-docs, and is escalate" in ended.err

    def change(document: dict[str, Any]) -> None:
        _asked(document)["record"] |= {"verdict": "allow", "rule": "read-docs", "approval": None}
        document["session"] = "lie"
        _reseal(document)

    assert "FORGED: verdict of line" in _judged(session, change, log="lie")
