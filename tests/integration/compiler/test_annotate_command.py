"""`ironcurtain annotate`: the manual flow against a real MCP server."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.program import Ended, in_process, program
from fixtures.tiny_project import ANNOTATIONS, answer, write_project
from support.generators.bad_entries import BAD_TOOLS, listing, server_of


def run(directory: Path, *arguments: str) -> Ended:
    return in_process(*arguments, cwd=directory)


def test_annotations_are_asked_for_printed_and_found_by_the_compile(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    asked = program("annotate", cwd=project)
    assert (asked.code, asked.out) == (4, "")
    assert "questions/annotate-notes-1.md" in asked.err
    assert run(project, "annotate", "--locked").code == 3
    answer(project, "annotate-notes-1", ANNOTATIONS)
    told = run(project, "annotate")
    assert told.code == 0, told.err
    assert "notes read_note: side effects, contained\n    path: read-path\n" in told.out
    as_file = json.loads(run(project, "annotate", "notes", "--format", "json").out)
    assert as_file["format"] == "ironcurtain/annotations/v1"
    assert [tool["tool"] for tool in as_file["servers"]["notes"]["tools"]] == ["list_tags", "read_note"]
    assert not (project / "generated").exists()
    compiled = run(project, "compile")
    assert "rules-notes.md" in compiled.err
    assert "annotate-notes" not in compiled.err


def test_a_server_that_is_not_configured_is_named(tmp_path: Path) -> None:
    told = run(write_project(tmp_path), "annotate", "notse")
    assert told.code == 2
    assert '"notse"' in told.err


def test_a_tool_that_is_none_costs_itself_and_is_named(tmp_path: Path) -> None:
    project = write_project(tmp_path)
    bad, said = BAD_TOOLS["empty-schema"]
    good = json.loads(run(project, "tools", "notes").out)["tools"]
    notes = server_of(listing(project, "raw", *good, bad))
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": notes}}))
    assert f"note: server notes: {said}" in run(project, "annotate").err
    answer(project, "annotate-notes-1", ANNOTATIONS)
    told = run(project, "annotate", "--format", "json")
    assert told.code == 0, told.err
    tools = json.loads(told.out)["servers"]["notes"]["tools"]
    assert [tool["tool"] for tool in tools] == ["list_tags", "read_note"]
    assert f"note: server notes: {said}" in run(project, "tools", "notes").err
