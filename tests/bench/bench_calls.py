"""How many calls a compile of five servers with 200 tools makes, counted by the server that answers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended
from fixtures.tiny_project import tree
from pytest_httpserver import HTTPServer
from support.projects.modelled import Modelled, Place

pytestmark = pytest.mark.bench
SERVERS = ("calendar", "drive", "files", "git", "mail")
TOOLS_EACH = 40
CONSTITUTION = "# Principles\n\nBe careful.\n\n# Rules\n\n" + "".join(
    f"- Using {server} needs approval.\n" for server in SERVERS
)
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
SCENARIOS = """\
format: ironcurtain/scenarios/v1
world: {home: /home/user, sandbox: /home/user/sandbox}
scenarios:
  - {id: mail, call: {server: mail, tool: mail_00, arguments: {name: a}}, expect: escalate}
"""
INTENT = {
    "id": "mail",
    "clause": "C6",
    "server": "mail",
    "tool": "mail_01",
    "arguments": json.dumps({"name": "a"}),
    "caller": "{}",
    "expect": "escalate",
    "why": "Using mail needs approval.",
}


class Large(Modelled):
    """Five servers whose tool lists are saved; the model gives the least valid answer to each question."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        (self.directory / "constitution.md").write_text(CONSTITUTION)
        (self.directory / "scenarios.yaml").write_text(SCENARIOS)
        (self.directory / "ironcurtain.toml").write_text("serial = 1\n")
        for server in SERVERS:
            tools = [
                {"name": f"{server}_{n:02}", "description": "Does something.", "inputSchema": SCHEMA}
                for n in range(TOOLS_EACH)
            ]
            (self.directory / f"{server}.json").write_text(json.dumps({"tools": tools}))
        saved = {server: {"command": "/nowhere/at-all", "tools": f"{server}.json"} for server in SERVERS}
        (self.directory / "mcp-servers.json").write_text(json.dumps({"mcpServers": saved}))
        routes = [{"clause": f"C{n}", "servers": [name]} for n, name in enumerate(SERVERS, 2)]
        self.answers = {
            "annotate": [annotations_of],
            "clauses": [{"clauses": routes}],
            "rules": [rules],
            "intent": [{"scenarios": [INTENT]}],
        }

    def compile(self) -> Ended:
        return self.run("compile", "--model", "m", "--intent", "--saved-tools")


def told(request: Any, name: str) -> Any:
    """Return what a question holds between its delimiters."""
    prompt = request["messages"][0]["content"]
    return json.loads(prompt.split(f"<{name}-data>")[1].split(f"</{name}-data>")[0])


def annotations_of(request: Any) -> Any:
    entry = request["output_config"]["format"]["schema"]["properties"]["tools"]["items"]["properties"]
    listed = told(request, "tools")
    found = [
        {
            "tool": each["tool"],
            "side_effects": True,
            "contained": False,
            "comment": "",
            "args": [{"name": name, "roles": ["none"]} for name in SCHEMA["properties"]],
            **({"server": each["server"]} if "server" in entry else {}),
        }
        for each in listed
    ]
    return {"tools": found}


def rules(request: Any) -> Any:
    server = told(request, "tools")[0]["tool"].split("_")[0]
    (clause,) = (each["id"] for each in told(request, "clauses") if not each["principle"])
    asked = {"name": f"{server}-ask", "description": "", "clause": clause, "reason": "Ask."}
    asked |= {"if": {"side_effects": True}, "then": "escalate"}
    return {"rules": [asked], "not_enforceable": []}


@pytest.fixture
def large(threaded_server: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Large:
    return Large(Place(threaded_server, tmp_path, monkeypatch))


def test_first_compile_no_change_and_one_clause_edited(large: Large) -> None:
    first = large.compile()
    assert first.code == 0, first.err
    calls = large.calls
    assert calls["annotate"] + calls["clauses"] + calls["rules"] <= 15
    assert calls["intent"] <= 2
    assert calls.keys() == {"annotate", "clauses", "rules", "intent"}
    before = tree(large.directory / "generated")
    assert large.compile().code == 0
    assert large.calls == {}
    assert tree(large.directory / "generated") == before
    constitution = large.directory / "constitution.md"
    constitution.write_text(constitution.read_text().replace("Using git needs", "Using git always needs"))
    edited = large.compile()
    assert edited.code == 0, edited.err
    calls = large.calls
    assert sum(calls.values()) <= 3, calls
    assert calls.keys() <= {"clauses", "rules", "intent"}
