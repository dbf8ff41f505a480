"""What `diff` ends with: 0 where nothing is loosened, 1 where something is, 3 where that is not proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.cli.main import run

READ = tool("read", path=["read-path"])
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
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
        made = write_bundle(tmp_path / side, {"s": [READ, SEND]}, POLICIES[name], policy=PEOPLE)
        paths.append(str(made))
    ended = run(["diff", *paths, *options])
    assert (ended, says in capsys.readouterr().out) == (code, True)
