"""The rules stage: answers into rules, held to the checks of hand-written ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.documents import at

from ironcurtain.compiler.annotate.confirmations import Confirmations, ConfirmedRule
from ironcurtain.compiler.lists.lists import check_lists
from ironcurtain.compiler.llm.question import Answer, EarlierAnswer, Keep, Question, answer_to
from ironcurtain.compiler.load.clause_ids import KnownClauses
from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.rules.compile_rules import Compiled, compile_rules, rule_prefix
from ironcurtain.compiler.rules.rule_context import RuleContext
from ironcurtain.compiler.scenarios.intent import tool_data
from ironcurtain.errors import ListError, ModelFailedError, SeveralErrors, UnconfirmedRuleError
from ironcurtain.model.annotations import Annotations, IdentifierRole
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.system.files import parse_document
from ironcurtain.system.structs import replace

TOOL: dict[str, Any] = {
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

    def given(self) -> Sequence[EarlierAnswer]:
        return ()

    def published(self) -> None:
        """Do nothing."""


def run(tmp_path: Path, within: RuleContext, routes: Any = None, **answers: Any) -> Compiled:
    contents = {f"rules-{server}": content for server, content in answers.items()}
    everywhere = dict.fromkeys(("C2", "C3"), sorted(answers))
    named = [{"clause": clause, "servers": to} for clause, to in {**everywhere, **(routes or {})}.items()]
    contents["clauses"] = {"clauses": named}
    return compile_rules(within, AnswerCache(tmp_path / "a", tmp_path / "k", lambda: Scripted(contents)))


QUICK = {"clause": "C3", "reason": "quick is no property of a call"}


def content(*rules: dict[str, Any], reasons: tuple[dict[str, Any], ...] = (QUICK,)) -> dict[str, Any]:
    return {"rules": list(rules), "not_enforceable": list(reasons)}


def test_rules_are_merged_in_the_order_of_the_servers_and_confined_to_them(tmp_path: Path) -> None:
    compiled = run(
        tmp_path,
        context("zoo", "Bee"),
        zoo=content(rule("zoo-b", "deny", tool=["send"]), rule("zoo-a", "escalate", roles=["recipient"])),
        Bee=content(rule("bee-x", "deny", tool=["send"])),
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
    with pytest.raises(ModelFailedError, match="two rules have the name"):
        run(tmp_path, context("s"), s=twice)


ASKED = rule("s-a", "escalate", tool=["send"])
SLOW = rule("s-slow", "escalate", tool=["send"]) | {"clause": "C3"}


def test_reasons_are_part_of_the_policy(tmp_path: Path) -> None:
    (claim,) = run(tmp_path, context("s"), s=content(ASKED)).policy.claims
    assert (claim.clause, claim.server, claim.kind) == ("C3", "s", "other")
    assert claim.reason == "quick is no property of a call"
    clock = content(ASKED, SLOW, reasons=({**QUICK, "kind": "clock", "tools": ["send"]},))
    (claim,) = run(tmp_path / "u", context("s"), s=clock).policy.claims
    assert (claim.kind, claim.tools) == ("clock", ("send",))


def test_a_tool_that_no_rule_allows_needs_no_further_rule_that_asks(tmp_path: Path) -> None:
    clock = content(ASKED, reasons=({**QUICK, "kind": "clock", "tools": ["send"]},))
    assert len(run(tmp_path, context("s"), s=clock).policy.rules) == 1


MERGED = {**QUICK, "kind": "merged"}


def test_a_clause_is_merged_into_one_that_has_rules(tmp_path: Path) -> None:
    merged = content(ASKED, reasons=({**MERGED, "into": ["C2"]},))
    (claim,) = run(tmp_path, context("s"), s=merged).policy.claims
    assert claim.into == ("C2",)


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ((), "clause C3 has no rule and no reason"),
        ((QUICK, QUICK), "clause C3 is given 2 reasons"),
        (({**QUICK, "reason": " "},), "the reason is empty"),
        ((MERGED,), "name in `into` the clauses whose rules keep it"),
        (({**MERGED, "into": ["C3"]},), "merged into C3, which has no rule"),
        (({**QUICK, "into": ["C2"]},), "`into` goes with the kind merged only"),
        (
            ({**QUICK, "clause": "C2", "kind": "not-here"}, QUICK),
            "said not to concern this server, and has a rule",
        ),
    ],
)
def test_no_clause_is_silently_dropped(tmp_path: Path, reasons: Any, said: str) -> None:
    with pytest.raises(ModelFailedError) as caught:
        run(tmp_path, context("s"), s=content(ASKED, reasons=reasons))
    assert said in caught.value.what


def test_a_clause_that_concerns_no_server_is_told(tmp_path: Path) -> None:
    elsewhere = content(reasons=({"clause": "C2", "kind": "not-here", "reason": "no mail"},))
    compiled = run(
        tmp_path,
        context("a", "b"),
        routes={"C2": ["a", "b"], "C3": []},
        a=content(rule("a-x", "deny", tool=["send"]), reasons=()),
        b=elsewhere,
    )
    (_, nowhere) = compiled.policy.claims
    assert (nowhere.clause, nowhere.server, nowhere.reason) == ("C3", None, "it concerns no server")


def test_a_server_that_no_clause_concerns_is_not_asked_about(tmp_path: Path) -> None:
    answers = {"a": content(rule("a-x", "deny", tool=["send"])), "b": "never read"}
    compiled = run(tmp_path, context("a", "b"), routes={"C2": ["a"], "C3": ["a"]}, **answers)
    assert [found.name for found in compiled.policy.rules] == ["a-x"]


@pytest.mark.parametrize(
    ("routes", "said"),
    [({"C3": ["c"]}, "'c' is not one of"), ({"C1": ["a"]}, "'C1' is not one of")],
)
def test_clauses_are_routed_to_servers_that_exist(tmp_path: Path, routes: Any, said: str) -> None:
    with pytest.raises(ModelFailedError) as caught:
        run(tmp_path, context("a", "b"), routes=routes, a=content(), b=content())
    assert said in caught.value.what


def test_a_list_that_nobody_resolved_stops_the_compile_not_the_answer(tmp_path: Path) -> None:
    answer = content(rule("s-a", lists=FRIENDS))
    undefined = context("s")
    with pytest.raises(ListError, match="@friends, which is not defined") as caught:
        check_lists(undefined.lists, run(tmp_path, undefined, s=answer).policy)
    assert "--type recipient" in caught.value.hint
    unresolved = context("s", lists={"friends": NamedList(type="recipient")})
    with pytest.raises(ListError, match="not resolved"):
        check_lists(unresolved.lists, run(tmp_path / "u", unresolved, s=answer).policy)
    resolved = {
        "friends": NamedList(type="recipient", resolved=("a@example.com",)),
        "idle": NamedList(type="domain"),
    }
    known = context("s", lists=resolved)
    check_lists(known.lists, run(tmp_path / "r", known, s=answer).policy)


def test_a_list_of_the_wrong_type_is_refused(tmp_path: Path) -> None:
    wrong = context("s", lists={"friends": NamedList(type="domain", resolved=("example.com",))})
    with pytest.raises(ModelFailedError, match="friends"):
        run(tmp_path, wrong, s=content(rule("s-a", lists=FRIENDS)))


UNLIMITED: list[dict[str, Any]] = [
    {"tool": ["send"]},
    {"side_effects": True},
    {"roles": ["recipient", "fetch-url"]},
    {"roles": ["none"]},
    {"domains": [{"roles": ["fetch-url"], "allowed": ["*"]}]},
    {"domains": [{"roles": ["fetch-url"], "allowed": ["example.com", "http://*"]}]},
    {"tool": ["send"], "args": [{"name": "n", "op": "equals", "value": 1, "or_absent": False}]},
    {"roles": ["fetch-url"], "lists": [{"roles": ["recipient"], "allowed": ["@friends"]}]},
]


@pytest.mark.parametrize("conditions", UNLIMITED)
def test_a_rule_that_allows_everything_is_sent_back(tmp_path: Path, conditions: dict[str, Any]) -> None:
    with pytest.raises(ModelFailedError, match='rule "s-a": it allows without a limit: send'):
        run(tmp_path, context("s"), s=content(rule("s-a", **conditions)))
    strict = content(rule("s-a", "escalate", **conditions))
    assert len(run(tmp_path / "strict", context("s"), s=strict).policy.rules) == 1


@pytest.mark.parametrize("quote", ["anybody may get mail", "", "friends may get mails"])
def test_words_that_the_clause_does_not_hold_permit_nothing(tmp_path: Path, quote: str) -> None:
    with pytest.raises(ModelFailedError, match=r"does not stand in the clause|without a limit"):
        run(tmp_path, context("s"), s=content({**rule("s-a", tool=["send"]), "clause_says": quote}))


def test_words_of_the_clause_permit_only_what_a_person_confirms(tmp_path: Path) -> None:
    answer = content({**rule("s-a", tool=["send"]), "clause_says": "friends  MAY get mail"})
    within = context("s")
    with pytest.raises(UnconfirmedRuleError) as caught:
        run(tmp_path, within, s=answer)
    assert "any recipient" in caught.value.what
    assert str(caught.value.where) == "c.md:7"
    entry = json.loads(caught.value.hint.split('"rules": ')[1])
    word = Confirmations(rules=(ConfirmedRule.model_validate({**entry, "by": "kim", "reason": "r"}),))
    assert len(run(tmp_path, replace(within, confirmations=word), s=answer).policy.rules) == 1
    other = content({**rule("s-a", side_effects=True), "clause_says": "friends may get mail"})
    with pytest.raises(UnconfirmedRuleError):
        run(tmp_path / "other", replace(within, confirmations=word), s=other)


def test_a_person_reads_the_conditions_and_confirms_several_rules_with_one_entry(tmp_path: Path) -> None:
    """Ten rules without a limit were ten entries, each to be judged by the name of its rule."""
    tests = [
        {"name": "n", "op": "equals", "value": 7, "or_absent": False},
        {"name": "n", "op": "in", "value": [1, 2], "or_absent": False},
    ]
    says = {"clause_says": "friends may get mail"}
    answer = content(
        *({**rule(f"s-{one['op']}", tool=["send"], args=[one]), **says} for one in tests),
    )
    within = context("s")
    with pytest.raises(SeveralErrors) as caught:
        run(tmp_path, within, s=answer)
    first, second = caught.value.errors
    assert "its conditions: tool send; n = 7; clause" in first.what
    assert "its conditions: tool send; n in 1, 2; clause" in second.what
    assert "digests" not in first.hint
    entry = json.loads(second.hint.split('"rules": ')[1])
    document = {"format": "ironcurtain/confirmations/v1", "rules": [{**entry, "by": "kim"}]}
    word = parse_document(json.dumps(document), "confirmations.yaml", Confirmations)
    confirmed = replace(within, confirmations=word)
    assert len(run(tmp_path, confirmed, s=answer).policy.rules) == 2
    changed = content({**rule("s-in", tool=["send"], args=[{**tests[1], "value": [1, 3]}]), **says})
    with pytest.raises(UnconfirmedRuleError, match="n in 1, 3"):
        run(tmp_path / "changed", confirmed, s=changed)


def test_a_directory_that_nobody_named_is_told(tmp_path: Path) -> None:
    document = context("s").annotations.model_dump(mode="json", exclude_unset=True)
    document["servers"]["s"]["tools"][0]["args"][1]["roles"] = ["read-path"]
    annotations = Annotations.model_validate_json(json.dumps(document))
    within = replace(context("s"), annotations=annotations, directories={"Friends": "/srv/friends"})
    paths = [{"roles": ["read-path"], "within": ["/srv/friends/a", "/srv/other"]}]
    answer = content(rule("s-a", paths=paths), reasons=(QUICK | {"kind": "not-here"},))
    (said,) = run(tmp_path, within, s=answer).findings
    assert '"/srv/other"' in said


def test_a_value_that_no_call_can_hold_is_sent_back(tmp_path: Path) -> None:
    wrong = rule(
        "s-a", "deny", tool=["send"], args=[{"name": "n", "op": "equals", "value": "7", "or_absent": False}]
    )
    with pytest.raises(ModelFailedError, match='"7" can never stand there'):
        run(tmp_path, context("s"), s=content(wrong))


def test_one_mistake_hides_no_other(tmp_path: Path) -> None:
    wrong = content(
        rule("other", tool=["send"]),
        rule("s-empty", lists=[]),
        rule("s-bad", lists=[{"roles": ["recipient"], "allowed": ["nobody"]}]),
        rule("s-open", tool=["send"]),
        rule("s-bare", "deny", args=[{"name": "n", "op": "gt", "value": 1}]),
        reasons=(QUICK, QUICK),
    )
    with pytest.raises(ModelFailedError) as caught:
        run(tmp_path, context("s"), s=wrong)
    for said in ("begin with s-", '"lists" is empty', '"s-bad"', "without a limit", "give `or_absent`"):
        assert said in caught.value.what
    readable = content(*wrong["rules"][2:], reasons=(QUICK, QUICK))
    with pytest.raises(ModelFailedError) as caught:
        run(tmp_path / "readable", context("s"), s=readable)
    assert '"s-bad"' in caught.value.what
    assert "clause C3 is given 2 reasons" in caught.value.what


class Written(Scripted):
    """Answers as scripted, and keeps what it was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__(answers)
        self.asked: dict[str, Question] = {}

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        self.asked |= {question.key: question for question in questions}
        return super().ask(questions, keep)


