"""One call for each row of the shipped matrix: what it says of a tool in a place, to be really done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["allow", "ask", "deny"]

LOOKS = (
    *("git_blame", "git_changelog_analyze", "git_diff", "git_log", "git_reflog", "git_show", "git_status"),
    *("git_branch", "git_stash", "git_tag"),
)
_REPOSITORIES: tuple[tuple[str, Verdict], ...] = (("{repo}", "allow"), ("{other}", "ask"))
_MORE: dict[str, dict[str, Any]] = {
    "git_blame": {"filePath": "file"},
    "git_changelog_analyze": {"reviewTypes": ["features"]},
    "git_show": {"object": "HEAD"},
}


@dataclass(frozen=True)
class Row:
    """A call. Places are `{work}`, `{home}`, and repositories: `{repo}` in the sandbox, `{other}` elsewhere.

    Attributes:
        verdict: What the matrix says.
        held: What is told where the sandbox refuses it although a person approved; empty if it does not.
        reached: Text that its result has, if it succeeds.
    """

    tool: str
    verdict: Verdict
    arguments: dict[str, Any] = field(default_factory=dict)
    held: str = ""
    reached: str = ""

    @property
    def name(self) -> str:
        """What tells the row from others."""
        return f"{self.tool} {self.verdict} {self.arguments}"


def _files() -> list[Row]:
    places: dict[str, tuple[Verdict, Verdict]] = {
        "{work}": ("allow", "allow"),
        "{home}/Downloads": ("allow", "allow"),
        "{home}/Documents": ("allow", "deny"),
        "{home}/notes": ("ask", "ask"),
    }
    rows = [Row("filesystem__list_allowed_directories", "allow")]
    for place, (reads, writes) in places.items():
        file = f"{place}/file"
        rows += [
            *(
                Row(f"filesystem__{tool}", reads, {"path": file}, reached="text")
                for tool in ("read_file", "read_text_file")
            ),
            *(
                Row(f"filesystem__{tool}", reads, {"path": place}, reached="file")
                for tool in ("directory_tree", "list_directory", "list_directory_with_sizes")
            ),
            Row("filesystem__get_file_info", reads, {"path": file}),
            Row("filesystem__read_media_file", reads, {"path": f"{place}/picture.png"}),
            Row("filesystem__read_multiple_files", reads, {"paths": [file]}, reached="text"),
            Row("filesystem__search_files", reads, {"path": place, "pattern": "file"}, reached="file"),
            Row("filesystem__write_file", writes, {"path": f"{place}/made", "content": "made"}),
            Row("filesystem__create_directory", writes, {"path": f"{place}/directory"}),
            Row(
                "filesystem__edit_file",
                writes,
                {"path": f"{place}/edited", "edits": [{"oldText": "text", "newText": "other"}]},
            ),
        ]
    moves: list[tuple[str, str, Verdict]] = [
        ("{work}/from", "{work}/moved", "allow"),
        ("{home}/Downloads/from", "{home}/Downloads/moved", "allow"),
        ("{home}/notes/from", "{work}/away", "deny"),
        ("{home}/Documents/from", "{work}/away", "deny"),
    ]
    rows += [Row("filesystem__move_file", says, {"source": a, "destination": b}) for a, b, says in moves]
    across = {"source": "{home}/Downloads/moved", "destination": "{home}/notes/moved"}
    rows.append(Row("filesystem__move_file", "ask", across, held="different mounts of its sandbox"))
    rows.append(Row("filesystem__read_text_file", "ask", {"path": "/etc/hostname"}))
    return rows


def _looking() -> list[Row]:
    rows = [
        Row(f"git__{tool}", verdict, {"path": repository, **_MORE.get(tool, {})})
        for repository, verdict in _REPOSITORIES
        for tool in LOOKS
    ]
    rows += [
        Row("git__git_remote", "allow", {"path": "{repo}", "mode": "list"}),
        Row("git__git_remote", "ask", {"path": "{other}", "mode": "list"}),
        Row("git__git_worktree", "allow", {"path": "{repo}", "mode": "list"}),
        Row("git__git_clean", "allow", {"path": "{repo}", "dryRun": True, "force": True}),
        Row("git__git_set_working_dir", "allow", {"path": "{repo}"}),
        Row("git__git_clear_working_dir", "allow", {"confirm": "yes"}),
        Row("git__git_wrapup_instructions", "allow", {"acknowledgement": "yes"}),
    ]
    return rows


def _changing() -> list[Row]:
    rows: list[Row] = []
    for repository, verdict in _REPOSITORIES:
        at = {"path": repository}
        rows += [
            Row("git__git_add", verdict, {**at, "paths": ["new"]}),
            Row("git__git_commit", verdict, {**at, "message": "more"}),
            Row("git__git_branch", verdict, {**at, "mode": "create", "branchName": "one"}),
            Row("git__git_tag", verdict, {**at, "mode": "create", "tagName": "v1"}),
            Row("git__git_stash", verdict, {**at, "mode": "list"}),
            Row("git__git_checkout", "ask", {**at, "target": "one"}),
            Row("git__git_merge", "ask", {**at, "branch": "side"}),
            Row("git__git_reset", "ask", {**at, "mode": "soft", "target": "HEAD", "confirmed": True}),
            Row("git__git_cherry_pick", "ask", {**at, "commits": ["picked"]}),
            Row("git__git_branch", "ask", {**at, "mode": "delete", "branchName": "gone", "force": True}),
            Row("git__git_tag", "ask", {**at, "mode": "delete", "tagName": "old"}),
            Row("git__git_push", "ask", {**at, "remote": "origin", "branch": "main", "confirmed": True}),
            Row("git__git_fetch", "ask", {**at, "remote": "origin"}),
            Row(
                "git__git_remote",
                "ask",
                {**at, "mode": "add", "name": "more", "url": "https://github.com/a/b"},
                held="The policy permits this call of the server",
            ),
        ]
    rows += [
        Row("git__git_init", "allow", {"path": "{work}/fresh"}),
        Row("git__git_init", "deny", {"path": "{home}/Documents"}),
        Row("git__git_add", "deny", {"path": "{home}/Documents/kept", "all": True}),
        Row("git__git_commit", "deny", {"path": "{home}/Documents/kept", "message": "x"}),
        Row("git__git_worktree", "ask", {"path": "{repo}", "mode": "add", "worktreePath": "{work}/tree"}),
        Row("git__git_clean", "ask", {"path": "{repo}", "dryRun": False, "force": True}),
        Row("git__git_clean", "deny", {"path": "{other}", "dryRun": False, "force": True}),
        Row("git__git_clone", "ask", {"url": "{remote}", "path": "{work}/cloned"}),
    ]
    return rows


ROWS = [*_files(), *_looking(), *_changing()]
