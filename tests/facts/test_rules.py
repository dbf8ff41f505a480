"""Acceptance facts that bring their own rules: order, roles, guards, lists, conditional roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.projects import acceptance
from support.projects.acceptance import DELETE, READ, WRITE
from support.projects.policies import rule, tool, write_bundle

from ironcurtain import Policy
from ironcurtain.errors import ListError

SANDBOX = "structural-sandbox-allow"


@dataclass(frozen=True)
class Fact:
    """One situation: tools, rules, a call, and what must come of it."""

    id: str
    rules: list[dict[str, Any]]
    call: tuple[str, str, Any]
    expect: tuple[str, str]
    servers: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: acceptance.SERVERS)
    lists: dict[str, Any] | None = None
    sandbox: bool = True


def within(name: str, then: str, directory: str, roles: list[str] | None = None) -> dict[str, Any]:
    return rule(name, then, paths={"roles": roles or [READ], "within": [directory]})


def read(path: str) -> tuple[str, str, Any]:
    return "filesystem", "read_file", {"path": path}


def read_all(*paths: str) -> tuple[str, str, Any]:
    return "filesystem", "read_multiple_files", {"paths": list(paths)}


def move(source: str, destination: str) -> tuple[str, str, Any]:
    return "filesystem", "move_file", {"source": source, "destination": destination}


DRY_RUN = {
    "default": [READ, WRITE],
    "when": [{"arg": "dryRun", "equals": True, "roles": [READ]}],
}
EDITOR = {"filesystem": [tool("edit_file", path={"conditional": DRY_RUN}, dryRun=["none"])]}
HISTORY = [READ, "write-history", "delete-history"]
BRANCHES = {
    "git": [
        tool(
            "git_branch",
            path={
                "conditional": {
                    "default": HISTORY,
                    "when": [{"arg": "operation", "in": ["list"], "roles": [READ]}],
                }
            },
            operation=["none"],
        )
    ]
}
MAIL = {"mail": [tool("send", contained=False, to=["recipient"], body=["none"], attach=[READ])]}
ISSUES = {
    "github": [
        tool("get_issue", contained=False, owner=["none"], repo=["none"])
        | {"composites": [{"role": "repository", "join": ["owner", "repo"], "with": "/"}]}
    ]
}
OURS = rule("ours", "allow", lists={"roles": ["repository"], "allowed": ["provos/ironcurtain"]})
READ_A = within("read-a", "allow", "T/permitted-a")
ASK_READ = rule("ask-read", "escalate", roles=[READ])
EDIT_RULES = [within("read-all", "allow", "/etc"), rule("ask-write", "escalate", roles=[WRITE])]
BRANCH_RULES = [rule("ask-branch", "escalate", tool=["git_branch"])]
TRUSTED_DOMAINS = {
    "trusted": {
        "type": "domain",
        "resolved": ["github.com", "gitlab.com"],
        "added": ["bitbucket.org"],
        "removed": ["gitlab.com"],
    }
}
FETCH_TRUSTED = [rule("trusted", "allow", domains={"roles": ["fetch-url"], "allowed": ["@trusted"]})]


def fetch(url: str) -> tuple[str, str, Any]:
    return "fetch", "http_fetch", {"url": url}


FACTS = [
    Fact("A13", [], read("~/.ironcurtain/config.json"), ("deny", "structural-protected-path")),
    Fact("A26", [], read("SB/test.txt"), ("deny", "default-deny"), sandbox=False),
    Fact("A31", [], ("git", "git_reset", {"path": "SB"}), ("deny", "default-deny")),
    Fact(
        "A41",
        [rule("read-anywhere", "allow", roles=[READ]), rule("no-write", "deny", roles=[WRITE])],
        ("filesystem", "edit_file", {"path": "/etc/x", "edits": []}),
        ("deny", "no-write"),
    ),
    Fact(
        "A46",
        [rule("first", "allow", roles=[READ]), rule("second", "deny", roles=[READ])],
        read("/etc/x"),
        ("allow", "first"),
    ),
    Fact("A50", [within("some", "allow", "~/somedir")], read("~/somedir/f"), ("allow", "some")),
    Fact("A51-inside", [READ_A], read("T/permitted-a/deep/nested/f"), ("allow", "read-a")),
    Fact("A51-outside", [READ_A], read("T/other/f"), ("deny", "default-deny")),
    Fact(
        "A52",
        [within("get", "allow", "~/Downloads"), within("drop", "allow", "~/Downloads", [DELETE])],
        move("~/Downloads/x", "SB/x"),
        ("allow", "get"),
    ),
    Fact(
        "A53",
        [
            within("downloads", "allow", "~/Downloads", [READ, WRITE, DELETE]),
            within("documents", "allow", "~/Documents", [READ, WRITE]),
        ],
        move("~/Downloads/x", "~/Documents/x"),
        ("allow", "downloads"),
    ),
    Fact("A58", [READ_A], read_all("T/permitted-a/f", "T/nowhere"), ("deny", "default-deny")),
    Fact(
        "A61",
        [within("a", "allow", "T/permitted-a"), within("b", "escalate", "T/permitted-b")],
        read_all("T/permitted-a/f", "T/permitted-b/f"),
        ("escalate", "b"),
    ),
    Fact("A63", [READ_A, ASK_READ], read_all("T/permitted-a/f", "/etc/x"), ("escalate", "ask-read")),
    Fact("A66", [READ_A], ("filesystem", "read_file", {}), ("deny", "default-deny")),
    Fact(
        "A67-domains",
        [rule("web", "allow", domains={"roles": ["fetch-url"], "allowed": ["github.com"]})],
        ("fetch", "http_fetch", {}),
        ("deny", "default-deny"),
    ),
    Fact("A67-lists", [OURS], ("github", "get_issue", {}), ("deny", "default-deny"), ISSUES),
    Fact(
        "A101",
        [OURS],
        ("github", "get_issue", {"owner": "Provos", "repo": "IronCurtain"}),
        ("allow", "ours"),
        ISSUES,
    ),
    *(
        Fact(
            f"A102-{owner}-{repo}",
            [OURS],
            ("github", "get_issue", {"owner": owner, "repo": repo}),
            outcome,
            ISSUES,
        )
        for owner, repo, outcome in (
            ("evil", "ironcurtain", ("deny", "default-deny")),
            ("provos", "other", ("deny", "default-deny")),
            ("evil", "other", ("deny", "default-deny")),
        )
    ),
    *(
        Fact(
            f"A102-crossed-{owner}-{repo}",
            [rule("two", "allow", lists={"roles": ["repository"], "allowed": ["a/one", "b/two"]})],
            ("github", "get_issue", {"owner": owner, "repo": repo}),
            ("deny", "default-deny"),
            ISSUES,
        )
        for owner, repo in (("a", "two"), ("b", "one"))
    ),
    *(
        Fact(
            f"A103-{address}",
            [rule("alice", "allow", lists={"roles": ["recipient"], "allowed": ["alice@example.com"]})],
            ("mail", "send", {"to": address, "body": "hello"}),
            outcome,
            MAIL,
        )
        for address, outcome in (
            ("ALICE@EXAMPLE.COM", ("allow", "alice")),
            ("evil@example.com", ("deny", "default-deny")),
            ("alice@example.com, evil@example.com", ("deny", "structural-unrepresentable-argument")),
        )
    ),
    Fact(
        "B4",
        [rule("alice", "allow", lists={"roles": ["recipient"], "allowed": ["a@x.com"]})],
        ("mail", "send", {"to": ["a@x.com", {"email": "evil@z.com"}], "body": ""}),
        ("deny", "structural-unrepresentable-argument"),
        MAIL,
    ),
    *(
        Fact(f"A105-{host}", FETCH_TRUSTED, fetch(f"https://{host}/x"), outcome, lists=TRUSTED_DOMAINS)
        for host, outcome in (
            ("github.com", ("allow", "trusted")),
            ("bitbucket.org", ("allow", "trusted")),
            ("gitlab.com", ("deny", "default-deny")),
            ("evil.com", ("deny", "default-deny")),
        )
    ),
    Fact(
        "A107",
        [
            rule("friends", "allow", lists={"roles": ["recipient"], "allowed": ["alice@example.com"]}),
            rule("ask", "escalate", server=["mail"]),
        ],
        ("mail", "send", {"to": "alice@example.com", "body": "", "attach": "T/permitted-a/f"}),
        ("escalate", "ask"),
        MAIL,
    ),
    Fact(
        "A109",
        EDIT_RULES,
        ("filesystem", "edit_file", {"path": "/etc/x", "dryRun": True}),
        ("allow", "read-all"),
        EDITOR,
    ),
    Fact(
        "A110-false",
        EDIT_RULES,
        ("filesystem", "edit_file", {"path": "/etc/x", "dryRun": False}),
        ("escalate", "ask-write"),
        EDITOR,
    ),
    Fact(
        "A110-absent",
        EDIT_RULES,
        ("filesystem", "edit_file", {"path": "/etc/x"}),
        ("escalate", "ask-write"),
        EDITOR,
    ),
    Fact(
        "A112-text",
        EDIT_RULES,
        ("filesystem", "edit_file", {"path": "/etc/x", "dryRun": "true"}),
        ("escalate", "ask-write"),
        EDITOR,
    ),
    Fact(
        "A111-list",
        BRANCH_RULES,
        ("git", "git_branch", {"path": "SB", "operation": "list"}),
        ("allow", SANDBOX),
        BRANCHES,
    ),
    *(
        Fact(
            f"A111-{name}",
            BRANCH_RULES,
            ("git", "git_branch", {"path": "SB"} | given),
            ("escalate", "ask-branch"),
            BRANCHES,
        )
        for name, given in (
            ("delete", {"operation": "delete"}),
            ("absent", {}),
            ("unknown", {"operation": "x"}),
        )
    ),
]


@pytest.fixture
def places(tmp_path: Path) -> acceptance.Places:
    return acceptance.Places.make(tmp_path)


@pytest.mark.parametrize("fact", FACTS, ids=[fact.id for fact in FACTS])
def test_fact(fact: Fact, places: acceptance.Places) -> None:
    bundle = write_bundle(places.base / "state", fact.servers, places.fill_all(fact.rules), lists=fact.lists)
    sandbox = places.sandbox if fact.sandbox else None
    with Policy.load(bundle, sandbox=sandbox, home=places.home) as policy:
        server, name, arguments = fact.call
        decision = policy.decide(server, name, places.fill_all(arguments))
    assert (decision.verdict, decision.rule) == fact.expect, decision.reason


def test_a106_a_missing_list_neither_builds_nor_loads(places: acceptance.Places) -> None:
    with pytest.raises(ListError, match="missing"):
        write_bundle(
            places.base,
            acceptance.SERVERS,
            [rule("r", "allow", domains={"roles": ["fetch-url"], "allowed": ["@missing"]})],
        )


def test_a113_tilde_forms(places: acceptance.Places) -> None:
    bundle = write_bundle(places.base / "state", acceptance.SERVERS, [])
    with Policy.load(bundle, sandbox=places.sandbox, home=places.home) as policy:
        sent = policy.decide(*read_all("~/x", "~", "a/~/b", "./a", "../a")).arguments
    home, sandbox = str(places.home), str(places.sandbox)
    assert sent == {"paths": [f"{home}/x", home, f"{sandbox}/a/~/b", f"{sandbox}/a", f"{places.base}/a"]}


NESTED = "structural-protected-path"
APP = ".app/sessions/s/sandbox"


@pytest.mark.parametrize(
    ("path", "expect"),
    [
        ("~/.app/config.json", ("deny", NESTED)),
        ("~/.app/sessions/other/audit.jsonl", ("deny", NESTED)),
        ("~/.app/sessions/s/sandbox/x", ("allow", SANDBOX)),
    ],
    ids=["A14", "A15", "A16"],
)
def test_a_sandbox_inside_a_protected_directory(
    path: str, expect: tuple[str, str], places: acceptance.Places
) -> None:
    sandbox = places.home / APP
    sandbox.mkdir(parents=True)
    bundle = write_bundle(places.base / "state", acceptance.SERVERS, [])
    with Policy.load(bundle, sandbox=sandbox, home=places.home, protected=[places.home / ".app"]) as policy:
        decision = policy.decide(*read(path))
    assert (decision.verdict, decision.rule) == expect


def test_b28_a_hard_link_in_the_sandbox_to_a_protected_file(places: acceptance.Places) -> None:
    secret = places.base / "state" / "config.json"
    (places.sandbox / "innocent").hardlink_to(secret)
    bundle = write_bundle(places.base / "permitted-a", acceptance.SERVERS, [])
    for protected in (secret, secret.parent):
        with Policy.load(bundle, sandbox=places.sandbox, home=places.home, protected=[protected]) as policy:
            decision = policy.decide(*read("SB/innocent".replace("SB", str(places.sandbox))))
        assert (decision.verdict, decision.rule) == ("deny", NESTED)
