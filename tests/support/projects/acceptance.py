"""The policy of the acceptance tables: five servers and sixteen ordered rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.projects.policies import rule, tool

READ, WRITE, DELETE = "read-path", "write-path", "delete-path"
OPAQUE = ["none"]
REPOSITORY = {"roles": [READ], "repository": True}
REMOTE = ["git-remote-url"]

FILESYSTEM = [
    tool("read_file", path=[READ]),
    tool("list_directory", path=[READ]),
    tool("search_files", path={"roles": [READ], "recursive": True}, pattern=OPAQUE),
    tool("read_multiple_files", paths=[READ]),
    tool("write_file", path=[WRITE], content=OPAQUE),
    tool("edit_file", path=[READ, WRITE], edits=OPAQUE),
    tool("move_file", source=[READ, DELETE], destination=[WRITE]),
    tool("list_allowed_directories", side_effects=False),
]
GIT = [
    *(tool(f"git_{name}", path=REPOSITORY) for name in ("status", "log", "diff")),
    *(tool(f"git_{name}", path={"roles": [WRITE], "repository": True}) for name in ("add", "commit")),
    *(tool(f"git_{name}", path=REPOSITORY, remote=REMOTE) for name in ("push", "pull", "fetch")),
    tool("git_clone", url=REMOTE, path=[WRITE]),
    *(
        tool(f"git_{name}", path={"roles": [READ, "write-history"], "repository": True})
        for name in ("reset", "rebase", "merge")
    ),
    tool("git_branch", path={"roles": [READ, "write-history", "delete-history"], "repository": True}),
]
GITHUB = [
    tool(name, contained=False, owner=OPAQUE, repo=OPAQUE, query=OPAQUE, title=OPAQUE)
    | {"composites": [{"role": "repository", "join": ["owner", "repo"], "with": "/"}]}
    for name in (
        "list_issues",
        "get_issue",
        "search_code",
        "create_issue",
        "create_pull_request",
        "merge_pull_request",
    )
]
_WORKSPACE_READS = [
    "gmail_search_messages",
    "gmail_get_message",
    "calendar_list_events",
    "drive_list_files",
    "drive_read_file",
]
_WORKSPACE_WRITES = [
    "gmail_send_message",
    "gmail_draft_message",
    "calendar_create_event",
    "drive_share_file",
    "gmail_delete_message",
    "gmail_batch_modify_labels",
]
WORKSPACE = [
    tool(name, contained=False, query=OPAQUE, body=OPAQUE) for name in (*_WORKSPACE_READS, *_WORKSPACE_WRITES)
]
FETCH = [tool("http_fetch", contained=False, url=["fetch-url"])]
SERVERS = {
    "filesystem": FILESYSTEM,
    "git": GIT,
    "github": GITHUB,
    "gworkspace": WORKSPACE,
    "fetch": FETCH,
}


def git(*names: str) -> dict[str, list[str]]:
    return {"server": ["git"], "tool": [f"git_{name}" for name in names]}


def rules(place: Path) -> list[dict[str, Any]]:
    """Return the sixteen rules; `place` is the real temporary directory T."""
    files = {"server": ["filesystem"]}

    def reading(name: str) -> dict[str, Any]:
        return files | {"paths": {"roles": [READ], "within": [str(place / name)]}}

    return [
        rule("allow-list-allowed", "allow", **files, tool=["list_allowed_directories"]),
        rule("ask-remote", "escalate", **git("push", "pull", "fetch")),
        rule("ask-history", "escalate", **git("reset", "rebase", "merge")),
        rule("ask-branch", "escalate", **git("branch")),
        rule("allow-git-read", "allow", **git("status", "log", "diff")),
        rule("allow-git-commit", "allow", **git("add", "commit")),
        rule(
            "allow-github-read", "allow", server=["github"], tool=["list_issues", "get_issue", "search_code"]
        ),
        rule(
            "ask-github-write",
            "escalate",
            server=["github"],
            tool=["create_issue", "create_pull_request", "merge_pull_request"],
        ),
        rule("allow-workspace-read", "allow", server=["gworkspace"], tool=_WORKSPACE_READS),
        rule("ask-workspace-write", "escalate", server=["gworkspace"], tool=_WORKSPACE_WRITES),
        rule("allow-fetch", "allow", server=["fetch"], tool=["http_fetch"]),
        rule("deny-delete", "deny", **files, roles=[DELETE]),
        rule("ask-write", "escalate", **files, roles=[WRITE]),
        rule("read-a", "allow", **reading("permitted-a")),
        rule("read-b", "allow", **reading("permitted-b")),
        rule("ask-read", "escalate", **files, roles=[READ]),
    ]


@dataclass(frozen=True)
class Places:
    """The directories of a test, all real: T, home, sandbox, and the protected files."""

    base: Path
    home: Path
    sandbox: Path
    protected: tuple[Path, ...]

    @classmethod
    def make(cls, base: Path) -> Places:
        home, sandbox, state = base / "home", base / "sandbox", base / "state"
        for directory in (home, sandbox, state / "generated", base / "permitted-a", base / "permitted-b"):
            directory.mkdir(parents=True)
        (sandbox / "test.txt").write_text("inside")
        names = ("constitution.md", "mcp-servers.json", "audit.jsonl", ".env", "config.json")
        for name in names:
            (state / name).write_text("{}")
        return cls(base, home, sandbox, (*(state / name for name in names), state / "generated"))

    def fill(self, text: str) -> str:
        """Replace the tables' words: SB/ and T/ at the start of a path."""
        for word, place in (("SB", self.sandbox), ("T", self.base)):
            if text == word or text.startswith((f"{word}/", f"{word}-")):
                return str(place) + text[len(word) :]
        return text

    def fill_all(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, list):
            return [self.fill_all(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill_all(item) for key, item in value.items()}
        return value
