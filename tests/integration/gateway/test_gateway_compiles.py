"""A project of a gateway and a server side by side: compiled, verified, compared with a change, served."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e.program import Ended, program
from fixtures.tiny_project import ANNOTATIONS, CONSTITUTION, RULES, SCENARIOS, SERVER, answer, tree
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from support.deployments.support_desk import text_of

pytestmark = pytest.mark.timeout(600)
TOOLS = """
from typing import Annotated

from pydantic import BaseModel

from ironcurtain.gateway import Gateway, Is, ReadPath, define_tool
from ironcurtain.model.annotations import IdentifierRole

TICKET = IdentifierRole(name="ticket", description="A ticket of the desk.", case="exact", separator="-")

class Query(BaseModel):
    ticket: Annotated[str, Is("ticket")]

class File(BaseModel):
    path: ReadPath

class Text(BaseModel):
    text: str

def close(query: Query) -> Text:
    return Text(text=f"{query.ticket} is closed")

def attach(file: File) -> Text:
    return Text(text=open(file.path).read())

gateway = Gateway("desk", [
    define_tool(name="close_ticket", description="Close a ticket.", classification="write",
        permissions=["tickets:write"], input=Query, output=Text, output_policy={".text": "allow"},
        handler=close),
    define_tool(name="attach", description="Attach a file.", classification="read",
        permissions=["tickets:write"], input=File, output=Text, output_policy={".text": "mask"},
        handler=attach),
], roles=[TICKET])
"""
CLAUSES = """
# Tickets

- Tickets of support may be closed.
"""
DESK_RULES: dict[str, Any] = {
    "rules": [
        {
            "name": "desk-allow-support",
            "description": "",
            "clause": "C5",
            "if": {
                "tool": ["close_ticket"],
                "lists": [{"roles": ["ticket"], "allowed": ["SUP-**"]}],
            },
            "then": "allow",
            "reason": "Tickets of support may be closed.",
        },
        {
            "name": "desk-allow-notes",
            "description": "",
            "clause": "C2",
            "if": {"tool": ["attach"], "paths": [{"roles": ["read-path"], "within": ["~/notes"]}]},
            "then": "allow",
            "reason": "Notes may be read.",
        },
    ],
    "not_enforceable": [],
}
CONCERNS = [
    {"clause": "C2", "servers": ["desk", "notes"]},
    {"clause": "C3", "servers": ["notes"]},
    {"clause": "C4", "servers": ["notes"]},
    {"clause": "C5", "servers": ["desk"]},
]
DESK_SCENARIOS = """\
  - {id: close, call: {server: desk, tool: close_ticket, arguments: {ticket: SUP-1}}, expect: allow}
  - {id: close-other, call: {server: desk, tool: close_ticket, arguments: {ticket: HR-1}}, expect: deny}
  - {id: attach-other, call: {server: desk, tool: attach, arguments: {path: /etc/passwd}}, expect: deny}
