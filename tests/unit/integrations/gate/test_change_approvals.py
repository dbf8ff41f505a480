"""Approvals of changes: what one covers, and that it covers nothing else."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled, named_lists, rule, tool

from ironcurtain.analysis.diff.report import Difference
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.verify.gate_report import Check
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import FormatError, UsageError
from ironcurtain.integrations.gate.change_approvals import (
    DiffApproval,
    DiffApprovals,
    add_approvals,
    difference_check,
    draft,
    read_approvals,
    uncovered,
)
from ironcurtain.integrations.gate.report import compared
from ironcurtain.model.scenarios import DescribedWorld

TODAY = date(2027, 1, 2)
WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/sandbox")
READ, SEND = tool("read", path=["read-path"]), tool("send", to=["recipient"])
FRIENDS = {"friends": {"type": "recipient", "resolved": ["alice@example.com"]}}
ASK = rule("ask-read", "escalate", tool=["read"])
ASK_MAIL = rule("ask-send", "escalate", tool=["send"])


def reads(name: str, then: str, *within: str) -> dict[str, Any]:
    return rule(name, then, tool=["read"], paths=[{"roles": ["read-path"], "within": list(within)}])


def sends(*allowed: str) -> dict[str, Any]:
    return rule("send", "allow", tool=["send"], lists=[{"roles": ["recipient"], "allowed": list(allowed)}])


OLD = [reads("notes", "allow", "~/notes"), ASK, ASK_MAIL]
MAIL = [reads("notes", "allow", "~/notes", "~/Mail"), ASK, ASK_MAIL]


def bundle(rules: list[dict[str, Any]], *more: dict[str, Any], lists: dict[str, Any] | None = None) -> Bundle:
    annotated = annotations_of({"s": [READ, SEND, *more]})
    return assemble(
        compiled(rules),
        annotated,
        named_lists(lists) if lists else None,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def between(old: Bundle, new: Bundle) -> Difference:
    return compared(old, new, WORLD, OpaCommand(find()))


@pytest.fixture(scope="module")
def mail() -> Difference:
    return between(bundle(OLD), bundle(MAIL))


def approved(difference: Difference, expires: date | None = None) -> DiffApprovals:
    fresh = draft(difference.loosened, reason="wanted", approver="alice", expires=expires)
    return DiffApprovals(format="ironcurtain/diff-approvals/v1", approvals=fresh)


def judged(difference: Difference, approvals: DiffApprovals | None, today: date = TODAY) -> Check:
    check = difference_check(difference, approvals, Path("diff-approvals.yaml"), today)
    assert (check.status == "passed") == (not uncovered(difference, approvals, today))
    return check


def test_what_is_loosened_fails_until_it_is_approved(mail: Difference) -> None:
    failed = judged(mail, None)
    assert (failed.status, [p.severity for p in failed.problems]) == ("failed", ["error"])
    assert failed.problems[0].message == (
        "loosened without approval: read-path in ~/Mail: escalate → allow for s/read"
    )
    passed = judged(mail, approved(mail))
    assert (passed.status, [p.severity for p in passed.problems]) == ("passed", ["note"])
    assert "approved by alice: wanted" in passed.problems[0].details
    assert passed.summary == "1 loosened, 1 approved, 0 tightened"


@pytest.mark.parametrize(("day", "status"), [(2, "passed"), (3, "failed")])
def test_an_approval_counts_to_the_end_of_its_last_day(mail: Difference, day: int, status: str) -> None:
    check = judged(mail, approved(mail, expires=TODAY), date(2027, 1, day))
    assert check.status == status
    expired = any("expired on 2027-01-02" in line for p in check.problems for line in p.details)
    assert expired is (status == "failed")


def assert_other_meaning(other: Difference, given: Difference) -> None:
    """Assert that approvals of one difference have the words of another one, and do not cover it."""
    assert {c.id for c in other.loosened} >= {c.id for c in given.loosened} != set()
    check = judged(other, approved(given))
    assert check.status == "failed"
    assert any("meant something else" in line for p in check.problems for line in p.details)


def test_a_place_with_an_exception_is_another_place(mail: Difference) -> None:
    drafts = reads("no-drafts", "escalate", "~/Mail/Drafts")
    assert_other_meaning(between(bundle([drafts, *OLD]), bundle([drafts, *MAIL])), mail)


def test_a_list_that_got_a_member_is_another_list() -> None:
    more = {"friends": {"type": "recipient", "resolved": ["alice@example.com", "eve@example.com"]}}
    rules = [sends("@friends"), *OLD]
    given, other = (between(bundle(OLD, lists=each), bundle(rules, lists=each)) for each in (FRIENDS, more))
    assert_other_meaning(other, given)


def test_another_tool_of_the_same_name_is_another_tool(mail: Difference) -> None:
    document = {**READ, "args": [{"name": "path", "roles": ["read-path"], "recursive": True}]}

    def with_other(rules: list[dict[str, Any]]) -> Bundle:
        annotated = annotations_of({"s": [document, SEND]})
        release = Release(engine_version="test")
        return assemble(compiled(rules), annotated, None, registry=Registry(()), release=release)

    assert_other_meaning(between(with_other(OLD), with_other(MAIL)), mail)


def test_an_approval_of_another_start_is_not_covered(mail: Difference) -> None:
    # The new policy decides the place alike, but what is loosened was denied before.
    deny = {**ASK, "then": "deny"}
    other = between(bundle([OLD[0], deny, ASK_MAIL]), bundle([MAIL[0], deny, ASK_MAIL]))
    assert judged(other, approved(mail)).status == "failed"


def test_renaming_and_splitting_rules_keep_an_approval(mail: Difference) -> None:
    split = [reads("other-name", "allow", "~/Mail"), *OLD]
    other = between(bundle(OLD), bundle(split))
    assert [c.meaning for c in other.loosened] == [c.meaning for c in mail.loosened]
    assert judged(other, approved(mail)).status == "passed"


def test_a_second_change_needs_its_own(mail: Difference) -> None:
    both = [reads("notes", "allow", "~/notes", "~/Mail", "~/Music"), ASK, ASK_MAIL]
    assert judged(between(bundle(OLD), bundle(both)), approved(mail)).status == "failed"


def test_an_approval_of_nothing_is_named_and_fails_nothing(mail: Difference) -> None:
    check = judged(between(bundle(OLD), bundle(OLD)), approved(mail))
    assert (check.status, [p.severity for p in check.problems]) == ("passed", ["warning"])
    assert "is of no change between these two policies" in check.problems[0].message


def test_a_new_tool_is_approved_as_it_is_annotated_and_no_other_way() -> None:
    old, rules = bundle(OLD), [rule("peek", "allow", tool=["peek"]), *OLD]
    one = between(old, bundle(rules, tool("peek", path=["read-path"])))
    for other in (
        between(old, bundle(rules, tool("peek", path=["write-path"]))),
        between(
            old, bundle([*OLD, rule("peek", "escalate", tool=["peek"])], tool("peek", path=["read-path"]))
        ),
    ):
        assert_other_meaning(other, one)
    assert judged(one, approved(one)).status == "passed"


# -- the file ------------------------------------------------------------------------------------

APPROVAL = DiffApproval(
    change="0" * 12, meaning=f"sha256:{'a' * 64}", says="x → y", reason="it's: wanted", approver="alice"
)


def test_the_file_keeps_comments_and_replaces_what_is_of_the_same_change(tmp_path: Path) -> None:
    path = tmp_path / "diff-approvals.yaml"
    assert read_approvals(path, must_exist=False) is None
    other = APPROVAL.model_copy(update={"change": "1" * 12})
    add_approvals(path, [other, APPROVAL])
    path.write_text(path.read_text().replace("says: x → y", "says: x → y  # a person's remark", 1))
    newer = APPROVAL.model_copy(update={"meaning": f"sha256:{'b' * 64}", "expires": date(2027, 6, 30)})
    add_approvals(path, [newer])
    read = read_approvals(path, must_exist=True)
    assert read is not None
    assert read.approvals == (other, newer)
    assert "# a person's remark" in path.read_text()
    assert path.read_text().startswith("# Changes of the policy")


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        ({"change": "x"}, "change"),
        ({"meaning": "sha256:1"}, "meaning"),
        ({"reason": " "}, "reason"),
        ({"approver": ""}, "approver"),
        ({"expires": "2027-02-30"}, "expires"),
        ({"covers": "all"}, "covers"),
    ],
    ids=["change", "meaning", "reason", "approver", "expires", "unknown-key"],
)
def test_a_spoilt_file_is_refused(tmp_path: Path, spoilt: dict[str, str], says: str) -> None:
    entry = {**APPROVAL.model_dump(mode="json", exclude_none=True), **spoilt}
    lines = [f"{key}: {value!r}" for key, value in entry.items()]
    path = tmp_path / "diff-approvals.yaml"
    path.write_text("format: ironcurtain/diff-approvals/v1\napprovals:\n  - " + "\n    ".join(lines) + "\n")
    with pytest.raises(FormatError, match=says):
        read_approvals(path, must_exist=False)


def test_one_change_cannot_be_approved_twice_and_json_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the same change"):
        DiffApprovals(format="ironcurtain/diff-approvals/v1", approvals=(APPROVAL, APPROVAL))
    with pytest.raises(UsageError, match="written as YAML"):
        add_approvals(tmp_path / "a.json", [APPROVAL])
