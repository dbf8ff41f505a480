"""`ironcurtain init`: offline, repeatable, and a way to a first verified bundle; once as a program."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.program import Inside, program
from fixtures.tiny_project import answer, tree
from support.projects.agent_project import rules
from support.projects.notes_project import LIST, READ, TOOLS


def test_twice_is_once(tmp_path: Path, inside: Inside) -> None:
    first = program("init", "agent", cwd=tmp_path)
    assert (first.code, first.err) == (0, "")
    assert first.out.count("  ironcurtain ") == 6
    assert "  ironcurtain servers fetch          # install the servers that npx" in first.out
    before = tree(tmp_path)
    second = inside("init", "agent", cwd=tmp_path)
    assert second.code == 0
    assert "wrote" not in second.out
    assert tree(tmp_path) == before
    assert inside("init", "-q", "agent", cwd=tmp_path).out == ""


def test_lint_finds_nothing_in_what_init_writes(tmp_path: Path, inside: Inside) -> None:
    inside("init", cwd=tmp_path)
    ended = inside("lint", "--strict", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "")


def test_from_init_to_a_verified_bundle_by_hand(tmp_path: Path, inside: Inside) -> None:
    inside("init", cwd=tmp_path)
    # The annotations of its server ship with IronCurtain: nothing is asked about them.
    ended = inside("compile", "--saved-tools", cwd=tmp_path)
    assert ended.code == 4, ended.err
    assert "questions/rules-filesystem.md" in ended.err
    answer(tmp_path, "rules-filesystem", rules())
    ended = inside("compile", "--saved-tools", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert inside("verify", cwd=tmp_path).code == 0
    assert inside("compile", "--locked", "--saved-tools", cwd=tmp_path).code == 0


def test_beside_servers_that_are_there_init_leads_to_a_verified_bundle_of_them(
    tmp_path: Path, inside: Inside
) -> None:
    server = {"command": "/nowhere/at-all", "tools": "notes.json"}
    (tmp_path / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    (tmp_path / "notes.json").write_text(json.dumps({"tools": [LIST, READ]}))
    ended = inside("init", cwd=tmp_path)
    assert "the servers of mcp-servers.json: notes." in ended.out
    assert inside("lint", "--strict", cwd=tmp_path).code == 0
    ask = {
        "name": "notes-ask",
        "clause": "C3",
        "if": {"tool": ["list_tags", "read_note"]},
        "then": "escalate",
    }
    rules = {"rules": [{**ask, "description": "", "reason": "C3 says so."}], "not_enforceable": []}
    for key, content in (("annotate-notes-1", TOOLS), ("rules-notes", rules)):
        assert inside("compile", "--saved-tools", cwd=tmp_path).code == 4
        answer(tmp_path, key, content)
    ended = inside("compile", "--saved-tools", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert inside("verify", cwd=tmp_path).code == 0
