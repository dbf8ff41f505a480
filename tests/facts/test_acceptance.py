"""Acceptance facts: one bundle, one engine, many calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.projects import acceptance
from support.projects.policies import write_bundle

from ironcurtain import Policy

SANDBOX = "structural-sandbox-allow"
PROTECTED = "structural-protected-path"
UNKNOWN = "structural-unknown-tool"
UNREPRESENTABLE = "structural-unrepresentable-argument"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> acceptance.Places:
    return acceptance.Places.make(tmp_path_factory.mktemp("acceptance"))


@pytest.fixture(scope="module")
def policy(places: acceptance.Places) -> Iterator[Policy]:
    bundle = write_bundle(
        places.base / "state" / "generated", acceptance.SERVERS, acceptance.rules(places.base)
    )
    (places.sandbox / "link-out").symlink_to(places.base)
    with Policy.load(bundle, sandbox=places.sandbox, home=places.home, protected=places.protected) as loaded:
        yield loaded


ROWS: list[tuple[str, str, str, Any, str, str]] = [
    # id, server, tool, arguments, verdict, rule
    ("A3", "filesystem", "write_file", {"path": "T/state/audit.jsonl", "content": ""}, "deny", PROTECTED),
    ("A4-servers", "filesystem", "read_file", {"path": "T/state/mcp-servers.json"}, "deny", PROTECTED),
    ("A4-env", "filesystem", "read_file", {"path": "T/state/.env"}, "deny", PROTECTED),
    ("A4-config", "filesystem", "read_file", {"path": "T/state/config.json"}, "deny", PROTECTED),
    ("A4-user-config", "filesystem", "read_file", {"path": "~/.ironcurtain/config.json"}, "deny", PROTECTED),
    ("A5", "filesystem", "execute_command", {"command": "id"}, "deny", UNKNOWN),
    ("A6", "filesystem", "delete_file", {"path": "SB/test.txt"}, "deny", UNKNOWN),
    ("A7-sandbox", "filesystem", "delete_directory", {"path": "SB/d"}, "deny", UNKNOWN),
    ("A7-etc", "filesystem", "delete_file", {"path": "/etc/passwd"}, "deny", UNKNOWN),
    ("A11", "filesystem", "read_file", {"path": "T/state/generated/bundle.tar.gz"}, "deny", PROTECTED),
    ("A12", "filesystem", "read_file", {"path": "T/other/../state/generated/x"}, "deny", PROTECTED),
    ("A18-file", "filesystem", "read_file", {"path": "SB/test.txt"}, "allow", SANDBOX),
    ("A18-list", "filesystem", "list_directory", {"path": "SB"}, "allow", SANDBOX),
    ("A18-search", "filesystem", "search_files", {"path": "SB", "pattern": "x"}, "allow", SANDBOX),
    (
        "A23",
        "filesystem",
        "read_file",
        {"path": "SB/../../../../../../../../etc/passwd"},
        "escalate",
        "ask-read",
    ),
    ("A27", "filesystem", "list_allowed_directories", {}, "allow", "allow-list-allowed"),
    ("A28-reset", "git", "git_reset", {"path": "SB"}, "escalate", "ask-history"),
    ("A28-merge", "git", "git_merge", {"path": "SB"}, "escalate", "ask-history"),
    ("A28-rebase", "git", "git_rebase", {"path": "SB"}, "escalate", "ask-history"),
    ("A28-branch", "git", "git_branch", {"path": "SB"}, "escalate", "ask-branch"),
    ("A29-status", "git", "git_status", {"path": "SB"}, "allow", SANDBOX),
    ("A29-add", "git", "git_add", {"path": "SB"}, "allow", SANDBOX),
    ("A29-commit", "git", "git_commit", {"path": "SB"}, "allow", SANDBOX),
    ("A32", "filesystem", "read_file", {"path": "SB-evil/x"}, "escalate", "ask-read"),
    ("A33", "filesystem", "read_file", {"path": "SB//./x/"}, "allow", SANDBOX),
    ("A34", "filesystem", "read_file", {"path": "SB/link-out/nowhere"}, "escalate", "ask-read"),
    ("A35", "filesystem", "read_file", {"path": "/etc/passwd"}, "escalate", "ask-read"),
    ("A36", "filesystem", "write_file", {"path": "/etc/test.txt", "content": ""}, "escalate", "ask-write"),
    (
        "A37",
        "filesystem",
        "move_file",
        {"source": "SB/a", "destination": "T/outside/b"},
        "escalate",
        "ask-write",
    ),
    (
        "A38",
        "filesystem",
        "move_file",
        {"source": "/etc/important", "destination": "SB/b"},
        "deny",
        "deny-delete",
    ),
    ("A40", "filesystem", "edit_file", {"path": "/etc/test.txt", "edits": []}, "escalate", "ask-write"),
    ("A48", "git", "read_file", {"path": "SB/test.txt"}, "deny", UNKNOWN),
    ("A49", "gworkspace", "drive_read_file", {"query": "x"}, "allow", "allow-workspace-read"),
    (
        "A55",
        "filesystem",
        "read_multiple_files",
        {"paths": ["T/permitted-a/f", "T/permitted-b/f"]},
        "allow",
        "read-a",
    ),
    (
        "A56",
        "filesystem",
        "read_multiple_files",
        {"paths": ["T/permitted-a/f", "/etc/x"]},
        "escalate",
        "ask-read",
    ),
    (
        "A57",
        "filesystem",
        "read_multiple_files",
        {"paths": ["T/permitted-a/f", "T/permitted-a/g"]},
        "allow",
        "read-a",
    ),
    ("A59", "filesystem", "read_multiple_files", {"paths": ["SB/a", "/etc/b"]}, "escalate", "ask-read"),
    (
        "A64",
        "filesystem",
        "read_multiple_files",
        {"paths": ["/etc/f", 42, None, "T/o"]},
        "deny",
        UNREPRESENTABLE,
    ),
    ("A65-number", "filesystem", "read_file", {"path": 42}, "deny", UNREPRESENTABLE),
    ("A65-null", "filesystem", "read_file", {"path": None}, "deny", "default-deny"),
    ("A65-empty", "filesystem", "read_file", {"path": ""}, "deny", UNREPRESENTABLE),
    (
        "github-create",
        "github",
        "create_issue",
        {"owner": "o", "repo": "r", "title": "t"},
        "escalate",
        "ask-github-write",
    ),
    ("A114", "filesystem", "write_file", {"path": "SB/a", "content": "see /etc/passwd"}, "allow", SANDBOX),
    (
        "A121",
        "filesystem",
        "read_file",
        {"path": "SB/a", "follow": True},
        "deny",
        "structural-invalid-arguments",
    ),
    ("B2-nested", "filesystem", "read_file", {"path": [["/etc/passwd"]]}, "deny", UNREPRESENTABLE),
    ("B2-object", "filesystem", "read_file", {"path": [{"path": "/etc/passwd"}]}, "deny", UNREPRESENTABLE),
    (
        "B3",
        "filesystem",
        "read_multiple_files",
        {"paths": ["SB/a", {"path": "/etc/shadow"}]},
        "deny",
        UNREPRESENTABLE,
    ),
    ("B13-file-url", "filesystem", "read_file", {"path": "file:///etc/passwd"}, "deny", UNREPRESENTABLE),
    ("B13-user", "filesystem", "read_file", {"path": "~root/x"}, "deny", UNREPRESENTABLE),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_decision(
    row: tuple[str, str, str, Any, str, str], policy: Policy, places: acceptance.Places
) -> None:
    _, server, tool, arguments, verdict, rule = row
    decision = policy.decide(server, tool, places.fill_all(arguments))
    assert (decision.verdict, decision.rule) == (verdict, rule), decision.reason


def test_a_moved_file_shows_every_subject_with_its_rule(policy: Policy, places: acceptance.Places) -> None:
    decision = policy.decide(
        "filesystem", "move_file", places.fill_all({"source": "SB/a", "destination": "T/x"})
    )
    assert [(s.at, s.role, s.verdict, s.rule) for s in decision.subjects] == [
        ("/source", "read-path", "allow", SANDBOX),
        ("/source", "delete-path", "allow", SANDBOX),
        ("/destination", "write-path", "escalate", "ask-write"),
    ]


def test_what_is_sent_is_what_was_judged(policy: Policy, places: acceptance.Places) -> None:
    decision = policy.decide("filesystem", "write_file", {"path": "src/./a", "content": "/etc/passwd"})
    assert decision.arguments == {"path": f"{places.sandbox}/src/a", "content": "/etc/passwd"}


def test_the_input_is_not_changed(policy: Policy) -> None:
    arguments = {"paths": ["a", "~/b"]}
    policy.decide("filesystem", "read_multiple_files", arguments)
    assert arguments == {"paths": ["a", "~/b"]}


def test_an_unknown_argument_names_the_valid_ones(policy: Policy) -> None:
    reason = policy.decide("filesystem", "read_file", {"file": "x"}).reason
    assert 'unknown argument "file"' in reason
    assert "Valid arguments: path." in reason
