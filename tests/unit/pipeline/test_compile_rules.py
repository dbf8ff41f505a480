"""The rules stage: answers into rules, held to the checks of hand-written ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.errors import ListError, ModelFailedError
from ironcurtain.llm.question import Answer, Keep, Question, answer_to
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.pipeline.answers import AnswerBook
from ironcurtain.pipeline.clauses import read_clauses
from ironcurtain.pipeline.compile_rules import Compiled, RuleContext, compile_rules, rule_prefix
from ironcurtain.pipeline.lists import check_lists

TOOL = {
    "tool": "send",
    "side_effects": True,
    "input_schema": {
        "type": "object",
        "properties": {"to": {"type": "string"}, "url": {"type": "string"}, "n": {"type": "number"}},
    },
    "args": [
        {"name": "to", "roles": ["recipient"]},
        {"name": "url", "roles": ["fetch-url"]},
        {"name": "n", "roles": ["none"]},
    ],
}
CLAUSES = read_clauses(
    "# Principles\n\nBe careful.\n\n# Mail\n\n- Friends may get mail.\n- Be quick.\n", "c.md"
)


def context(*servers: str, lists: dict[str, NamedList] | None = None) -> RuleContext:
    document = {
        "format": "ironcurtain/annotations/v1",
        "servers": {name: {"tools": [TOOL]} for name in servers},
    }
    annotations = Annotations.model_validate_json(json.dumps(document))
    named = Lists(format="ironcurtain/lists/v1", lists=lists or {})
    return RuleContext(CLAUSES, annotations, named, frozenset())


def rule(name: str, then: str = "allow", **conditions: Any) -> dict[str, Any]:
    return {"name": name, "description": "", "clause": "C2", "if": conditions, "then": then, "reason": "r"}


class Scripted:
    """Answers each question with the rules given for its key."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        answers = []
        for question in questions:
            content = self._answers[question.key]
            if mistakes := question.mistakes(content):
                raise ModelFailedError("; ".join(mistakes))
            answers.append(answer_to(question, content, provider="scripted"))
            keep(answers[-1])
        return answers

    def published(self) -> None:
        """Do nothing."""


def run(tmp_path: Path, within: RuleContext, **answers: Any) -> Compiled:
    contents = {f"rules-{server}": content for server, content in answers.items()}
    return compile_rules(within, AnswerBook(tmp_path / "a", tmp_path / "k", lambda: Scripted(contents)))


def content(*rules: dict[str, Any], not_enforceable: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    reasons = [{"clause": clause, "reason": reason} for clause, reason in not_enforceable]
    return {"rules": list(rules), "not_enforceable": reasons}


def test_rules_are_merged_in_the_order_of_the_servers_and_confined_to_them(tmp_path: Path) -> None:
    compiled = run(
        tmp_path,
        context("zoo", "Bee"),
        zoo=content(rule("zoo-b", tool=["send"]), rule("zoo-a", roles=["recipient"])),
        Bee=content(rule("bee-x", tool=["send"])),
    )
    assert [found.name for found in compiled.policy.rules] == ["bee-x", "zoo-b", "zoo-a"]
    assert [found.if_.server for found in compiled.policy.rules] == [("Bee",), ("zoo",), ("zoo",)]


@pytest.mark.parametrize(("server", "prefix"), [("git", "git-"), ("My_Server-2", "my-server-2-")])
def test_the_prefix_of_rule_names(server: str, prefix: str) -> None:
    assert rule_prefix(server) == prefix


FRIENDS = [{"roles": ["recipient"], "allowed": ["@friends"]}]
MISTAKES: list[tuple[dict[str, Any], str]] = [
    (rule("other-name", tool=["send"]), "does not begin with s-"),
    (rule("s-Bad Name", tool=["send"]), "pattern"),
    (rule("s-a", tool=["snd"]), "'snd' is not one of"),
    (rule("s-a", roles=["read-path"]), "'read-path' is not one of"),
    (rule("s-a", lists=[{"roles": ["recipient"], "allowed": ["nobody"]}]), "s-a"),
    (rule("s-a", lists=[{"roles": ["fetch-url"], "allowed": ["x.example"]}]), "not one of"),
    (rule("s-a", lists=[{"roles": ["recipient"], "allowed": []}]), "at least 1 item"),
    (rule("s-a", domains=[{"roles": ["fetch-url"], "allowed": ["*.co.uk"]}]), "s-a"),
    (rule("s-a", domains=[{"roles": ["fetch-url"], "allowed": ["*.com"]}]), "s-a"),
    (rule("s-a", args=[{"name": "nothing", "op": "equals", "value": 1}]), "nothing"),
    (rule("s-a", args=[{"name": "to", "op": "equals", "value": "x"}]), "to"),
    (rule("s-a", args=[{"name": "n", "op": "in", "value": []}]), "s-a"),
    ({**rule("s-a", tool=["send"]), "clause": "C9"}, "'C9' is not one of"),
    ({**rule("s-a", tool=["send"]), "then": "permit"}, "'permit' is not one of"),
    ({**rule("s-a", tool=["send"]), "reason": ""}, "at least 1 character"),
]


@pytest.mark.parametrize(("bad", "said"), MISTAKES)
def test_a_rule_that_is_not_valid_is_refused(tmp_path: Path, bad: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelFailedError) as caught:
        run(tmp_path, context("s"), s=content(bad))
    assert said in caught.value.what


def test_a_name_is_given_once(tmp_path: Path) -> None:
    twice = content(rule("s-a", tool=["send"]), rule("s-a", tool=["send"]))
    with pytest.raises(ModelFailedError, match="given 2 times"):
        run(tmp_path, context("s"), s=twice)


def test_every_clause_has_a_rule_or_a_reason_or_a_finding(tmp_path: Path) -> None:
    answer = content(rule("s-a", tool=["send"]), not_enforceable=(("C3", "quick is no property of a call"),))
    assert run(tmp_path, context("s"), s=answer).findings == (
        "c.md:8: C3 is not enforceable: quick is no property of a call",
    )
    silent = run(tmp_path / "silent", context("s"), s=content(rule("s-a", tool=["send"])))
    assert silent.findings == ("c.md:8: C3 is implemented by no rule",)


def test_a_list_that_nobody_resolved_stops_the_compile_not_the_answer(tmp_path: Path) -> None:
    answer = content(rule("s-a", lists=FRIENDS))
    undefined = context("s")
    with pytest.raises(ListError, match="@friends, which is not defined") as caught:
        check_lists(undefined.lists, run(tmp_path, undefined, s=answer).policy)
    assert '"type": "recipient"' in caught.value.hint
    unresolved = context("s", lists={"friends": NamedList(type="recipient")})
    with pytest.raises(ListError, match="not resolved"):
        check_lists(unresolved.lists, run(tmp_path / "u", unresolved, s=answer).policy)
    resolved = {
        "friends": NamedList(type="recipient", resolved=("a@example.com",)),
        "idle": NamedList(type="domain"),
    }
    known = context("s", lists=resolved)
    notes = check_lists(known.lists, run(tmp_path / "r", known, s=answer).policy)
    assert notes == ("the list @idle is used by no rule",)


def test_a_list_of_the_wrong_type_is_refused(tmp_path: Path) -> None:
    wrong = context("s", lists={"friends": NamedList(type="domain", resolved=("example.com",))})
    with pytest.raises(ModelFailedError, match="friends"):
        run(tmp_path, wrong, s=content(rule("s-a", lists=FRIENDS)))
