"""Attack: an agent with its client's own tools changes what governs these tools, or leads them past it.

Held by: the client's settings, hooks and extensions are unchangeable and all that is ours is protected,
searches that could lead out of their directory are no valid calls, and what was decided is what the client is
told to do.
The client's shell is not held by this: its commands are opaque to every rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.deployments.decided import Governed
from support.projects.policies import rule

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def governed(tmp_path: Path) -> Iterator[Governed]:
    """A policy that lets the agent read and write everywhere."""
    everywhere = rule("all", "allow", paths={"roles": ["read-path", "write-path"], "within": ["/"]})
    with Governed(tmp_path, [everywhere]) as place:
        yield place


def denied(answer: dict[str, Any]) -> bool:
    return bool(answer.get("permissionDecision") == "deny")


def test_settings_hooks_and_logs_are_written_by_no_tool(governed: Governed) -> None:
    work, home = governed.work, governed.home
    assert not denied(governed.asks("Write", {"file_path": f"{work}/a", "content": ""}))
    (work / "link").symlink_to(home / ".claude")
    for number, path in enumerate(
        (
            work / ".claude/settings.json",
            work / ".claude/settings.local.json",
            work / ".claude/hooks/x.sh",
            work / ".claude/agents/x.md",
            work / ".mcp.json",
            home / ".claude/settings.json",
            home / ".claude.json",
            home / ".ironcurtain/audit/x.jsonl",
            work / "link/settings.json",
            work / "sub/../.claude/settings.json",
        )
    ):
        answer = governed.asks("Write", {"file_path": str(path), "content": "{}"}, f"w{number}")
        assert denied(answer), path
    assert not denied(governed.asks("Read", {"file_path": f"{work}/.claude/settings.json"}, "r1"))
    assert not denied(governed.asks("Grep", {"pattern": "x", "path": str(work)}, "r2"))


@pytest.mark.parametrize(
    "pattern", ["/etc/*", "~/x", "../*", "sub/../../x", "{.,x}{.,y}/*", ".{,x}./*", "[.][.]/\\*", "@(..)/x"]
)
def test_a_glob_that_leads_out_of_its_directory(governed: Governed, pattern: str) -> None:
    answer = governed.asks("Glob", {"pattern": pattern, "path": str(governed.work)})
    assert denied(answer)


def test_a_link_that_leads_out_is_decided_as_what_it_leads_to(tmp_path: Path) -> None:
    with Governed(tmp_path) as governed:
        (governed.work / "out").symlink_to("/etc")
        assert denied(governed.asks("Read", {"file_path": "out/passwd"}))


def test_arguments_of_tomorrow_and_hidden_ones_are_refused(governed: Governed) -> None:
    given: list[dict[str, Any]] = [{"also": "/etc/passwd"}, {"file_path": "/x\0y"}, {"file_path": ["/x"]}]
    for number, more in enumerate(given):
        assert denied(governed.asks("Read", {"file_path": "/x", **more}, f"t{number}"))
