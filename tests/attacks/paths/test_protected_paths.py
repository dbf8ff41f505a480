"""Attack: reach the system's own files through any argument of any tool, under a policy that allows all.

Held by: the structural check of protected paths, before any rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.called import HOME, SANDBOX, answering, decide_with, one_tool
from support.projects.policies import rule, tool, write_bundle

from ironcurtain import Policy
from ironcurtain.decision.decide import Call

ANYTHING = [rule("anything", "allow", server=["s"])]
SECRET, INNER = f"{HOME}/secret", f"{SANDBOX}/.env"
PROTECTED = ("deny", "structural-protected-path")
LINKS = {
    f"{SANDBOX}/link": SECRET,
    f"{SANDBOX}/loose": "../secret/new",
    f"{SANDBOX}/to-home": HOME,
    f"{SANDBOX}/hop": "link",
}
TOOL = tool(
    "t",
    read=["read-path"],
    write=["write-path"],
    gone=["delete-path"],
    tree={"roles": ["read-path"], "recursive": True},
    history=["write-history"],
    repo={"roles": ["read-path"], "repository": True},
    remote=["git-remote-url"],
    list={"roles": ["read-path"], "codec": "json-or-comma"},
    note=["none"],
    message=["commit-message"],
    branch=["branch-name"],
    key=["remote-path"],
)
POLICY = one_tool(TOOL, ANYTHING, protected=(SECRET, INNER), symlinks=LINKS)


def decide(arguments: dict[str, Any]) -> tuple[str, str]:
    given = {"repo": SANDBOX, "remote": "https://github.com/u/r"} | arguments
    decision = decide_with(POLICY, Call("s", "t", given), answering(ANYTHING))
    return decision.verdict, decision.rule


SPELLINGS = [
    SECRET,
    f"{SECRET}/",
    f"{SECRET}/below",
    f"{SECRET}/./a/../b",
    "~/secret",
    "~/./secret/x",
    f"{SANDBOX}/../secret",
    "../secret/x",
    "link",
    "link/x",
    "hop",
    "loose",
    "to-home/secret",
    ".env",
    f"/{INNER}",
    "//home//user//secret",
    "/etc/../home/user/secret",
    "~/.ironcurtain/constitution-user.md",
]


@pytest.mark.parametrize("path", SPELLINGS)
@pytest.mark.parametrize("name", ["read", "write", "gone", "tree", "history", "list"])
def test_every_role_of_a_path(name: str, path: str) -> None:
    assert decide({name: path}) == PROTECTED


@pytest.mark.parametrize("path", [p for p in SPELLINGS if p.startswith(("/", ".", "~"))])
@pytest.mark.parametrize("name", ["note", "message"])
def test_every_leaf_of_an_argument_that_is_no_path(name: str, path: str) -> None:
    assert decide({name: path}) == PROTECTED
    assert decide({name: {"deep": ["x", {"er": path}]}}) == PROTECTED


READ_AS_PATHS = [
    *(f" {SECRET}", f"{SECRET} ", f"{SECRET}\n", f"\t{SECRET}\r\n", f"\u00a0{SECRET}", f"{SECRET}\u3000"),
    *(f"\ufeff{SECRET}", f"{SECRET}\u200b", " ~/secret", f"{' ' * 5000}{SECRET}", f"{'/.' * 5000}{SECRET}"),
    *(
        f"/proc/self/root{SECRET}",
        f"/proc/1/root/proc/thread-self/root{SECRET}",
        f"/proc/self/task/7/root{SECRET}",
    ),
    *("/proc/self/cwd/../secret", "/proc/self/root/../home/./user/secret"),
    *(f"file://{SECRET}", f"file:{SECRET}", f"file://localhost{SECRET}", f"file://LOCALHOST{SECRET}"),
    *(f"FILE://{SECRET}", f"FiLe:{SECRET}", f" file://{SECRET}", f"\u00a0file://{SECRET}\u00a0"),
    *(f"fi\tle:/\n/{SECRET}", "file:///home/us\ner/secret", "file:///home/user/%73ecret"),
    *("file:///home/user/%73%65%63%72%65%74", "file:%2Fhome%2Fuser%2Fsecret", "file:///home%2Fuser/secret"),
    *(r"file:\\\home\user\secret", r"file:\home/user/secret", r"file:///home\user\secret"),
    *("file:///x/../home/user/secret", "file:///x/%2e%2e/home/user/secret", "file:////home//user/secret"),
    *("f" + "\t" * 70 + f"ile://{SECRET}", "file" + "\n" * 5000 + f"://{SECRET}"),
    *(f"file://{SECRET}?a=b", f"file://{SECRET}#a", f"file://other.example{SECRET}", "file:~/secret"),
    *("file://~/secret", "file:../secret", "file://../secret", "file://.env", f"file://{SECRET}%20"),
]


@pytest.mark.parametrize("text", READ_AS_PATHS)
@pytest.mark.parametrize("name", ["note", "message"])
def test_a_text_that_some_program_reads_as_a_protected_path(name: str, text: str) -> None:
    assert decide({name: text}) == PROTECTED
    assert decide({name: {"deep": [text]}}) == PROTECTED
    assert decide({name: {"deep": {text: "a key of an object"}}}) == PROTECTED
    assert decide({name: [{text: []}]}) == PROTECTED


@pytest.mark.parametrize(
    "text",
    [f"file://{SECRET}2", "file:///home", "file:", "file://", "filed: away", "file:///%zz", "\ufeff", " "],
)
def test_a_text_like_a_file_uri_that_names_nothing_protected(text: str) -> None:
    assert decide({"note": {"deep": {text: text}}})[0] == "allow"


@pytest.mark.parametrize("end", [" ", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u00ad", "\ufe0f"])
@pytest.mark.parametrize("name", ["read", "write", "gone", "tree", "history", "remote"])
def test_a_path_that_a_server_trims(name: str, end: str) -> None:
    """The kernel tells the two apart, and a server that trims its arguments opens the protected one."""
    for path in (f"{SECRET}{end}", f"{INNER}{end}", f"{SANDBOX}/new{end}"):
        verdict, rule = decide({name: path})
        assert (verdict, rule) in (("deny", "structural-unrepresentable-argument"), PROTECTED), path


@pytest.mark.parametrize(
    "text", ["see /home/user/secret", "secret", "/home/user/secret2", "/etc/passwd", "~"]
)
def test_text_that_names_nothing_protected(text: str) -> None:
    assert decide({"note": text})[0] == "allow"


def test_a_remote_path_is_checked_too() -> None:
    assert decide({"key": "~/secret"}) == PROTECTED


@pytest.mark.parametrize("remote", [SECRET, f"file://{SECRET}", "../secret/r.git"])
def test_a_git_remote_that_is_a_protected_directory(remote: str) -> None:
    assert decide({"remote": remote}) == PROTECTED


@pytest.mark.parametrize("name", ["tree", "gone"])
@pytest.mark.parametrize("path", [HOME, "~", "/home", "/", SANDBOX, "."])
def test_a_tree_with_a_protected_path_anywhere_below(name: str, path: str) -> None:
    assert decide({name: path}) == PROTECTED


@pytest.mark.parametrize("path", [HOME, "/", SANDBOX])
def test_a_directory_that_is_not_taken_as_a_tree(path: str) -> None:
    assert decide({"read": path})[0] == "allow"


@pytest.mark.parametrize(
    "path", [".git/config", ".GIT/hooks/x", "a/.Git", "/srv/r/.git", "~/x/.gIt/y/z", "a/../.git/config"]
)
@pytest.mark.parametrize(("name", "refused"), [("write", True), ("gone", True), ("read", False)])
def test_git_directories_are_code(path: str, name: str, refused: bool) -> None:
    assert (decide({name: path}) == PROTECTED) is refused


def test_inside_a_bare_repository() -> None:
    marks: dict[str, dict[str, Any]] = {f"/srv/r.git/{name}": {} for name in ("HEAD", "objects/x", "refs/x")}
    policy = one_tool(TOOL, ANYTHING, files=marks)
    for name, expected in (("write", "deny"), ("gone", "deny"), ("read", "allow")):
        call = Call("s", "t", {name: "/srv/r.git/hooks/update", "repo": SANDBOX, "remote": "https://a.org/r"})
        assert decide_with(policy, call, answering(ANYTHING)).verdict == expected


@pytest.mark.parametrize("hook", [".git/hooks/pre-commit", "deep/library/.git/hooks/post-checkout"])
def test_a_second_name_of_a_hook_is_not_written(hook: str, tmp_path: Path) -> None:
    """Rules that let a tool write files with several names would let it change what git runs."""
    sandbox = tmp_path.resolve() / "work"
    for name in ("innocent", hook):
        (sandbox / name).parent.mkdir(parents=True, exist_ok=True)
        (sandbox / name).write_text("#!/bin/sh")
    (sandbox / "place").mkdir()
    (sandbox / "place" / "second").hardlink_to(sandbox / hook)
    (sandbox / "place" / "other").hardlink_to(sandbox / "innocent")
    tools = [tool("write", path=["write-path"]), tool("remove", path=["delete-path"])]
    rules = [rule("work", "allow", paths={"roles": ["write-path"], "within": [str(sandbox)]})]
    bundle = write_bundle(tmp_path, {"s": tools}, rules)
    with Policy.load(bundle, home=tmp_path, sandbox=sandbox) as policy:
        found = [
            policy.decide("s", name, {"path": str(sandbox / "place" / path)}).rule
            for name, path in (("write", "second"), ("write", "other"), ("remove", "second"))
        ]
    assert found[:2] == ["structural-protected-path", "work"]
    assert found[2] != "structural-protected-path", "the hook stays"
