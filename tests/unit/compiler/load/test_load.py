"""Loading a project: bounds, optional files, places that name no machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fixtures.tiny_project import write_project

from ironcurtain.compiler.load.clauses import SUPERSEDING
from ironcurtain.compiler.load.linter import lint
from ironcurtain.compiler.load.load import load_inputs
from ironcurtain.compiler.load.sources import MAX_CONSTITUTION_BYTES, Sources, shown_path
from ironcurtain.errors import ConstitutionError, FileError, IronCurtainError
from ironcurtain.settings import FILE_NAME, load_settings
from ironcurtain.system.structs import replace


def sources(root: Path) -> Sources:
    return Sources(
        root=root,
        constitution=root / "constitution.md",
        servers=root / "mcp-servers.json",
        scenarios=root / "scenarios.yaml",
        lists=root / "dynamic-lists.json",
        confirmations=root / "confirmations.yaml",
        output=root / "generated",
        pending=root / "questions" / "kept",
    )


def test_a_project_is_read_and_its_places_are_relative(tmp_path: Path) -> None:
    inputs = load_inputs(sources(write_project(tmp_path)))
    assert inputs.clauses[0].clause.source == "constitution.md:3"
    assert list(inputs.servers.servers) == ["notes"]
    assert inputs.lists.lists == {}
    assert inputs.confirmations.confirmed == ()


def test_lists_of_the_last_result_are_kept_until_the_project_has_its_own(tmp_path: Path) -> None:
    def lists(member: str) -> str:
        friends = {"type": "recipient", "resolved": [], "added": [member], "removed": []}
        return json.dumps({"format": "ironcurtain/lists/v1", "lists": {"friends": friends}})

    write_project(tmp_path)
    (tmp_path / "generated").mkdir()
    (tmp_path / "generated" / "dynamic-lists.json").write_text(lists("old@example.com"))
    assert load_inputs(sources(tmp_path)).lists.lists["friends"].values == ("old@example.com",)
    (tmp_path / "dynamic-lists.json").write_text(lists("new@example.com"))
    assert load_inputs(sources(tmp_path)).lists.lists["friends"].values == ("new@example.com",)


def test_files_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """The mark that some editors write made a clause of the title."""
    before = load_inputs(sources(write_project(tmp_path)))
    for name in ("constitution.md", "mcp-servers.json", "scenarios.yaml"):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_inputs(sources(tmp_path)) == before
    settings = tmp_path / FILE_NAME
    settings.write_bytes(b'\xef\xbb\xbfmodel = "manual"\n')
    assert load_settings(settings).model == "manual"


def test_a_constitution_has_a_bound(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "constitution.md").write_text("x" * MAX_CONSTITUTION_BYTES)
    load_inputs(sources(tmp_path))
    (tmp_path / "constitution.md").write_text("x" * (MAX_CONSTITUTION_BYTES + 1))
    with pytest.raises(FileError, match="larger than"):
        load_inputs(sources(tmp_path))


@pytest.mark.parametrize("name", ["constitution.md", "mcp-servers.json", "scenarios.yaml"])
@pytest.mark.parametrize("device", [None, "/dev/zero"], ids=["pipe", "device"])
def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path, name: str, device: str | None) -> None:
    write_project(tmp_path)
    path = tmp_path / name
    path.unlink()
    if device:
        path.symlink_to(device)
    else:
        os.mkfifo(path)
    with pytest.raises(IronCurtainError, match="not a file"):
        load_inputs(sources(tmp_path))


@pytest.mark.parametrize("name", ["constitution.md", "mcp-servers.json", "scenarios.yaml"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_project(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(IronCurtainError) as caught:
        load_inputs(sources(tmp_path))
    assert str(caught.value.where).endswith(name)


@pytest.mark.parametrize(
    ("path", "shown"),
    [("c.md", "c.md"), ("rules/c.md", "rules/c.md"), ("../other/c.md", "c.md"), ("/x/c.md", "c.md")],
)
def test_a_shown_path_never_leaves_the_project(tmp_path: Path, path: str, shown: str) -> None:
    assert shown_path(tmp_path / path, tmp_path) == shown


def test_the_users_own_guidance_comes_first_and_changes_the_digest(tmp_path: Path) -> None:
    own = tmp_path / "home" / "constitution-user.md"
    for folder in ("project", "home"):
        (tmp_path / folder).mkdir()
    root = write_project(tmp_path / "project")
    own.write_text("- The agent must not read notes.\n")
    plain = load_inputs(sources(root))
    both = load_inputs(replace(sources(root), user_constitution=own))
    first = both.clauses[0].clause
    assert (first.id, first.source) == ("U1", "constitution-user.md:1")
    assert both.clauses[0].headings == (SUPERSEDING,)
    assert both.clauses[1:] == plain.clauses
    assert plain.constitution == (root / "constitution.md").read_text()
    assert both.constitution != plain.constitution + own.read_text()


def test_a_users_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    with pytest.raises(FileError) as caught:
        load_inputs(replace(sources(root), user_constitution=tmp_path / "mine.md"))
    assert str(caught.value.where).endswith("mine.md")


def test_a_contradiction_stops_before_anything_else_is_read(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    (root / "constitution.md").write_text("- Notes may be read.\n- Notes must not be read.\n")
    (root / "mcp-servers.json").unlink()
    with pytest.raises(ConstitutionError) as caught:
        load_inputs(sources(root))
    assert str(caught.value.where) == "constitution.md:2"


def test_the_linter_says_where_in_the_project_a_clause_stands(tmp_path: Path) -> None:
    found = lint(load_inputs(sources(write_project(tmp_path))).clauses)
    assert [(each.check, each.source) for each in found] == [("needs-clock", "constitution.md:9")]
