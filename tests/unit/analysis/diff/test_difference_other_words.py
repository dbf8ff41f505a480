"""What two policies say in other words is told, and is neither loosened nor tightened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.projects.planted import WORLD
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Difference, OtherWords, text_lines
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

OPA = OpaCommand(find(None))


def policy(directory: Path, reason: str, *clauses: tuple[str, str]) -> Bundle:
    directory.mkdir()
    told: list[dict[str, Any]] = [{"id": id_, "text": text} for id_, text in clauses]
    rules = [rule("ask", "escalate", server=["fs"]) | {"reason": reason}]
    return open_bundle(
        write_bundle(directory, {"fs": [tool("read", path=["read-path"])]}, rules, policy={"clauses": told}),
        Trust(),
    )


def compared(tmp_path: Path, old: Any, new: Any) -> Difference:
    return difference(policy(tmp_path / "old", *old), policy(tmp_path / "new", *new), WORLD, OPA)


def test_other_reasons_and_sentences_are_told(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        ("It reads.", ("C1", "Ask before reading."), ("C2", "Be kind.")),
        ("It may read secrets.", ("C1", "Ask before each reading."), ("C3", "Be brief.")),
    )
    assert found.changes == ()
    assert found.words == (
        OtherWords(of="clause", name="C1", old="Ask before reading.", new="Ask before each reading."),
        OtherWords(of="clause", name="C2", old="Be kind."),
        OtherWords(of="clause", name="C3", new="Be brief."),
        OtherWords(of="rule", name="ask", old="C1: It reads.", new="C1: It may read secrets."),
    )
    lines = [*text_lines(found)]
    assert lines[0] == "In other words: 4"
    assert lines[-1] == "The two policies decide every call alike: proved."


def test_the_same_policy_says_nothing_otherwise(tmp_path: Path) -> None:
    same = ("It reads.", ("C1", "Ask before reading."))
    assert compared(tmp_path, same, same).words == ()


def test_words_that_hide_something_are_shown(tmp_path: Path) -> None:
    found = compared(tmp_path, ("It reads.", ("C1", "a")), ("It reads.\u202e", ("C1", "<b>\n::error::")))
    shown = "\n".join(text_lines(found))
    assert "\u202e" not in shown
    assert "now: <b>\\n::error::" in shown