def test_editing_one_clause_shows_the_rules_that_are_in_force(tmp_path: Path) -> None:
    friends = rule("s-a", lists=FRIENDS)
    cache = AnswerCache(tmp_path / "a", tmp_path / "k", lambda: Scripted({"rules-s": content(friends)}))
    before = compile_rules(context("s"), cache).policy
    text = "# Mail\n\n- Be quick.\n- Friends may get mail.\n- Nobody gets two.\n"
    moved = content(
        {**friends, "clause": "C2"},
        reasons=({**QUICK, "clause": "C1"}, {"clause": "C3", "kind": "state", "reason": "no memory"}),
    )
    writer = Written({"rules-s": moved})
    later = AnswerCache(tmp_path / "a", tmp_path / "k", lambda: writer)
    edited = replace(context("s"), clauses=read_clauses(text, "c.md"), published=before)
    compile_rules(edited, later)
    asked = writer.asked["rules-s"]
    shown = json.loads(asked.text.split("<previous-data>")[1].split("</previous-data>")[0])
    # Each rule stands under the number that its clause has now.
    assert shown["rules"] == [{**friends, "clause": "C2"}]
    assert shown["not_enforceable"] == [{**QUICK, "clause": "C1"}]
    unseen = replace(edited, published=None)
    assert compile_rules(unseen, AnswerCache(tmp_path / "a", tmp_path / "k", None)).policy.rules
    known = KnownClauses(before.clauses)
    gone = replace(
        edited, clauses=read_clauses("# Mail\n\n- All may get mail.\n- Be quick.\n", "c.md", known)
    )
    writer = Written({"rules-s": content(friends)})
    compile_rules(gone, AnswerCache(tmp_path / "a", tmp_path / "k", lambda: writer))
    shown = json.loads(writer.asked["rules-s"].text.split("<previous-data>")[1].split("</previous-data>")[0])
    assert (shown["rules"][0]["clause"], shown["rules"][0]["clause_was"]) == ("C2", "Friends may get mail.")


