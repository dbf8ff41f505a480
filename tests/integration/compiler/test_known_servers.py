"""Well-known servers as they are started here list the tools of the collection, and are annotated by it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT, in_process, program
from support.machines.contained import NEEDS_SANDBOX

from ironcurtain.compiler.annotate.known import SHIPPED, shipped_collection

NODE = ROOT / "node_modules"
PIP = Path(sys.executable).parent
LIVE = {
    "everything": (NODE / "@modelcontextprotocol/server-everything/dist/index.js", [], {}),
    "fetch": (PIP / "mcp-server-fetch", [], {}),
    "filesystem": (NODE / "@modelcontextprotocol/server-filesystem/dist/index.js", ["."], {}),
    "git-cyanheads": (NODE / "@cyanheads/git-mcp-server/dist/index.js", [], {"MCP_TRANSPORT_TYPE": "stdio"}),
    "memory": (NODE / "@modelcontextprotocol/server-memory/dist/index.js", [], {}),
    "time": (PIP / "mcp-server-time", [], {}),
}


def write_project(directory: Path, *names: str) -> None:
    servers = {}
    for name in names:
        script, arguments, env = LIVE[name]
        command = ["node", str(script)] if script.suffix == ".js" else [str(script)]
        servers[name] = {"command": command[0], "args": [*command[1:], *arguments], "env": env}
    (directory / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}))
    (directory / "ironcurtain.toml").write_text('model = "manual"\n')


@NEEDS_SANDBOX
@pytest.mark.parametrize("name", LIVE)
def test_a_live_server_is_annotated_without_a_question(name: str, tmp_path: Path) -> None:
    known = next(server for server in shipped_collection().servers if server.server == name)
    write_project(tmp_path, name)
    ended = program("annotate", "--locked", "--format", "json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    tools = json.loads(ended.out)["servers"][name]["tools"]
    package = f"{known.package.registry}:{known.package.name}@{known.versions[-1].partition('~')[0]}"
    assert {json.dumps(tool["source"]) for tool in tools} == {
        json.dumps({"kind": "shipped", "package": package})
    }
    verb = "tool is" if len(tools) == 1 else "tools are"
    said = f"{name}: {len(tools)} of {len(tools)} {verb} annotated by the collection that ships with"
    assert said in ended.err
    kept = [json.loads(path.read_text()) for path in (tmp_path / "questions" / "kept").glob("*.json")]
    assert {(answer["provider"], answer["model"]) for answer in kept} == {(SHIPPED, package)}


def test_the_compile_of_a_known_server_asks_for_rules_alone(tmp_path: Path) -> None:
    write_project(tmp_path)
    lists = ROOT / "ironcurtain" / "compiler" / "known_servers" / "lists"
    saved = {"mcpServers": {"time": {"tools": str(lists / "time-2026.10.19.json")}}}
    (tmp_path / "mcp-servers.json").write_text(json.dumps(saved))
    (tmp_path / "constitution.md").write_text(
        "# Principles\n\nLeast privilege.\n\n# Time\n\n- Time may be told.\n"
    )
    (tmp_path / "scenarios.yaml").write_text(
        "format: ironcurtain/scenarios/v1\n"
        "world: {home: /home/user, sandbox: /home/user/sandbox}\n"
        "scenarios: []\n"
    )
    ended = in_process("compile", cwd=tmp_path)
    assert ended.code == 4, ended.err
    assert {path.name for path in (tmp_path / "questions").glob("*.md")} == {"rules-time.md"}


def test_launch_options_of_a_browser_are_refused_whatever_the_address(tmp_path: Path) -> None:
    """They can name any program to start in the place of the browser."""
    lists = ROOT / "ironcurtain" / "compiler" / "known_servers" / "lists"
    saved = {"mcpServers": {"browser": {"tools": str(lists / "puppeteer-2025.5.12.json")}}}
    (tmp_path / "mcp-servers.json").write_text(json.dumps(saved))
    (tmp_path / "ironcurtain.toml").write_text('model = "manual"\n')
    (tmp_path / "annotations.json").write_text(
        in_process("annotate", "--locked", "--format", "json", cwd=tmp_path).out
    )
    rule = {
        "name": "browser-allow-pages",
        "clause": "C1",
        "if": {"server": ["browser"], "domains": [{"roles": ["fetch-url"], "allowed": ["example.com"]}]},
        "then": "allow",
        "reason": "Pages of example.com.",
    }
    clauses = [{"id": "C1", "text": "Pages of example.com may be opened."}]
    policy = {"format": "ironcurtain/policy/v1", "clauses": clauses, "rules": [rule]}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    made = in_process(
        "bundle",
        "--policy",
        "policy.json",
        "--annotations",
        "annotations.json",
        "-o",
        "p.tar.gz",
        cwd=tmp_path,
    )
    assert made.code == 0, made.err

    def decided(**arguments: object) -> dict[str, object]:
        call = ("browser", "puppeteer_navigate", json.dumps(arguments))
        ended = in_process("decide", "--bundle", "p.tar.gz", *call, "--format", "json", cwd=tmp_path)
        decision: dict[str, object] = json.loads(ended.out)
        return decision

    page = "https://example.com/"
    assert decided(url=page)["verdict"] == "allow"
    for options in ({"executablePath": "/bin/sh"}, {}, "{}", '"https://example.com/"'):
        refused = decided(url=page, launchOptions=options)
        assert refused["verdict"] == "deny", options
        assert str(refused["rule"]).startswith("structural-")
