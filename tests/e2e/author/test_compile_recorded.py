"""Authoring on a machine that cannot contain servers: on the tools that the last compile recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e.program import Inside
from fixtures.tiny_project import tree

NOT_COMPARED = "so the tools of notes were read from saved lists, or those that the last compile recorded"


@pytest.fixture
def plain(project: Path, tmp_path: Path, inside: Inside) -> Path:
    """Return a compiled project whose server has to be contained, on a PATH without what contains it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("opa", "node", "git", "sh", "touch"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/true")
    inside.monkeypatch.setenv("PATH", str(programs))
    server = {"command": "sh", "args": ["-c", f"touch {tmp_path / 'started'}"]}
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    return project


def test_a_locked_compile_goes_on_and_starts_nothing(plain: Path, tmp_path: Path, inside: Inside) -> None:
    before = tree(plain / "generated")
    ended = inside("compile", "--locked", cwd=plain)
    assert ended.code == 0, ended.err
    (note,) = [line for line in ended.err.splitlines() if line.startswith("note: ")]
    assert "bubblewrap (bwrap) is not installed" in note
    assert f"{NOT_COMPARED}, and not compared with the servers" in note
    assert tree(plain / "generated") == before
    assert not (tmp_path / "started").exists()


def test_the_other_authoring_needs_no_server_either(plain: Path, tmp_path: Path, inside: Inside) -> None:
    annotated = inside("annotate", "--locked", cwd=plain)
    assert (annotated.code, NOT_COMPARED in annotated.err) == (0, True)
    for command in (["narrow", "generated/bundle"], ["compile", "--offline"], ["findings"]):
        ended = inside(*command, cwd=plain)
        assert ended.codes == [], ended.err
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("command", [["tools", "notes"], ["drift"]], ids=["tools", "drift"])
def test_what_is_about_live_servers_starts_none_uncontained(
    command: list[str], plain: Path, tmp_path: Path, inside: Inside
) -> None:
    ended = inside(*command, cwd=plain)
    assert (ended.code, ended.codes) == (3, ["IC3202"])
    assert not (tmp_path / "started").exists()


def test_tools_that_nobody_recorded_are_an_error_with_both_ways_out(plain: Path, inside: Inside) -> None:
    (plain / "generated" / "tools" / "notes.json").unlink()
    ended = inside("compile", "--locked", cwd=plain)
    assert (ended.code, ended.codes) == (3, ["IC3202"])
    assert "Install what is missing; or run `ironcurtain tools notes > FILE`" in ended.err
