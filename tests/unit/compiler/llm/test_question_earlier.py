"""What changed between two forms of a question, and the answer as it would be given to the new one."""

from __future__ import annotations

from typing import Any

from ironcurtain.compiler.llm.question import changes
from ironcurtain.compiler.rules.clause_routes import rename_clauses

THEN = {"C1": "Notes may be read.", "C2": "Files in Documents may be read.", "C3": "Nothing is deleted."}


def test_a_text_is_found_again_under_another_name() -> None:
    found = changes(THEN, {"C1": THEN["C3"], "C2": THEN["C1"], "C3": THEN["C2"]})
    assert found.names == {"C1": "C2", "C2": "C3", "C3": "C1"}
    assert found.lines == ()


def test_an_edited_text_is_told_from_one_that_is_gone_and_one_that_is_new() -> None:
    now = {
        "C2": THEN["C1"],
        "C3": "Files in Documents may be read and written.",
        "C4": "Ask before a push.",
    }
    found = changes(THEN, now)
    assert found.names == {"C1": "C2", "C2": "C3"}
    assert found.lines == (
        "- C2: Files in Documents may be read.",
        "+ C3: Files in Documents may be read and written.",
        "- C3: Nothing is deleted.",
        "+ C4: Ask before a push.",
    )


def test_what_clauses_hold_is_shown_without_what_harms_a_terminal() -> None:
    assert changes({}, {"C1": "x\u202ey\x1b[0m"}).lines == ("+ C1: x\\u202ey\\x1b[0m",)


def test_an_answer_follows_its_clauses_and_loses_those_that_are_gone() -> None:
    content: dict[str, Any] = {
        "rules": [{"name": "a", "clause": "C1"}, {"name": "b", "clause": "C3"}],
        "not_enforceable": [{"clause": "C2", "reason": "merged", "into": ["C1", "C3"]}],
    }
    assert rename_clauses(content, {"C1": "C2", "C2": "C3"}) == {
        "rules": [{"name": "a", "clause": "C2"}],
        "not_enforceable": [{"clause": "C3", "reason": "merged", "into": ["C2"]}],
    }
