"""What `diff` ends with: 0 where nothing is loosened, 1 where something is, 3 where that is not proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.cli.main import run

READ = tool("read", path=["read-path"])
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
# No e-mail address consists of digits, so no call of the tool can be made.
NUMBERED = {"type": "object", "properties": {"to": {"type": "string", "pattern": "^[0-9]+$"}}}
MAIL = tool("mail", to=["recipient"]) | {"input_schema": NUMBERED | {"required": ["to"]}}
SEND = tool("send", text=["none"]) | {"input_schema": SCHEMA}
NOTES = rule("notes", "allow", tool=["read"], paths=[{"roles": ["read-path"], "within": ["~/notes"]}])
ALL = rule("all", "allow", tool=["read"], paths=[{"roles": ["read-path"], "within": ["~"]}])
SENT = rule("sent", "allow", tool=["send"])


def asks(pattern: str) -> dict[str, Any]:
    return rule("ask", "escalate", tool=["send"], args=[{"name": "text", "op": "matches", "value": pattern}])


# A set of Unicode is followed in part only, so that calls may have been missed.
UNFOLLOWED = asks("\\pL+")
SUPERVISED = rule("sent", "escalate", tool=["send"]) | {"approver": "supervisor"}
POLICIES = {
    "supervised": [SUPERVISED],
    "customer-asked": [SUPERVISED | {"approver": "customer"}],
    "narrow": [NOTES],
    "wide": [ALL],
    "unfollowed": [UNFOLLOWED, SENT, NOTES],
    "unfollowed-wide": [UNFOLLOWED, SENT, ALL],
    "unmade": [rule("mail", "allow", tool=["mail"])],
}
PEOPLE = {
    "approvers": {
        "customer": {"meaning": "whom the agent acts for", "is_caller": True},
        "supervisor": {"meaning": "a supervisor"},
    }
}


@pytest.mark.parametrize(
    ("old", "new", "options", "code", "says"),
    [
        ("narrow", "narrow", [], 0, "ok    difference: 0 loosened, 0 tightened"),
        ("wide", "narrow", [], 0, "0 loosened, 1 tightened"),
        ("narrow", "wide", [], 1, "1 loosened"),
        ("supervised", "customer-asked", [], 1, "so not enforced against customer for s/send"),
        ("customer-asked", "supervised", [], 0, "0 loosened, 1 tightened"),
        ("unfollowed", "unfollowed", [], 3, "that nothing else is loosened is not proved"),
        ("unmade", "unmade", ["--accept-sampled"], 3, "0 tightened; not examined"),
        ("unfollowed-wide", "unfollowed", [], 3, "1 tightened; sampled, not exact"),
        ("unfollowed", "unfollowed", ["--accept-sampled"], 0, "0 tightened; sampled, not exact"),
        ("unfollowed", "unfollowed-wide", [], 1, "1 loosened, 0 tightened; sampled, not exact"),
        ("unfollowed", "unfollowed-wide", ["--accept-sampled"], 1, "1 loosened, 0 tightened; sampled"),
    ],
)
def test_a_difference_ends_with_what_was_found_of_it(
    old: str,
    new: str,
    options: list[str],
    code: int,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = []
    for side, name in (("old", old), ("new", new)):
        (tmp_path / side).mkdir()
        tools = [READ, SEND, *([MAIL] if name == "unmade" else [])]
        made = write_bundle(tmp_path / side, {"s": tools}, POLICIES[name], policy=PEOPLE)
        paths.append(str(made))
    ended = run(["diff", *paths, *options])
    assert (ended, says in capsys.readouterr().out) == (code, True)


def test_a_guarantee_about_calls_that_cannot_be_made_has_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = write_bundle(tmp_path, {"s": [SEND, MAIL]}, POLICIES["unmade"])
    demanded = tmp_path / "guarantees.yaml"
    about = ["mail", "send"]
    demanded.write_text(
        "format: ironcurtain/guarantees/v1\nguarantees:\n"
        + "".join(f"  - {{id: {name}, never: allow, when: {{tool: [{name}]}}}}\n" for name in about)
    )
    assert run(["guarantees", str(bundle), "--file", str(demanded)]) == 3
    printed = capsys.readouterr().out
    assert "FAIL  mail: never allow, not examined" in printed
    assert "not examined: no call of s/mail could be made" in printed
    assert "/to is not exactly one e-mail address" in printed
    assert run(["diff", str(bundle), str(bundle), "--guarantees", str(demanded), "--accept-sampled"]) == 3
    assert "??    guarantees: 2, 1 not examined" in capsys.readouterr().out
    assert run(["findings", str(bundle)]) == 1
    assert "unexamined-tool" in capsys.readouterr().out
    scenarios = tmp_path / "scenarios.yaml"
    scenarios.write_text(
        "format: ironcurtain/scenarios/v1\nworld: {home: /home/user, sandbox: null}\nscenarios: []\n"
    )
    named = ["--scenarios", str(scenarios), "--guarantees", str(demanded)]
    assert run(["verify", str(bundle), *named]) == 1
    printed = capsys.readouterr().out
    assert "??    guarantees: 2, 1 not examined" in printed
    assert "not examined: opa check, opa test, guarantees" in printed
