"""Attack: do without a tool what a rule forbids of the tool, and let the evidence know nothing of it.

A server answers more than tool calls: it hands out resources and prompts, completes, and asks the client's
model and user. A rule that names no tool, or a server or a caller alone, opens such requests too.

Held by: what can be called is what the bundle lists. Building it lists the requests that a rule could apply
to and says so; enforcement denies all others, and matrix, guarantees, sequences and diff speak of the same
list. No server may list a tool of such a name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, Inside
from support.projects.policies import CALLER, rule, tool

from ironcurtain.decision.reserved_tools import RESERVED
from ironcurtain.servers.tools import ToolListing, usable_tools

FILES = [tool("read_file", contained=False, path=["read-path"]), tool("send", contained=False, text=["none"])]
PRIVATE = {"roles": ["read-path"], "within": ["~/Private"]}
NEVER_PRIVATE: dict[str, Any] = {"id": "private", "never": "allow", "when": PRIVATE}
DENY_TOOL = rule("no-private", "deny", tool=["read_file"], paths=PRIVATE)
READ_ALL = rule("read", "allow", roles=["read-path"])
SECRET = {"uri": str(Path.home() / "Private/x"), "scheme": "file"}


class Project:
    """Bundles of hand-written rules, by the command line alone."""

    def __init__(self, directory: Path, inside: Inside) -> None:
        self.directory, self.inside = directory, inside

    def run(self, *arguments: str) -> Ended:
        """Run a command in the directory."""
        return self.inside(*arguments, cwd=self.directory)

    def bundle(
        self, name: str, *rules: dict[str, Any], tools: list[Any] | None = None, **policy: Any
    ) -> Ended:
        """Build a bundle of rules."""
        made = {
            "format": "ironcurtain/policy/v1",
            "clauses": [{"id": "C1", "text": "As said."}],
            "rules": rules,
        }
        listed = {"files": {"tools": tools or FILES}}
        self.write("rules.json", {**made, "caller": CALLER, **policy})
        self.write("tools.json", {"format": "ironcurtain/annotations/v1", "servers": listed})
        ended = self.run("bundle", "--policy", "rules.json", "--annotations", "tools.json", "-o", name)
        assert ended.code == 0, ended.err
        return ended

    def write(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a file."""
        (self.directory / name).write_text(json.dumps(document))

    def guarantees(self, bundle: str, *statements: dict[str, Any]) -> Ended:
        """Decide guarantees."""
        self.write("guarantees.yaml", {"format": "ironcurtain/guarantees/v1", "guarantees": statements})
        return self.run("guarantees", bundle)

    def verdict(self, bundle: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Decide a call as the proxy does."""
        (self.directory / "box").mkdir(exist_ok=True)
        decided = self.run(
            *("decide", "--bundle", bundle, "--sandbox", "box", "files", name),
            *(json.dumps(arguments), "--format", "json"),
        )
        return str(json.loads(decided.out)["verdict"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, Inside(monkeypatch))


def test_a_denied_file_is_read_as_a_resource(project: Project) -> None:
    built = project.bundle("b", DENY_TOOL, READ_ALL)
    assert "files/mcp/resources-read (read)" in built.err
    assert project.verdict("b", "mcp/resources-read", SECRET) == "allow"
    kept = project.guarantees("b", NEVER_PRIVATE)
    assert kept.code == 1
    assert "files/mcp/resources-read" in kept.out
    project.bundle("closed", {**DENY_TOOL, "if": {"paths": PRIVATE}}, READ_ALL)
    assert project.verdict("closed", "mcp/resources-read", SECRET) == "deny"
    assert "proved" in project.guarantees("closed", NEVER_PRIVATE).out


def test_a_label_is_dodged_by_reading_a_resource(project: Project) -> None:
    labels = {
        "private_read": {"source": "label", "clause": "C1", "from": {"tool": ["read_file"], "paths": PRIVATE}}
    }
    is_set = {"facts": [{"fact": "private_read", "op": "equals", "value": True}], "tool": ["send"]}
    rules = (READ_ALL, rule("quiet", "deny", **is_set), rule("send", "allow", tool=["send"]))
    project.bundle("b", *rules, facts=labels)
    after = {"after": {"roles": ["read-path"], "within": ["~/Private"]}, "allow": {"tool": ["send"]}}
    kept = project.guarantees("b", {"id": "quiet", "never": after})
    assert kept.code == 1, kept.out
    assert "files/mcp/resources-read" in kept.out
    labels["private_read"]["from"] = {"paths": PRIVATE}
    project.bundle("closed", *rules, facts=labels)
    assert "proved" in project.guarantees("closed", {"id": "quiet", "never": after}).out


@pytest.mark.parametrize(
    ("conditions", "opened"),
    [
        ({"roles": ["read-path"]}, {"mcp/resources-read"}),
        (
            {"server": ["files"]},
            {"mcp/resources-read", "mcp/prompts-get", "mcp/complete", "mcp/sampling", "mcp/elicitation"},
        ),
        (
            {"caller": [{"name": "user", "op": "equals", "value": "ada"}]},
            {"mcp/resources-read", "mcp/prompts-get", "mcp/complete", "mcp/sampling", "mcp/elicitation"},
        ),
    ],
)
def test_a_rule_without_a_tool_opens_requests_that_no_report_shows(
    project: Project, conditions: dict[str, Any], opened: set[str]
) -> None:
    tools = [tool["tool"] for tool in FILES]
    project.bundle("old", rule("r", "allow", tool=tools, **conditions))
    built = project.bundle("new", rule("r", "allow", **conditions))
    assert all(f"files/{name} (r)" in built.err for name in opened)
    differs = project.run("diff", "old", "new")
    assert differs.code == 1
    assert "alike" not in differs.out
    shown = project.run("matrix", "new").out
    for name in opened:
        assert f"files/{name}: the tool is new" in differs.out
        assert name in shown
        assert project.guarantees("new", {"id": "g", "never": "allow", "when": {"tool": [name]}}).code == 1
    assert "mcp/" not in project.run("matrix", "old").out
    if "mcp/sampling" in opened:
        assert project.verdict("old", "mcp/sampling", {"request": {}}) == "deny"


def test_policies_that_take_different_live_tools_pass_for_alike(project: Project) -> None:
    allowed = rule("r", "allow", tool=["send"])
    pinned = [{**FILES[1], "schema_digest": f"sha256:{digit * 64}"} for digit in "01"]
    other_schema = {
        **FILES[1],
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    for name, listed in (("a", FILES[1]), ("b", pinned[0]), ("c", pinned[1]), ("d", other_schema)):
        project.bundle(name, allowed, tools=[listed])
    for one, other, said in (("a", "b", "digest"), ("b", "c", "digest"), ("a", "d", "cannot be compared")):
        differs = project.run("diff", one, other)
        assert differs.code == 1, differs.out
        assert said in differs.out
        assert "alike" not in differs.out
    assert project.run("diff", "b", "b").code == 0


@pytest.mark.parametrize("name", RESERVED)
def test_a_tool_of_a_server_is_named_like_a_request(name: str) -> None:
    listed = ToolListing(name=name, input_schema={"type": "object"})
    usable, (problem,) = usable_tools([listed])
    assert usable == ()
    assert "none begins with mcp/" in problem


def test_what_was_built_is_taken_again(project: Project) -> None:
    project.bundle("b", DENY_TOOL, READ_ALL)
    inside = json.loads((project.directory / "b/ironcurtain/annotations/data.json").read_text())
    names = [tool["tool"] for tool in inside["servers"]["files"]["tools"]]
    assert names == ["read_file", "send", "mcp/resources-read"]
    project.write("listed.json", inside)
    again = project.run("bundle", "--policy", "rules.json", "--annotations", "listed.json", "-o", "again")
    assert again.code == 0, again.err
    built = [(project.directory / name / ".manifest").read_bytes() for name in ("b", "again")]
    assert built[0] == built[1]


def test_a_request_that_is_annotated_to_another_end_is_taken_as_written(project: Project) -> None:
    own = {"tool": "mcp/sampling", "side_effects": True, "args": [{"name": "request", "roles": ["none"]}]}
    project.bundle("b", rule("send", "allow", tool=["send"]), tools=[*FILES, own])
    assert "mcp/sampling" in project.run("matrix", "b").out
