"""The semantic difference: what it shows, in which direction, and what it calls masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.projects import shipped

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Difference, markdown_lines, text_lines
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find


def compared(change: Callable[[list[dict[str, Any]]], object]) -> Difference:
    return difference(shipped.bundle(), shipped.bundle(change), shipped.world(), OpaCommand(find()))


def test_a_directory_more_is_one_statement_over_all_tools_with_a_call() -> None:
    def widen(rules: list[dict[str, Any]]) -> None:
        shipped.named(rules, "filesystem-allow-read-documents")["if"]["paths"][0]["within"].append("~/Mail")

    result = compared(widen)
    change, resource, moving = result.changes
    # A move would take the file away, which stays denied: its reading alone shows in no call.
    assert (moving.tools, moving.masked_by) == (
        ("filesystem/move_file",),
        ("filesystem-deny-delete-elsewhere",),
    )
    assert (change.direction, change.roles, change.where) == ("loosened", ("read-path",), ("~/Mail",))
    assert (change.old, change.new) == ("escalate", "allow")
    assert len(change.tools) > 5
    assert change.witness is not None
    assert (change.witness.old.verdict, change.witness.new.verdict) == ("escalate", "allow")
    assert change.old_rules == ("filesystem-ask-read-elsewhere (C12)",)
    assert change.new_rules == ("filesystem-allow-read-documents (C8)",)
    assert resource.tools == ("filesystem/mcp/resources-read",)
    assert result.loosened == (change, resource)
    assert result.exactness == "exact"
    assert any("read-path in ~/Mail: escalate → allow" in line for line in text_lines(result))
    assert next(iter(markdown_lines(result))).startswith("## Loosened: 3")


def test_a_change_that_another_role_hides_is_masked_and_is_no_loosening() -> None:
    # Every git tool that deletes there reads there, too, and that needs approval.
    def loosened(rules: list[dict[str, Any]]) -> None:
        shipped.named(rules, "git-ask-delete-in-downloads")["then"] = "allow"

    result = compared(loosened)
    assert {(change.roles, change.where) for change in result.changes} == {
        (("delete-path",), ("~/Downloads",))
    }
    assert all(change.witness is None for change in result.changes)
    assert {name for change in result.changes for name in change.masked_by} <= {
        "git-ask-clean",
        "git-ask-change-worktrees",
        "git-ask-outside-sandbox",
    }
    assert result.loosened == ()
    assert any("masked by" in line for line in text_lines(result))


def test_a_swap_without_effect_is_no_difference_and_one_with_effect_is() -> None:
    def harmless(rules: list[dict[str, Any]]) -> None:
        names = [rule["name"] for rule in rules]
        one, other = names.index("git-ask-clean"), names.index("git-ask-rewrite-history")
        rules[one], rules[other] = rules[other], rules[one]

    def harmful(rules: list[dict[str, Any]]) -> None:
        rules.insert(0, rules.pop([r["name"] for r in rules].index("filesystem-ask-write-elsewhere")))

    assert compared(harmless).changes == ()
    changes = compared(harmful).changes
    assert {(change.direction, change.old, change.new) for change in changes} == {
        ("loosened", "deny", "escalate"),
        ("tightened", "allow", "escalate"),
    }


def test_a_pattern_with_an_escape_of_its_own_is_escaped_once() -> None:
    def narrow(rules: list[dict[str, Any]]) -> None:
        test = {"name": "message", "op": "matches", "value": "[^\\x00-\\x7F]"}
        rules.insert(
            0,
            {"name": "odd", "clause": "C1", "reason": "so", "then": "deny"}
            | {"if": {"server": ["git"], "tool": ["git_commit"], "args": [test]}},
        )

    lines = [line for line in text_lines(compared(narrow)) if "x7F" in line]
    assert lines
    assert all("[^\\\\x00-\\\\x7F]" in line and "\\\\\\" not in line for line in lines)


def test_no_change_says_so() -> None:
    result = compared(lambda _: None)
    assert result.changes == ()
    assert list(text_lines(result)) == ["The two policies decide every call alike: proved."]
