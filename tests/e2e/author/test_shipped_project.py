"""The project that is shipped, in a copy: it cannot be loosened. (That it recompiles is the demo's test.)"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, Inside, copy_tracked
from fixtures.tiny_project import tree


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return copy_tracked(tmp_path)


@pytest.fixture
def saved(checkout: Path) -> Path:
    """Return the copy with servers that are known by the tool lists of the last compile alone."""
    recorded = ROOT / "generated" / "tools"
    servers = {path.stem: {"tools": str(path)} for path in recorded.iterdir()}
    (checkout / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}))
    return checkout


def change_answer(
    checkout: Path, server: str, change: Callable[[dict[str, Any]], None], rules: set[str]
) -> None:
    path = next((checkout / "generated" / "answers").glob(f"rules-{server}-*.json"))
    kept = json.loads(path.read_text())
    changed = [rule for rule in kept["content"]["rules"] if rule["name"] in rules]
    assert len(changed) == len(rules)
    for rule in changed:
        change(rule)
    path.write_text(json.dumps(kept))


def allow(rule: dict[str, Any]) -> None:
    rule["then"] = "allow"


def test_a_loosened_answer_is_stopped_by_a_scenario(saved: Path, inside: Inside) -> None:
    rules = {"filesystem-deny-change-documents"}
    change_answer(saved, "filesystem", allow, rules)
    before = tree(saved / "generated")
    ended = inside("compile", "--locked", cwd=saved)
    assert (ended.code, ended.out, ended.codes) == (1, "", ["IC2001"])
    rows = [row.split() for row in ended.err.splitlines()]
    begin = rows.index(["scenario", "expected", "got", "by", "rule", "call"]) + 1
    failed = {row[0]: row[1:4] for row in rows[begin:] if row[1:3] == ["deny", "allow"]}
    assert {rule for _, _, rule in failed.values()} & rules
    assert all(f"id: {scenario}" in (saved / "scenarios.yaml").read_text() for scenario in failed)
    assert tree(saved / "generated") == before


def test_a_domain_that_is_a_public_suffix(saved: Path, inside: Inside) -> None:
    def trust_a_country(rule: dict[str, Any]) -> None:
        rule["if"] = {"domains": [{"roles": ["git-remote-url"], "allowed": ["*.co.uk"]}]}

    change_answer(saved, "git", trust_a_country, {"git-ask-contact-remote"})
    before = tree(saved / "generated")
    ended = inside("compile", "--locked", cwd=saved)
    assert (ended.code, ended.codes) == (4, ["IC4002"])
    assert "co.uk" in ended.err
    assert "--> generated/answers/rules-git-" in ended.err
    assert tree(saved / "generated") == before


def test_a_changed_constitution_needs_new_answers(saved: Path, inside: Inside) -> None:
    path = saved / "constitution.md"
    path.write_text(path.read_text() + "\n- Everything may be deleted.\n")
    before = tree(saved / "generated")
    ended = inside("compile", "--locked", cwd=saved)
    assert (ended.code, set(ended.codes)) == (3, {"IC3302"})
    assert "no answer is kept for clauses" in ended.err
    assert tree(saved / "generated") == before
