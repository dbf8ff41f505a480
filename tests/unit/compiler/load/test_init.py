"""The starting project: complete, valid, and never written over anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.tiny_project import tree

from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.compiler.load.init import FILES, SCHEMAS, WRITTEN_BY_PEOPLE, init
from ironcurtain.compiler.load.linter import lint
from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import FileError, ServerConfigError
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.tool_lists.listing import list_tools
from ironcurtain.settings import Settings, load_settings
from ironcurtain.system.files import load


def test_every_file_is_written_and_valid(tmp_path: Path) -> None:
    done = init(tmp_path / "new" / "project")
    project = tmp_path / "new" / "project"
    assert done.written == tuple(FILES)
    assert done.kept == ()
    schemas = {f"{SCHEMAS}/{name}.json" for name in WRITTEN_BY_PEOPLE}
    assert set(tree(project)) == {*FILES, *schemas}
    assert load_settings(project / "ironcurtain.toml") == Settings()
    clauses = read_clauses((project / "constitution.md").read_text(), "constitution.md")
    assert lint(clauses) == ()
    cited = {scenario.clause for scenario in load(project / "scenarios.yaml", Scenarios).scenarios}
    assert cited - {None} <= {placed.clause.id for placed in clauses}
    servers = load_servers(project / "mcp-servers.json")
    assert len(list_tools(servers, contained_launcher(lambda _: None), saved=True)["filesystem"]) == 14
    assert (project / "ci" / "ironcurtain.sh").stat().st_mode & 0o777 == 0o755


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    init(tmp_path)
    before = {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.is_file()
    }
    assert init(tmp_path).written == ()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


def test_what_is_there_stays_even_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "constitution.md").write_text("mine")
    (tmp_path / "scenarios.yaml").symlink_to(tmp_path / "nowhere")
    done = init(tmp_path)
    assert set(done.kept) == {"constitution.md", "scenarios.yaml"}
    assert (tmp_path / "constitution.md").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_servers_that_are_there_get_no_constitution_of_a_file_server(tmp_path: Path) -> None:
    servers = '{"mcpServers": {"shop": {"command": "shop"}, "mail": {"command": "mail"}}, "other": 1}'
    (tmp_path / "mcp-servers.json").write_text(servers)
    done = init(tmp_path)
    assert done.servers == ("mail", "shop")
    assert set(done.written) == set(FILES) - {"mcp-servers.json", "tools/filesystem.json"}
    assert done.kept == ("mcp-servers.json",)
    assert (tmp_path / "mcp-servers.json").read_text() == servers
    clauses = read_clauses((tmp_path / "constitution.md").read_text(), "constitution.md")
    assert lint(clauses) == ()
    assert [placed.clause.text for placed in clauses if not placed.clause.principle] == [
        "The agent must ask before it uses a tool of the server `mail`.",
        "The agent must ask before it uses a tool of the server `shop`.",
    ]
    assert clauses[2].clause.id == "C3"
    file = tmp_path / "scenarios.yaml"
    (given,) = load(file, Scenarios).scenarios
    assert (given.call.server, given.rule) == ("mail", "structural-unknown-tool")
    proposed = file.read_text().split("#\n")[1].replace("#  ", " ")
    file.write_text(file.read_text() + proposed)
    assert [(each.call.server, each.clause) for each in load(file, Scenarios).scenarios[1:]] == [
        ("mail", "C3")
    ]
    before = tree(tmp_path)
    assert init(tmp_path).written == ()
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("tools", "command"),
    [
        (("a.json", "b.json"), "ironcurtain compile --saved-tools"),
        (("a.json", None), "ironcurtain compile"),
    ],
)
def test_the_compile_that_is_named_starts_no_server_whose_tools_are_saved(
    tmp_path: Path, tools: tuple[str | None, ...], command: str
) -> None:
    servers = {f"s{n}": {"command": "nowhere"} | ({"tools": t} if t else {}) for n, t in enumerate(tools)}
    (tmp_path / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}))
    assert init(tmp_path).next[1][0] == command


def test_servers_that_cannot_be_read_are_said_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "mcp-servers.json").write_text('{"mcpServers": {}}')
    with pytest.raises(ServerConfigError, match="names no server"):
        init(tmp_path)
    assert set(tree(tmp_path)) == {"mcp-servers.json"}


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        init(tmp_path / "file")
