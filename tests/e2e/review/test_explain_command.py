"""`ironcurtain explain` and `ironcurtain narrow`, as people run them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from e2e.program import ROOT, SHIPPED, Ended, Inside

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import session_log
from ironcurtain.enforcement.audit.recorder import Recorder
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.policy import Policy

DENIED = ("filesystem", "write_file", '{"path": "~/Documents/a", "content": "x"}')


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home/Documents", "home/Downloads", "work"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "home"


def explain(inside: Inside, home: Path, *arguments: str, bundle: Path = SHIPPED) -> Ended:
    site = ("--bundle", str(bundle), "--home", str(home), "--sandbox", str(home.parent / "work"))
    return inside("explain", *site, *arguments)


def valid(name: str, text: str) -> Any:
    document = json.loads(text)
    jsonschema.validate(document, json.loads((ROOT / "schemas" / f"{name}.json").read_text()))
    return document


def test_for_an_operator(inside: Inside, home: Path) -> None:
    ended = explain(inside, home, *DENIED)
    assert ended.code == 0
    assert "DENY  filesystem/write_file" in ended.out
    assert 'C9 (constitution.md:19) "The agent must not add' in ended.out
    assert "close:   filesystem-allow-downloads (allow), failed: write-path in ~/Downloads" in ended.out
    assert f'filesystem write_file {{"path": "{home}/Downloads/a", "content": "x"}}' in ended.out
    document = valid("explanation", explain(inside, home, "--format", "json", *DENIED).out)
    assert document["decision"]["verdict"] == "deny"
    assert document["suggestions"][0]["verdict"] == "allow"
    markdown = explain(inside, home, "--format", "markdown", *DENIED).out
    assert markdown.startswith("# Deny: filesystem/write\\_file\n")
    assert "| 5. check the structure | passed | nothing to add |" in markdown


def test_for_an_agent(inside: Inside, home: Path) -> None:
    ended = explain(inside, home, "--view", "agent", *DENIED)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        'Writing to what "path" names is not permitted.',
        "Other arguments may be permitted.",
        "No approval can permit it.",
        "Decision: not recorded",
    ]
    document = valid("agent-view", explain(inside, home, "--view", "agent", "--format", "json", *DENIED).out)
    assert document["state"] == "denied"


def test_hostile_arguments_cannot_reach_the_terminal(inside: Inside, home: Path) -> None:
    call = ("filesystem", "write_file", '{"path": "/tmp/\\u202eb", "content": "\\u001b[2J|<img>"}')
    for format_ in ("text", "markdown"):
        ended = explain(inside, home, "--format", format_, *call)
        assert ended.code == 0
        assert "\u202e" not in ended.out + ended.err
        assert "\x1b" not in ended.out + ended.err
    assert "<img>" not in ended.out


def test_a_clause(inside: Inside) -> None:
    options = ("explain", "--bundle", str(SHIPPED), "--clause")
    ended = inside(*options, "C19")
    assert ended.code == 0
    assert ended.out.startswith('C19 (constitution.md:32) "Throwing away uncommitted work')
    assert "git-ask-clean (escalate)" in ended.out
    assert "Scenarios that test it: git-checkout-branch" in ended.out
    document = valid("clause-explanation", inside(*options, "C8", "--format", "json").out)
    assert {rule["name"] for rule in document["rules"]} == {"filesystem-allow-read-documents"}
    assert {cell["verdict"] for cell in document["cells"]} == {"allow"}
    assert "read-documents" in document["scenarios"]
    assert not [name for name in document["scenarios"] if name.startswith("call.")]
    assert (document["exactness"], document["reasons"]) == ("exact", {})
    with Policy.load(SHIPPED, home="/home/user", sandbox="/home/user/sandbox") as policy:
        for call in document["examples"]:
            assert policy.decide(call["server"], call["tool"], call["arguments"]).clause == "C8"
    assert (inside(*options, "C99").code, inside(*options, "C99").codes) == (2, ["IC1402"])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("filesystem", "write_file"),
        ("--clause", "C8", *DENIED),
        ("--today", "x", *DENIED),
        ("--id", "x", "--clause", "C8"),
        ("--id", "x", *DENIED),
        ("--scenarios", "x", *DENIED),
        ("--clause", "C8", "--view", "agent"),
        ("--record", "no-such-file"),
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: tuple[str, ...], inside: Inside, home: Path) -> None:
    ended = explain(inside, home, *arguments)
    assert (ended.code, ended.out) == (2, "")


# -- records -------------------------------------------------------------------------------------


OUT_OF_REACH = {"rule": ReservedRule.SANDBOX_OUT_OF_REACH.value, "reason": "its sandbox does not reach it"}


def write_log(home: Path) -> Path:
    """Decide two calls, and record them as the proxy does; the second one also as one that it refused."""
    place = session_log(home.parent / "audit", "work")
    with Policy.load(SHIPPED, home=home, sandbox=home.parent / "work") as policy:
        recorder = Recorder(PolicyContent.of(policy.bundle), policy.loaded)

        async def write() -> None:
            async with AuditLog(place) as log:
                for number, arguments in enumerate(("{}", DENIED[2])):
                    call = Call(DENIED[0], DENIED[1], arguments)
                    decision = await policy.adecide(DENIED[0], DENIED[1], arguments)
                    ready = prepare(call, policy.loaded)
                    if number:  # as the proxy refuses what a server's sandbox does not reach
                        beyond = decision.model_copy(update=OUT_OF_REACH)
                        await log.decision(
                            recorder.decision(call, ready, beyond, id_="beyond", forwarded=False)
                        )
                    record = recorder.decision(call, ready, decision, id_=f"d{number}", forwarded=False)
                    await log.decision(record)

        asyncio.run(write())
    return place.path


def other_bundle(directory: Path) -> Path:
    """Return the shipped bundle with every denial of its rules allowed, built by hand."""
    policy = json.loads((ROOT / "generated" / "compiled-policy.json").read_text())
    for rule in policy["rules"]:
        if rule["name"] == "filesystem-deny-change-documents":
            rule["then"] = "escalate"
    path = directory / "policy.json"
    path.write_text(json.dumps(policy))
    return path


def test_a_record_is_decided_again(inside: Inside, home: Path) -> None:
    log = write_log(home)
    ended = explain(inside, home, "--record", str(log))
    assert ended.code == 0
    assert "DENY  filesystem/write_file" in ended.out
    assert "The record's own bundle (sha256:" in ended.out
    assert "decides it as recorded." in ended.out
    agent = explain(inside, home, "--record", str(log), "--id", "d1", "--view", "agent")
    assert agent.out.endswith("Decision: d1\n")
    assert explain(inside, home, "--record", str(log), "--id", "none").codes == ["IC1001"]
    assert explain(inside, home, "--record", str(log), "--id", "d0").codes == ["IC1402"]
    beyond = explain(inside, home, "--record", str(log), "--id", "beyond")
    assert (beyond.code, beyond.out, beyond.codes) == (2, "", ["IC1402"])
    assert "holds no decision of the policy to explain: it is deny by sandbox-out-of-reach" in beyond.err
    assert "Its reason: its sandbox does not reach it" in beyond.err


def test_a_recorded_decision_is_found_by_how_its_id_begins(
    inside: Inside, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRONCURTAIN_HOME", str(home.parent))
    write_log(home)
    agent = explain(inside, home, "--record", "work", "--id", "d1", "--view", "agent")
    assert agent.out.endswith("Decision: d1\n"), agent.err
    assert "it is deny by sandbox-out-of-reach" in explain(inside, home, "--id", "bey").err
    several = explain(inside, home, "--record", "work", "--id", "d")
    assert (several.code, several.codes) == (2, ["IC1001"])
    assert 'there are 2 decisions whose id begins with "d"' in several.err
    assert explain(inside, home, "--id", "d1", "--today", str(SHIPPED)).code == 0


def test_another_revision_is_refused_unless_asked_for_today(inside: Inside, home: Path) -> None:
    log, new = write_log(home), home.parent / "new"
    built = inside(
        "bundle",
        "--policy", str(other_bundle(home.parent)),
        "--annotations", str(ROOT / "generated" / "tool-annotations.json"),
        "--lists", str(ROOT / "generated" / "dynamic-lists.json"),
        "--output", str(new),
    )  # fmt: skip
    assert built.code == 0, built.err
    refused = explain(inside, home, "--record", str(log), bundle=new)
    assert (refused.code, refused.out, refused.codes) == (3, "", ["IC3101"])
    assert "--today says what another one decides" in refused.err
    today = explain(inside, home, "--record", str(log), "--today", str(new))
    assert today.code == 1
    assert "it was deny by filesystem-deny-change-documents, and is escalate by" in today.out
    same = explain(inside, home, "--record", str(log), "--today", str(SHIPPED), "--format", "json")
    assert same.code == 0
    document = valid("explanation", same.out)
    assert document["reproduction"]["same"]
    assert document["today"]["same"]


# -- narrowing -----------------------------------------------------------------------------------


def test_narrow(inside: Inside) -> None:
    ended = inside("narrow", str(SHIPPED), "filesystem", "move_file")
    assert ended.code == 0
    assert ended.out.startswith("filesystem/move_file: narrowed\n  destination: May be written: the sandbox")
    document = valid("narrowing", inside("narrow", str(SHIPPED), "--format", "json").out)
    assert len(document["tools"]) == 44  # of two servers, and resources of each, which rules open
    assert inside("narrow", str(SHIPPED), "nobody").code == 2
