"""Drift of real servers: what changed, what of the policy it touches, and what goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Inside
from fixtures.drifting_server import PAINT, listed

from ironcurtain.analysis.drift.drift import drift
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.annotate.tool_texts import text_findings
from ironcurtain.servers.tools import ListedServer, ToolListing, tool_digest

SERVER = Path(__file__).parents[2] / "fixtures" / "drifting_server.py"


@pytest.fixture
def words(project: Path) -> Path:
    """Let the server `notes` of the compiled project be one that changes; return the file that says how."""
    words = project / "words"
    entry = {"command": sys.executable, "args": [str(SERVER), str(words)], "sandbox": False}
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": entry}}))
    return words


def report(inside: Inside, project: Path, *more: str) -> tuple[int, dict[str, dict[str, Any]], Any]:
    """Run `drift`; return exit code, drifted tools by name, and the whole report."""
    ended = inside("drift", "--format", "json", *more, cwd=project)
    found = json.loads(ended.out)
    return ended.code, {tool["tool"]: tool for tool in found["tools"]}, found


@pytest.mark.usefixtures("words")
def test_no_drift(inside: Inside, project: Path) -> None:
    ended = inside("drift", cwd=project)
    assert (ended.code, ended.out) == (0, "0 tools drifted, 2 as annotated\n"), ended.err


def test_a_renamed_argument(inside: Inside, project: Path, words: Path) -> None:
    words.write_text("renamed")
    code, tools, whole = report(inside, project)
    assert (code, list(tools), whole["unchanged"]) == (1, ["read_note"], 1)
    tool = tools["read_note"]
    assert (tool["kind"], tool["changed"]) == ("changed", ["schema"])
    assert tool["arguments"]["renamed"] == {"path": "file"}
    assert [(rule["rule"], rule["clause"]) for rule in tool["rules"]] == [("notes-allow-read", "C2")]
    verdicts = {outcome["verdict"] for row in tool["rows"] for outcome in row["outcomes"]}
    assert verdicts == {"allow", "deny"}
    assert tool["texts"] == []


def test_a_description_that_orders_the_model_about(inside: Inside, project: Path, words: Path) -> None:
    words.write_text("told")
    ended = inside("drift", "--server", "notes", cwd=project)
    assert ended.code == 1
    assert "notes/list_tags changed (description); it is denied until it is annotated again" in ended.out
    assert 'WARNING: notes: the description of "list_tags" sets instructions aside' in ended.out
    assert "rule notes-allow-tags (allow, clause C3)" in ended.out


def test_what_a_server_writes_does_not_reach_the_terminal_raw(
    inside: Inside, project: Path, words: Path
) -> None:
    words.write_text("painted")
    ended = inside("drift", cwd=project)
    assert ended.code == 1
    assert ended.out.isprintable() or not {*ended.out} & {*PAINT, "\r"}
    assert "argument path is now called pa\\x1b[2J\\u202eth" in ended.out
    assert "list_tags changed (description)" in ended.out
    assert "\\x1b]0;owned\\x07" in ended.out


def test_a_tool_more_and_a_tool_less(inside: Inside, project: Path, words: Path) -> None:
    words.write_text("added gone")
    code, tools, whole = report(inside, project)
    assert (code, whole["unchanged"]) == (1, 1)
    assert {name: tool["kind"] for name, tool in tools.items()} == {"burn_note": "added", "list_tags": "gone"}
    assert tools["burn_note"]["rows"] == []
    assert [rule["rule"] for rule in tools["list_tags"]["rules"]] == ["notes-allow-tags"]


def test_a_server_that_fails_does_not_hide_the_others(inside: Inside, project: Path, words: Path) -> None:
    words.write_text("dies")
    other = project / "other"
    other.write_text("renamed")
    servers = {
        name: {"command": sys.executable, "args": [str(SERVER), str(path)], "sandbox": False}
        for name, path in (("notes", words), ("spare", other))
    }
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}))
    ended = inside("drift", cwd=project)
    assert (ended.code, ended.codes) == (3, ["IC3201"])
    assert "spare/read_note is new; it is denied until it is annotated" in ended.out
    assert "not read: notes" in ended.out


def test_a_server_that_is_not_configured(inside: Inside, project: Path) -> None:
    for named in (["--server", "nots"], ["nots"]):
        ended = inside("drift", *named, cwd=project)
        assert (ended.code, ended.codes) == (2, ["IC1005"])


@pytest.mark.usefixtures("words")
def test_a_name_is_a_server(inside: Inside, project: Path) -> None:
    """It was read as a bundle, of which there is none."""
    ended = inside("drift", "notes", cwd=project)
    assert (ended.code, ended.out) == (0, "0 tools drifted, 2 as annotated\n"), ended.err


@pytest.mark.parametrize("said", ["", "renamed", "told", "gone", "added", "renamed told added"])
def test_drift_is_exactly_another_digest(said: str, tiny: Path) -> None:
    content = PolicyContent.of(Bundle.read(tiny / "generated" / "bundle"))
    pinned = {tool.tool: tool.schema_digest for tool in content.annotations.servers["notes"].tools}
    live = tuple(
        ToolListing(name=tool.name, description=tool.description or "", input_schema=tool.input_schema)
        for tool in listed(set(said.split()))
    )
    now = {tool.name: tool_digest(tool) for tool in live}
    found = drift(content, {"notes": ListedServer(live)}, text_findings)
    different = {name for name in pinned.keys() | now.keys() if pinned.get(name) != now.get(name)}
    assert {tool.tool for tool in found.tools} == different
    assert found.unchanged == len(pinned.keys() & now.keys() - different)
