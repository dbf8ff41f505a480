"""Attack: an agent that works in the policy's own project rewrites what the next policy is made from.

Held by: protection by place of what a policy is made from.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.projects.shipped import ROOT

from ironcurtain import Policy
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.model.decision import Decision

PROJECT = ("ironcurtain.toml", "constitution.md", "scenarios.yaml", "confirmations.yaml", "guarantees.yaml")
PUBLISHED = ("bundle.tar.gz", "provenance.json", "compiled-policy.json")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("project")
    (root / "generated").mkdir()
    for name in (*PROJECT, *(f"generated/{name}" for name in PUBLISHED)):
        shutil.copy(ROOT / name, root / name)
    (root / "page.md").hardlink_to(root / "constitution.md")
    (root / "link").symlink_to("generated")
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def policy(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    home = tmp_path_factory.mktemp("home")
    return Policy.load(project / "generated" / "bundle.tar.gz", sandbox=project, home=home)


@pytest.mark.parametrize(
    "path",
    [
        *PROJECT,
        "dynamic-lists.json",
        "diff-approvals.yaml",
        "questions/1.json",
        "answers.yaml",
        "waivers.yaml",
        "generated/compiled-policy.json",
        "generated/new",
        "link/compiled-policy.json",
        "page.md",
    ],
)
def test_the_projects_own_files_are_out_of_reach(policy: Policy, path: str) -> None:
    """Lists and approvals are so before they are there; a hard link and a symlink are no way around."""
    found = prepare(Call("filesystem", "write_file", {"path": path, "content": "x"}), policy.loaded)
    assert isinstance(found, Decision)
    assert (found.verdict, found.rule) == ("deny", "structural-protected-path")


def test_a_module_of_tools_that_the_configuration_names_is_out_of_reach(
    project: Path, tmp_path: Path
) -> None:
    """It is imported into the proxy: whoever writes it decides in the proxy's place."""
    work = tmp_path / "work"
    work.mkdir()
    servers = work / "mcp-servers.json"
    servers.write_text('{"mcpServers": {"desk": {"gateway": "desk_tools.py"}}}')
    bundle = project / "generated" / "bundle.tar.gz"
    policy = Policy.load(bundle, sandbox=work, home=tmp_path, servers=servers)
    for name, expected in (("desk_tools.py", Decision), ("other_tools.py", Prepared)):
        call = Call("filesystem", "write_file", {"path": name, "content": "x"})
        assert isinstance(prepare(call, policy.loaded), expected)


def test_all_else_in_the_sandbox_is_as_before(policy: Policy) -> None:
    call = Call("filesystem", "write_file", {"path": "notes/constitution.md", "content": "x"})
    assert isinstance(prepare(call, policy.loaded), Prepared)
