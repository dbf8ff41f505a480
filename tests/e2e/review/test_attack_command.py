"""`ironcurtain attack` as people call it, on the shipped policies and on one with a weakness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.projects import shipped
from support.projects.policies import rule, tool, write_bundle
from support.records.audited import decided, write_decisions

from ironcurtain.cli.main import run
from ironcurtain.model.verdict import Verdict

BUNDLES = [
    shipped.ROOT / "generated" / "bundle",
    shipped.ROOT / "examples" / "office" / "generated" / "bundle",
]


@pytest.mark.parametrize("bundle", BUNDLES, ids=["shipped", "office"])
def test_nothing_looser_is_found_in_the_shipped_policies(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["attack", str(bundle), "--maximum", "1500", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    schema = json.loads((shipped.ROOT / "schemas" / "attack.json").read_text())
    Draft202012Validator(schema).validate(report)
    assert report["outcome"] == "not found"
    assert report["bases"]["scenario"] > 50
    assert sum(report["tried"].values()) == 1500
    assert any("for want of room" in each["what"] for each in report["left_out"])


def test_the_smallest_pair_that_breaks_a_policy_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {"type": "object", "properties": {"mode": {"type": "string"}}}
    push = tool("push", mode=["none"]) | {"input_schema": schema}
    forced = {"name": "mode", "op": "equals", "value": "force"}
    rules = [rule("no-force", "deny", tool=["push"], args=[forced]), rule("push", "allow", tool=["push"])]
    bundle = write_bundle(tmp_path, {"git": [push]}, rules)
    assert run(["attack", str(bundle)]) == 1
    told = capsys.readouterr().out
    assert 'deny by no-force (C1): git/push {"mode": "force"} (witness)' in told
    assert 'allow by push (C1): git/push {"mode": "FORCE"}' in told
    assert "found: " in told


def test_the_calls_of_a_log_are_attacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What people really call is respelled beside the bundle's own witnesses."""
    schema = {"type": "object", "properties": {"mode": {"type": "string"}, "note": {"type": "string"}}}
    push = tool("push", mode=["none"], note=["none"]) | {"input_schema": schema}
    forced = {"name": "mode", "op": "equals", "value": "force"}
    rules = [rule("no-force", "deny", tool=["push"], args=[forced]), rule("push", "allow", tool=["push"])]
    bundle = write_bundle(tmp_path, {"git": [push]}, rules)
    called = {"mode": "force", "note": "from the log"}
    given = {"server": "git", "tool": "push", "verdict": Verdict.DENY, "rule": "no-force", "subjects": ()}
    write_decisions(tmp_path / "logs", decided(1, arguments=called, **given))
    command = ["attack", str(bundle), "--format", "json"]
    assert run(command) == 1
    without = json.loads(capsys.readouterr().out)
    assert run([*command, "--recorded", "work", "--directory", str(tmp_path / "logs")]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["bases"] == {**without["bases"], "recorded": 1}
    assert sum(report["tried"].values()) > sum(without["tried"].values())


def test_a_log_that_is_not_there_is_no_attack(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attack", str(BUNDLES[0]), "--recorded", "no-such-session"]) in (2, 3)
    assert "no-such-session" in capsys.readouterr().err


def test_the_gate_attacks_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "object", "properties": {"mode": {"type": "string"}}}
    push = tool("push", mode=["none"]) | {"input_schema": schema}
    forced = {"name": "mode", "op": "equals", "value": "force"}
    rules = [rule("no-force", "deny", tool=["push"], args=[forced]), rule("push", "allow", tool=["push"])]
    bundle = write_bundle(tmp_path, {"git": [push]}, rules)
    call = {"server": "git", "tool": "push", "arguments": {"mode": "force"}}
    scenario = {"id": "no-force", "call": call, "expect": "deny"}
    document = {"format": "ironcurtain/scenarios/v1", "scenarios": [scenario]}
    (tmp_path / "test-scenarios.json").write_text(json.dumps(document))
    checks = {}
    for flags in ([], ["--attack"]):
        run(["verify", str(bundle), "--format", "json", *flags])
        report = json.loads(capsys.readouterr().out)
        checks[bool(flags)] = next(each for each in report["checks"] if each["name"] == "attack")
    assert checks[False]["status"] == "skipped"
    assert checks[True]["status"] == "failed"
    assert any(
        'git/push {"mode": "FORCE"}' in line for p in checks[True]["problems"] for line in p["details"]
    )
