"""Acceptance facts about domains: patterns of rules, and the structural domain gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects import acceptance
from support.projects.policies import rule, write_bundle, write_servers

from ironcurtain import Policy

GATE = "structural-domain-escalate"
UNREPRESENTABLE = "structural-unrepresentable-argument"


@pytest.fixture
def places(tmp_path: Path) -> acceptance.Places:
    return acceptance.Places.make(tmp_path)


def decide(
    places: acceptance.Places, rules: list[dict[str, Any]], call: tuple[str, str, Any], gate: list[str] | None
) -> tuple[str, str]:
    bundle = write_bundle(places.base / "state", acceptance.SERVERS, rules)
    servers = None
    if gate is not None:
        settings = {"command": "true", "sandbox": {"network": {"allowedDomains": gate}}}
        servers = write_servers(places.base / "permitted-b", {call[0]: settings})
    with Policy.load(bundle, sandbox=places.sandbox, home=places.home, servers=servers) as policy:
        decision = policy.decide(call[0], call[1], places.fill_all(call[2]))
    return decision.verdict, decision.rule


def web(*allowed: str) -> list[dict[str, Any]]:
    return [rule("web", "allow", domains={"roles": ["fetch-url"], "allowed": list(allowed)})]


MATCHES = [
    ("A68-exact", "https://github.com/x", ["github.com"], True),
    ("A68-other", "https://evil.com/x", ["github.com"], False),
    ("A68-any", "https://anything.example/x", ["*"], True),
    ("A69-sub", "https://api.github.com", ["*.github.com"], True),
    ("A69-itself", "https://github.com", ["*.github.com"], True),
    *(
        (f"A70-{host}", f"https://{host}/", ["*"], False)
        for host in (
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "192.168.1.1",
            "[::1]",
            "[fe80::1]",
            "2130706433",
        )
    ),
    ("A72-host", "https://github.com/provos/ironcurtain", ["github.com"], True),
    ("A72-same", "https://github.com/provos/ironcurtain", ["github.com/provos/ironcurtain"], True),
    ("A72-other", "https://github.com/provos/ironcurtain", ["github.com/other/repo"], False),
    ("A72-any", "https://github.com/provos/ironcurtain", ["*"], True),
    ("A73", "https://192.168.1.1/x/y", ["*"], False),
    ("A74-sub", "https://api.github.com/o/r", ["*.github.com"], True),
    ("A74-other", "https://gitlab.com/o/r", ["github.com"], False),
    ("A75", "https://localhost/x", ["*"], False),
    ("A75-exact", "https://localhost/x", ["localhost"], True),
    ("case", "HTTPS://GITHUB.COM:443/Provos/IronCurtain", ["github.com/provos/ironcurtain"], True),
    ("port", "https://github.com:8080/", ["github.com"], False),
    ("scheme", "http://github.com/", ["github.com"], False),
    ("scheme-named", "http://github.com/", ["http://github.com"], True),
]


@pytest.mark.parametrize(("url", "allowed", "covered"), [m[1:] for m in MATCHES], ids=[m[0] for m in MATCHES])
def test_a_domain_condition(url: str, allowed: list[str], covered: bool, places: acceptance.Places) -> None:
    expected = ("allow", "web") if covered else ("deny", "default-deny")
    assert decide(places, web(*allowed), ("fetch", "http_fetch", {"url": url}), None) == expected


ANY_CLONE = [rule("clone", "allow", tool=["git_clone"])]
ASK_CLONE = [rule("clone", "escalate", tool=["git_clone"])]
ONLY_GITHUB = [rule("github", "allow", domains={"roles": ["git-remote-url"], "allowed": ["github.com"]})]
HUB, EVIL = "https://github.com/u/r.git", "https://evil.com/u/r.git"

GATES: list[tuple[str, list[dict[str, Any]], str, str, list[str] | None, tuple[str, str]]] = [
    ("A76", ANY_CLONE, EVIL, "SB/r", ["github.com"], ("escalate", GATE)),
    ("A77", ASK_CLONE, HUB, "SB/r", ["github.com"], ("escalate", "clone")),
    ("A78", ASK_CLONE, HUB, "T/r", ["github.com"], ("escalate", "clone")),
    ("A79", ANY_CLONE, "https://api.github.com/u/r", "SB/r", ["*.github.com"], ("allow", "clone")),
    ("A80", ANY_CLONE, EVIL, "SB/r", None, ("allow", "clone")),
    ("A81", ONLY_GITHUB, HUB, "SB/r", ["github.com"], ("allow", "github")),
    ("A82", ONLY_GITHUB, "git@github.com:u/r.git", "SB/r", ["github.com"], ("allow", "github")),
    ("A84-port", ANY_CLONE, "https://github.com:443/u/r", "SB/r", ["github.com"], ("allow", "clone")),
    ("A84-case", ANY_CLONE, "HTTPS://GITHUB.COM/u/r", "SB/r", ["github.com"], ("allow", "clone")),
    ("A84-8080", ANY_CLONE, "https://github.com:8080/u/r", "SB/r", ["github.com"], ("escalate", GATE)),
    ("A84-http", ANY_CLONE, "http://github.com/u/r", "SB/r", ["github.com"], ("escalate", GATE)),
    ("A84-listed", ANY_CLONE, "http://github.com/u/r", "SB/r", ["http://github.com"], ("allow", "clone")),
    ("A85", ANY_CLONE, HUB, "SB/r", [], ("escalate", GATE)),
    ("A87", ONLY_GITHUB, "https://github.com/any/repo", "SB/r", None, ("allow", "github")),
    ("B15-helper", ANY_CLONE, "ext::sh -c id", "SB/r", None, ("deny", UNREPRESENTABLE)),
    (
        "B15-path",
        [rule("any", "allow", domains={"roles": ["git-remote-url"], "allowed": ["*"]})],
        "/home/u/repo",
        "SB/r",
        None,
        ("deny", "default-deny"),
    ),
    ("B16", [], EVIL, "~root/.ssh", ["github.com"], ("deny", UNREPRESENTABLE)),
]


@pytest.mark.parametrize(
    ("rules", "url", "path", "gate", "expected"), [g[1:] for g in GATES], ids=[g[0] for g in GATES]
)
def test_the_domain_gate(
    rules: list[dict[str, Any]],
    url: str,
    path: str,
    gate: list[str] | None,
    expected: tuple[str, str],
    places: acceptance.Places,
) -> None:
    assert decide(places, rules, ("git", "git_clone", {"url": url, "path": path}), gate) == expected


def test_a84_a_fetch_url_with_credentials_is_refused(places: acceptance.Places) -> None:
    call = ("fetch", "http_fetch", {"url": "https://user:pass@github.com/"})
    assert decide(places, web("github.com"), call, None) == ("deny", UNREPRESENTABLE)


@pytest.mark.parametrize(
    ("url", "verdict"),
    [("https://github.com/", "allow"), ("https://api.github.com/", "allow"), ("https://evil.com/", "deny")],
)
def test_a90_allowed_domains_before_a_deny(url: str, verdict: str, places: acceptance.Places) -> None:
    rules = [*web("*.github.com"), rule("no-web", "deny", roles=["fetch-url"])]
    assert decide(places, rules, ("fetch", "http_fetch", {"url": url}), None)[0] == verdict
