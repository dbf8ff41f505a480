"""Another approver of an escalation is a difference: other people's approvals count than before."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Difference, statement, text_lines
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/u", sandbox="/home/u/work")
SEND = tool("send", text=["none"])
COPY_SCHEMA = {
    "type": "object",
    "properties": {"source": {"type": "string"}, "target": {"type": "string"}},
    "required": ["source", "target"],
}
COPY = tool("copy", source=["read-path"], target=["write-path"]) | {"input_schema": COPY_SCHEMA}
PEOPLE = {
    "customer": {"meaning": "whom the agent acts for", "is_caller": True},
    "supervisor": {"meaning": "a supervisor of the desk"},
    "auditor": {"meaning": "somebody of the audit"},
}


def asks(approver: str | None, name: str = "ask", **conditions: Any) -> dict[str, Any]:
    asking = rule(name, "escalate", **(conditions or {"tool": ["send"]}))
    return asking if approver is None else {**asking, "approver": approver}


def bundle(rules: list[dict[str, Any]], people: dict[str, Any] | None = None) -> Bundle:
    annotated = annotations_of({"s": [SEND, COPY]})
    return assemble(
        compiled(rules, approvers=people or PEOPLE),
        annotated,
        None,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def compared(old: Bundle, new: Bundle) -> Difference:
    return difference(old, new, WORLD, OpaCommand(find()))


@pytest.mark.parametrize(
    ("old", "new", "direction", "words"),
    [
        ("supervisor", None, "loosened", "escalate asked of supervisor → escalate asked of anybody"),
        (None, "supervisor", "tightened", "escalate asked of anybody → escalate asked of supervisor"),
        (
            "supervisor",
            "customer",
            "loosened",
            "asked of supervisor → escalate asked of customer, so not enforced against customer",
        ),
        ("customer", "supervisor", "tightened", "not enforced against customer → escalate asked of superv"),
        ("customer", None, "loosened", "so not enforced against customer → escalate asked of anybody"),
        # Nothing says who is stricter, and the auditor can approve now what they could not.
        ("supervisor", "auditor", "loosened", "asked of supervisor → escalate asked of auditor"),
    ],
)
def test_another_approver_is_a_change_with_a_call(
    old: str | None, new: str | None, direction: str, words: str
) -> None:
    result = compared(bundle([asks(old)]), bundle([asks(new)]))
    (change,) = result.changes
    assert change.direction == direction
    assert words in statement(change)
    assert change.witness is not None
    sides = (change.witness.old, change.witness.new)
    assert [each.approvers for each in sides] == [(name,) if name else () for name in (old, new)]
    assert (result.exactness, len(result.loosened)) == ("exact", int(direction == "loosened"))


def test_an_approver_who_becomes_the_principal_is_a_change() -> None:
    people = {**PEOPLE, "supervisor": {"meaning": "whom the agent acts for", "is_caller": True}}
    result = compared(bundle([asks("supervisor")]), bundle([asks("supervisor")], people))
    (change,) = result.loosened
    assert "asked of supervisor → escalate asked of supervisor, so not enforced" in statement(change)


def test_an_approval_of_one_approver_does_not_cover_the_change_to_another() -> None:
    changes = [
        compared(bundle([rule("no", "deny", tool=["send"])]), bundle([asks(approver)])).changes[0]
        for approver in (None, "supervisor", "customer")
    ]
    assert len({change.id for change in changes}) == len({change.meaning for change in changes}) == 3


def in_directory(role: str, within: str) -> dict[str, Any]:
    return {"tool": ["copy"], "paths": [{"roles": [role], "within": [within]}]}


def test_a_call_that_needs_the_same_approval_all_the_same_shows_no_change_and_hides_none() -> None:
    def rules(approver: str | None) -> list[dict[str, Any]]:
        read = asks(approver, "read", **in_directory("read-path", "~/a"))
        return [read, asks("supervisor", "write", **in_directory("write-path", "~/b"))]

    result = compared(bundle(rules("supervisor")), bundle(rules(None)))
    (change,) = result.loosened
    assert change.witness is None
    assert "needs the same approvals as before" in "\n".join(text_lines(result))


def test_another_approver_of_what_is_denied_all_the_same_is_masked() -> None:
    def rules(approver: str | None) -> list[dict[str, Any]]:
        denied = rule("no", "deny", tool=["copy"], roles=["write-path"], in_sandbox=True)
        return [denied, asks(approver, "read", **in_directory("read-path", "~/a"))]

    result = compared(bundle(rules("supervisor")), bundle(rules(None)))
    assert result.loosened == ()
    (change,) = result.changes
    assert change.masked_by == ("no",)
