"""A constitution that speaks of what is no tool call: sampling and resources (specification 2.10)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Inside
from fixtures.tiny_project import ANNOTATIONS, RULES, answer, write_project

from ironcurtain.compiler.annotate.changes import published_annotations

CLAUSES = """\
- Resources (`mcp/resources-read`) that are files in `~/notes` may be read.
- A server may ask the client's model (`mcp/sampling`) with a person's word.
"""
SCENARIOS = """\
  - id: resource
    call: {server: notes, tool: mcp/resources-read, arguments: {uri: /home/user/notes/a, scheme: file}}
    expect: allow
  - id: other-resource
    call: {server: notes, tool: mcp/resources-read, arguments: {uri: /etc/passwd, scheme: file}}
    expect: deny
  - {id: model, call: {server: notes, tool: mcp/sampling, arguments: {request: {}}}, expect: escalate}
"""


def rule(name: str, clause: str, then: str, **conditions: Any) -> dict[str, Any]:
    fixed = {"name": f"notes-{name}", "description": "", "reason": "As the clause says."}
    return {**fixed, "clause": clause, "if": conditions, "then": then}


RESOURCES = rule(
    "allow-resources",
    "C5",
    "allow",
    tool=["mcp/resources-read"],
    paths=[{"roles": ["read-path"], "within": ["~/notes"]}],
)
SAMPLING = rule("ask-sampling", "C6", "escalate", tool=["mcp/sampling"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path)
    for name, more in (("constitution.md", CLAUSES), ("scenarios.yaml", SCENARIOS)):
        with (tmp_path / name).open("a") as file:
            file.write(more)
    (tmp_path / "questions").mkdir()
    return tmp_path


def test_rules_about_reserved_tools_compile_and_are_no_drift(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Inside(monkeypatch)
    assert program("compile", cwd=project).code == 4
    answer(project, "annotate-notes-1", ANNOTATIONS)
    assert program("compile", cwd=project).code == 4
    asked = (project / "questions" / "rules-notes.md").read_text()
    assert "mcp/sampling" in asked
    assert "mcp/prompts-get" not in asked
    answer(project, "rules-notes", {**RULES, "rules": [*RULES["rules"], RESOURCES, SAMPLING]})
    compiled = program("compile", cwd=project)
    assert compiled.code == 0, compiled.err
    published = json.loads((project / "generated" / "tool-annotations.json").read_text())
    assert "mcp/sampling" in [tool["tool"] for tool in published["servers"]["notes"]["tools"]]
    compared = published_annotations(project / "generated")
    assert compared is not None
    assert [tool.tool for tool in compared.servers["notes"].tools] == ["list_tags", "read_note"]
    drift = program("drift", cwd=project)
    assert drift.code == 0, drift.out