def test_a_list_that_a_person_adds_asks_no_rules_again(tmp_path: Path) -> None:
    answer = content(rule("s-a", lists=FRIENDS))
    run(tmp_path, context("s"), s=answer)
    filled = {
        "friends": NamedList(type="recipient", added=("a@example.com",)),
        "others": NamedList(type="domain", added=("example.com",)),
    }
    kept = AnswerCache(tmp_path / "a", tmp_path / "k", None)
    assert compile_rules(context("s", lists=filled), kept).policy.rules[0].name == "s-a"


def test_roles_of_the_project_are_told_with_their_spelling(tmp_path: Path) -> None:
    role = IdentifierRole(name="channel", description="A channel.", case="fold", separator="/")
    plain = context("s")
    within = replace(plain, annotations=plain.annotations.model_copy(update={"roles": (role,)}))
    writer = Written({"rules-s": content(rule("s-a", lists=FRIENDS))})
    compile_rules(within, AnswerCache(tmp_path / "a", tmp_path / "k", lambda: writer))
    assert '"case": "fold"' in writer.asked["rules-s"].prompt


@pytest.mark.parametrize(
    "told",
    [
        '{"arg": "/other"}',
        '{"caller": "/sub"}',
        "`or_none`",
        "`measure`",
        "`*@partner.example`",
        "or null for",
    ],
)
def test_what_a_rule_can_say_is_explained_where_rules_are_asked_for(tmp_path: Path, told: str) -> None:
    writer = Written({"rules-s": content(rule("s-a", lists=FRIENDS))})
    compile_rules(context("s"), AnswerCache(tmp_path / "a", tmp_path / "k", lambda: writer))
    system = writer.asked["rules-s"].system
    assert told in system
    # A clause that nothing in a call shows is no reason to ask a person about every call.
    assert "no rule that asks a person about every call" in system


