"""Of a tool whose calls cannot be made nothing is claimed: no claim about it is published."""

from __future__ import annotations

from fixtures.tiny_project import ANNOTATIONS
from integration.compiler.test_every_sentence import TAGS, answer, reason, rule
from support.projects.modelled import Place
from support.projects.notes_project import READ, Notes

TEXT = "- Tags may be listed.\n- Notes are read only with their author's leave.\n"
SCENARIOS = """\
format: ironcurtain/scenarios/v1
world: {home: /home/user, sandbox: /home/user/sandbox}
scenarios:
  - {id: tags, call: {server: notes, tool: list_tags, arguments: {}}, expect: allow}
"""


def test_a_claim_about_a_tool_of_which_no_call_could_be_made_is_not_published(place: Place) -> None:
    project = Notes(place)
    # No branch begins with a hyphen.
    branch = {"type": "object", "properties": {"branch": {"type": "string", "pattern": "^-"}}}
    project.write_tools({**READ, "inputSchema": {**branch, "required": ["branch"]}})
    args = [{"name": "branch", "roles": ["branch-name"]}]
    read = {**ANNOTATIONS["tools"][1], "contained": False, "args": args}
    project.answers["annotate"] = [{"tools": [ANNOTATIONS["tools"][0], read]}]
    claim = reason("C2", "judgement", "nobody can tell", tools=["read_note"])
    project.answers["rules"] = [answer([rule("allow-tags", "C1", TAGS)], claim)]
    (project.directory / "constitution.md").write_text(TEXT)
    (project.directory / "scenarios.yaml").write_text(SCENARIOS)
    result = project.compile()
    assert result.code == 1, result.err
    assert "said to be asked about because of the clause C2, and no call of it could be made" in result.err
    assert "nothing is known of a tool: no call of notes/read_note could be made" in result.err
    assert not (project.directory / "generated").exists()
