"""The starting project: complete, valid, and never written over anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.tiny_project import tree

from ironcurtain.errors import FileError
from ironcurtain.files import load
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.pipeline.clauses import read_clauses
from ironcurtain.pipeline.init import FILES, init
from ironcurtain.pipeline.linter import lint
from ironcurtain.sandbox.visits import contained_visits
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.listing import list_tools
from ironcurtain.settings import Settings, load_settings


def test_every_file_is_written_and_valid(tmp_path: Path) -> None:
    done = init(tmp_path / "new" / "project")
    project = tmp_path / "new" / "project"
    assert done.written == tuple(FILES)
    assert done.kept == ()
    assert set(tree(project)) == set(FILES)
    assert load_settings(project / "ironcurtain.toml") == Settings()
    clauses = read_clauses((project / "constitution.md").read_text(), "constitution.md")
    assert lint(clauses) == ()
    cited = {scenario.clause for scenario in load(project / "scenarios.yaml", Scenarios).scenarios}
    assert cited - {None} <= {placed.clause.id for placed in clauses}
    servers = load_servers(project / "mcp-servers.json")
    assert len(list_tools(servers, contained_visits(lambda _: None), saved=True)["filesystem"]) == 14
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


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        init(tmp_path / "file")