def test_an_enumeration_behind_a_reference_is_seen_by_who_writes_rules_and_scenarios(tmp_path: Path) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {**TOOL["input_schema"]["properties"], "mode": {"$ref": "#/$defs/Mode"}},
        "$defs": {"Mode": {"enum": ["soft", "hard"]}},
    }
    document = context("s").annotations.model_dump(mode="json", by_alias=True, exclude_unset=True)
    (tool,) = document["servers"]["s"]["tools"]
    tool |= {"input_schema": schema, "args": [*tool["args"], {"name": "mode", "roles": ["none"]}]}
    annotations = Annotations.model_validate_json(json.dumps(document))
    test = {"name": "mode", "op": "equals", "value": "hrad", "or_absent": False}
    wrong = content(rule("s-a", "deny", tool=["send"], args=[test]))
    writer = Written({"rules-s": wrong})
    within = replace(context("s"), annotations=annotations)
    with pytest.raises(ModelFailedError, match='"hrad" can never stand there; it takes "soft", "hard"'):
        compile_rules(within, AnswerCache(tmp_path / "a", tmp_path / "k", lambda: writer))
    (shown,) = json.loads(writer.asked["rules-s"].prompt.split("<tools-data>")[1].split("</tools-data>")[0])
    assert shown["input_schema"]["properties"]["mode"] == schema["$defs"]["Mode"]
    (annotated,) = annotations.servers["s"].tools
    assert at(tool_data("s", annotated), "input_schema", "properties", "mode") == schema["$defs"]["Mode"]
