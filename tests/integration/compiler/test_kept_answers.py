"""Answers that were paid for: which are used again, which go on, and which are a person's from now on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.tiny_project import RULES, tree
from support.projects.modelled import Place, Playing
from support.projects.notes_project import READ, TOOLS, Notes, rules_about
from support.services.model_server import ANTHROPIC

CALLER = {"sub": "u17", "age": 41}
DECLARED = """
[caller.sub]
type = "string"
meaning = "Who it is."
example = "u17"
from = "the token"
[caller.age]
type = "number"
meaning = "How old they are."
example = 41
from = "the token"
"""
NEW_CLAUSE = "- Notes in `~/notes` and in `~/archive` may be read."
CHANNEL = {
    "arg": "channel",
    "name": "channel",
    "description": "A channel.",
    "guidance": "Where a note comes from.",
    "case": "exact",
}


def intended(name: str, path: str, expect: str = "allow") -> dict[str, Any]:
    call = {"server": "notes", "tool": "read_note", "arguments": json.dumps({"path": path})}
    return {"id": name, "clause": "C2", **call, "caller": json.dumps(CALLER), "expect": expect, "why": "So."}


@pytest.fixture
def project(place: Place) -> Notes:
    found = Notes(place)
    (found.directory / "ironcurtain.toml").write_text(DECLARED)
    found.answers["intent"] = [{"scenarios": [intended("one", "/home/user/notes/b")]}]
    return found


def edit_clause(project: Notes) -> None:
    constitution = project.directory / "constitution.md"
    text = constitution.read_text()
    constitution.write_text(text.replace("- Notes in `~/notes` may be read.", NEW_CLAUSE))
    assert constitution.read_text() != text


def answers(project: Notes, key: str) -> list[Path]:
    return sorted((project.directory / "generated" / "answers").glob(f"{key}-*.json"))


def test_intent_scenarios_name_the_caller_and_survive_a_compile_that_asks_for_none(project: Notes) -> None:
    assert project.compile("--intent").code == 0
    assert project.calls == {"annotate": 1, "rules": 1, "intent": 1}
    (scenario,) = (
        s for s in project.published("test-scenarios.json")["scenarios"] if s.get("origin") == "intent"
    )
    assert scenario["call"]["caller"] == CALLER
    before = tree(project.directory / "generated")
    for flags in ((), ("--locked",)):
        assert project.compile(*flags).code == 0
        assert tree(project.directory / "generated") == before
    assert project.calls == {}
    assert project.compile("--no-intent").code == 0
    assert project.scenarios("intent") == {}


def test_intent_scenarios_of_another_constitution_are_left_out_and_it_is_said(project: Notes) -> None:
    assert project.compile("--intent").code == 0
    edit_clause(project)
    project.model.requests.clear()
    result = project.compile()
    assert result.code == 0, result.err
    assert project.calls == {"rules": 1}
    assert project.scenarios("intent") == {}
    assert "compile with --intent to have them written anew" in result.err


def test_an_edited_clause_shows_the_model_the_rules_in_force(project: Notes) -> None:
    assert project.compile().code == 0
    edit_clause(project)
    project.model.requests.clear()
    project.answers["rules"] = [rules_about("~/notes", "~/archive")]
    project.start_over("rules")
    assert project.compile().code == 0
    (text,) = project.texts("rules")
    shown = json.loads(text.split("<previous-data>")[1].split("</previous-data>")[0])
    assert [rule["name"] for rule in shown["rules"]] == [rule["name"] for rule in RULES["rules"]]
    assert [rule["if"] for rule in shown["rules"]] == [rule["if"] for rule in RULES["rules"]]
    assert {rule.get("clause_was", "") for rule in shown["rules"]} == {"", "Notes in `~/notes` may be read."}
    project.model.requests.clear()
    assert project.compile("--refresh", "rules").code == 0
    (text,) = project.texts("rules")
    assert "<previous-data>" not in text  # a second opinion
    assert project.compile().code == 0
    assert project.calls == {"rules": 1}


def test_an_interrupted_refresh_goes_on_where_it_stopped(project: Notes) -> None:
    assert project.compile().code == 0
    project.answers["rules"] = [Playing(ANTHROPIC.answer("", "refusal")), RULES]
    project.start_over("rules")
    project.model.requests.clear()
    everything = ("--refresh", "annotate", "--refresh", "rules")
    assert project.compile(*everything).code == 3
    assert project.calls == {"annotate": 1, "rules": 1}
    assert project.compile(*everything).code == 0
    assert project.calls == {"rules": 1}
    assert project.compile(*everything).code == 0
    assert project.calls == {"annotate": 1, "rules": 1}  # that refresh was over; this is the next one


def test_a_refresh_that_did_not_verify_asks_once_more(project: Notes) -> None:
    assert project.compile().code == 0
    project.answers["rules"] = [rules_about("~/nodes"), RULES]
    project.answers["judge"] = [
        {
            "judgements": [{"scenario": "read-note", "blame": "undecided", "expect": "allow", "why": "."}],
            "probes": [],
        }
    ]
    project.start_over("rules")
    project.model.requests.clear()
    assert project.compile("--refresh", "rules").code == 1
    assert project.compile("--refresh", "rules").code == 0
    assert project.calls["rules"] == 2


def test_an_edited_answer_is_checked_said_and_never_taken_for_the_models(project: Notes) -> None:
    assert project.compile().code == 0
    (path,) = answers(project, "rules-notes")
    document = json.loads(path.read_text())
    document["content"]["rules"][0]["reason"] = "Because I say so."
    path.write_text(json.dumps(document))
    project.model.requests.clear()
    result = project.compile("--locked")
    assert result.code == 0, result.err
    assert f"{path.name} was changed since it was given by anthropic:m" in result.err
    (path,) = answers(project, "rules-notes")
    kept = json.loads(path.read_text())
    assert (kept["provider"], kept["model"]) == ("manual", None)
    manifest = json.loads((project.directory / "generated" / "bundle" / ".manifest").read_text())
    assert "manual" in json.dumps(manifest)
    assert "was changed since" not in project.compile("--locked").err
    document["content"]["rules"][0]["then"] = "perhaps"
    path.write_text(json.dumps(document))
    spoilt = project.compile("--locked")
    assert (spoilt.code, "IC4002" in spoilt.err) == (4, True)


def test_a_proposed_role_is_accepted_before_any_rule_is_asked_for(project: Notes) -> None:
    properties = {**READ["inputSchema"]["properties"], "channel": {"type": "string"}}
    project.write_tools({**READ, "inputSchema": {**READ["inputSchema"], "properties": properties}})
    listed, read = TOOLS["tools"]

    def annotated(role: str) -> dict[str, Any]:
        return {**read, "args": [*read["args"], {"name": "channel", "roles": [role]}]}

    proposing = {**annotated("none"), "proposed_roles": [CHANNEL]}
    project.answers["annotate"] = [{"tools": [listed, proposing]}, {"tools": [listed, annotated("channel")]}]
    told = project.run("annotate", "--model", "m", "--saved-tools")
    assert (told.code, "for notes read_note channel" in told.err) == (0, True)
    assert '\n[[roles]]\nname = "channel"\ndescription = "A channel."\n' in told.err
    result = project.compile()
    assert (result.code, project.calls) == (4, {"annotate": 1})
    assert "error[IC1104]: the answer proposes the role channel for notes read_note channel" in result.err
    _, _, block = result.err.partition("\n\n")
    block = block[: block.index("\n\n")]
    assert block.startswith("[[roles]]\n")
    settings = project.directory / "ironcurtain.toml"
    settings.write_text(settings.read_text() + f"\n{block}\n" if settings.exists() else block)
    project.answers["rules"] = [
        {
            **RULES,
            "rules": [
                *RULES["rules"],
                {
                    **RULES["rules"][0],
                    "name": "notes-channel",
                    "if": {"lists": [{"roles": ["channel"], "allowed": ["general"]}]},
                },
            ],
        }
    ]
    project.start_over("rules")
    result = project.compile()
    assert result.code == 0, result.err
    assert project.calls == {"annotate": 1, "rules": 1}
    (role,) = project.published("tool-annotations.json")["roles"]
    assert role["name"] == "channel"
