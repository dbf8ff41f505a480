"""What is said to hold by structure of tools that are not exempt is not published, however it is worded."""

from __future__ import annotations

import json

import pytest
from fixtures.tiny_project import ANNOTATIONS, SCENARIOS
from integration.compiler.test_every_sentence import NOTES, TAGS, answer, reason, rule
from support.projects.modelled import Place
from support.projects.notes_project import READ, Notes

from ironcurtain.servers.tools import ToolListing, tool_digest

SENTENCES = (
    "The agent may read notes in its workspace.",
    "Notes that lie where the agent works are open to it.",
    "Reading within the session's own folder is fine.",
)
OTHERS = "- Notes in `~/notes` may be read.\n- Tags may be listed.\n"
IN_WORKSPACE = (
    "  - {id: own, call: {server: notes, tool: read_note, arguments: {path: /home/user/sandbox/a}}, "
    "expect: allow, clause: C3}\n"
)


def claiming(place: Place, sentence: str, *tools: str) -> Notes:
    project = Notes(place)
    (project.directory / "constitution.md").write_text(f"{OTHERS}- {sentence}\n")
    rules = [rule("allow-read", "C1", NOTES), rule("allow-tags", "C2", TAGS)]
    project.answers["rules"] = [answer(rules, reason("C3", "structural", "it is exempt", tools=list(tools)))]
    return project


@pytest.mark.parametrize("tools", [(), ("read_note",)], ids=["server", "tool"])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_structure_does_not_permit_is_not_published(
    place: Place, sentence: str, tools: tuple[str, ...]
) -> None:
    project = claiming(place, sentence, *tools)
    result = project.compile()
    of = "notes/read_note" if tools else "notes"
    assert result.code == 1, result.err
    assert f"C3 is said to hold by structure, and no call of {of} is exempt in the workspace" in result.err
    assert "are said to be asked about" not in result.err
    assert not (project.directory / "generated").exists()


def test_what_structure_permits_is_published_and_verifies(place: Place) -> None:
    project = claiming(place, SENTENCES[0], "read_note")
    project.answers["annotate"] = [ANNOTATIONS]
    confirmed = {
        "server": "notes",
        "tool": "read_note",
        "contained": True,
        "schema_digest": tool_digest(ToolListing.of(READ)),
        "by": "me",
        "reason": "It reads that file only.",
    }
    document = {"format": "ironcurtain/confirmations/v1", "confirmed": [confirmed]}
    (project.directory / "confirmations.yaml").write_text(json.dumps(document))
    (project.directory / "scenarios.yaml").write_text(SCENARIOS + IN_WORKSPACE)
    result = project.compile()
    assert result.code == 0, result.err
    assert "C3 holds by structure in its scenarios (structural-sandbox-allow)" in result.err
    assert project.run("verify", "generated/bundle").code == 0