"""


def write(directory: Path) -> Path:
    """Write the project; its first compile has everything but the answers."""
    (directory / "constitution.md").write_text(CONSTITUTION + CLAUSES)
    (directory / "scenarios.yaml").write_text(SCENARIOS + DESK_SCENARIOS)
    (directory / "ironcurtain.toml").write_text('model = "manual"\n')
    (directory / "tools.py").write_text(TOOLS)
    notes = {"command": sys.executable, "args": [str(SERVER), "good"], "sandbox": False}
    servers = {"mcpServers": {"desk": {"gateway": "tools.py"}, "notes": notes}}
    (directory / "mcp-servers.json").write_text(json.dumps(servers))
    return directory


def waiting(directory: Path) -> list[str]:
    """Return the questions that wait for an answer."""
    listed = json.loads(ran(directory, "answer", "--format", "json").out)
    return sorted(each["key"] for each in listed["files"] if not each["answered"])


def ran(directory: Path, *arguments: str) -> Ended:
    return program(*arguments, cwd=directory)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = write(tmp_path_factory.mktemp("side-by-side"))
    assert ran(directory, "compile").code == 4
    # Of the gateway's tools nobody is asked what their arguments are.
    assert waiting(directory) == ["annotate-notes-1"]
    answer(directory, "annotate-notes-1", ANNOTATIONS)
    assert ran(directory, "compile").code == 4
    answer(directory, "clauses", {"clauses": CONCERNS})
    assert ran(directory, "compile").code == 4
    assert waiting(directory) == ["rules-desk", "rules-notes"]
    notes = copy.deepcopy(RULES)
    answer(directory, "rules-notes", notes)
    answer(directory, "rules-desk", DESK_RULES)
    ended = ran(directory, "compile")
    assert ended.code == 0, ended.err
    return directory


def test_a_locked_compile_asks_nobody_and_gives_the_same_bytes(compiled: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(compiled, tmp_path / "copied"))
    before = tree(copied / "generated")
    (copied / "generated" / "bundle.tar.gz").unlink()
    ended = ran(copied, "compile", "--locked")
    assert ended.code == 0, ended.err
    assert tree(copied / "generated") == before


def test_verify_is_the_gate_of_both(compiled: Path) -> None:
    ended = ran(compiled, "verify")
    assert ended.code == 0, ended.out + ended.err


def test_the_matrix_shows_both(compiled: Path) -> None:
    told = ran(compiled, "matrix").out
    assert "desk: close_ticket" in told
    assert "ticket in SUP-**" in told
    assert "notes: read_note" in told


def test_a_changed_definition_is_named_until_it_is_compiled(compiled: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(compiled, tmp_path / "copied"))
    text = (copied / "tools.py").read_text().replace('"Close a ticket."', '"Close a ticket for good."')
    (copied / "tools.py").write_text(text)
    ended = ran(copied, "drift")
    assert ended.code == 1, ended.out + ended.err
    assert "close_ticket" in ended.out


def test_the_gate_of_a_pull_request_names_what_a_gateways_tools_may_more(
    compiled: Path, tmp_path: Path
) -> None:
    copied = Path(shutil.copytree(compiled, tmp_path / "copied"))
    named = ("-c", "user.name=you", "-c", "user.email=you@example.com")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*named, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *command], cwd=copied, check=True)
    wider = copy.deepcopy(DESK_RULES)
    wider["rules"][0]["if"]["lists"][0]["allowed"] = ["SUP-**", "HR-**"]
    (copied / "constitution.md").write_text(
        (CONSTITUTION + CLAUSES).replace("Tickets of support", "Tickets of support and of people")
    )
    scenarios = (SCENARIOS + DESK_SCENARIOS).replace(
        "{ticket: HR-1}}, expect: deny", "{ticket: HR-1}}, expect: allow"
    )
    (copied / "scenarios.yaml").write_text(scenarios)
    given = {"clauses": {"clauses": CONCERNS}, "rules-notes": RULES, "rules-desk": wider}
    while (ended := ran(copied, "compile")).code == 4:
        for key in waiting(copied):
            answer(copied, key, given[key])
    assert ended.code == 0, ended.err
    ended = ran(copied, "verify", "--against", "main")
    assert ended.code == 1, ended.out + ended.err
    assert "close_ticket" in ended.out
    assert "HR-" in ended.out


def test_both_are_served_by_the_compiled_policy(compiled: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "a").write_text("a secret note")
    told = {"format": "ironcurtain/permissions/v1", "sub": "agent", "permissions": ["tickets:write"]}
    (compiled / "agent.json").write_text(json.dumps(told))
    code = "from ironcurtain.cli.main import main; main()"
    options = ("--bundle", "generated/bundle", "--permissions", "agent.json", "--no-approver")
    started = StdioServerParameters(
        command=sys.executable,
        args=["-c", code, "serve", "mcp-servers.json", *options],
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        cwd=compiled,
    )

    async def story() -> None:
        async with Client(started, mode="legacy", cache=None) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == {"desk__close_ticket", "desk__attach", "notes__read_note", "notes__list_tags"}
            closed = await client.call_tool("desk__close_ticket", {"ticket": "SUP-1"})
            assert closed.structured_content == {"text": "SUP-1 is closed"}
            other = await client.call_tool("desk__close_ticket", {"ticket": "HR-1"})
            assert "not permitted" in text_of(other)
            attached = await client.call_tool("desk__attach", {"path": "~/notes/a"})
            assert attached.structured_content == {"text": "a***e"}
            away = await client.call_tool("desk__attach", {"path": "/etc/passwd"})
            assert away.is_error
            # It is allowed and sent: that server lists tools and answers no calls.
            with pytest.raises(MCPError, match="Method not found"):
                await client.call_tool("notes__list_tags", {})

    anyio.run(story)
