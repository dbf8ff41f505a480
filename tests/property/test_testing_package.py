"""The `testing` package builds, from canonical values, the very input that Python builds."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from support.documents import object_at
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import Url, parse_fetch_url, parse_remote_url
from ironcurtain.decision.policy_input import PolicyInput, policy_input
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

HOME = "/home/user"
ROLES = [
    {"name": "project", "description": "", "case": "fold", "separator": "/"},
    {"name": "channel", "description": "", "case": "exact"},
]
REGISTRY_ROLES = ("read-path", "delete-path", "fetch-url", "git-remote-url", "recipient", "repository")
ALL_ROLES = (*REGISTRY_ROLES, "remote-path", "project", "channel")
ARGUMENTS: dict[str, Any] = {f"a{n}": [role] for n, role in enumerate(ALL_ROLES)}
TOOLS = {"s": [tool("t", contained=False, **ARGUMENTS)]}
LISTS = {
    "hosts": {"type": "domain", "resolved": ["*.gitlab.com", "example.org"]},
    "people": {"type": "recipient", "resolved": ["bob@example.org", "*@example.com"]},
}
NAMED = [
    (
        "paths",
        "within",
        ["read-path", "delete-path"],
        ["~", "~/Documents", "~/Documents/a", "/srv", "/srv/data", "/"],
    ),
    (
        "domains",
        "allowed",
        ["fetch-url", "git-remote-url"],
        [
            "*",
            "github.com",
            "github.com/acme",
            "github.com/acme/app",
            "*.example.com",
            "example.org/x",
            "@hosts",
        ],
    ),
    ("lists", "allowed", ["recipient"], ["alice@example.com", "*@example.org", "@people"]),
    ("lists", "allowed", ["repository"], ["acme/app", "acme/*"]),
    ("lists", "allowed", ["remote-path"], ["docs/**", "docs/a.md"]),
    ("lists", "allowed", ["project"], ["security/**", "security/x"]),
    ("lists", "allowed", ["channel"], ["General"]),
]
VALUES = {
    "path": [
        *("/", "/home/user", "/home/user/Documents", "/home/user/Documents/a/b", "/home/user2/Documents"),
        *("/srv", "/srv/data/x", "/srvx", "/home/user/Documents/a.txt"),
    ],
    "url": [
        *("https://github.com/", "https://github.com/acme", "https://github.com/acme/app/x"),
        *("https://github.com/Acme/App", "https://github.com/acme/app.git", "https://a.b.example.com/x"),
        *("https://example.com", "https://example.org/x/y", "https://example.org/X/", "https://gitlab.com/a"),
        *("https://x.gitlab.com/a.git", "https://notgithub.com/acme", "ssh://github.com/acme/app"),
    ],
    "recipient": ["alice@example.com", "bob@example.org", "eve@evil.example", "x.alice@example.com"],
    "repository": ["acme/app", "acme/other", "acmex/app"],
    "remote-path": ["docs", "docs/a.md", "docs/b/c.md", "docsx/a"],
    "project": ["security", "security/x", "security/y/z", "other"],
    "channel": ["General", "general"],
}
MODULE = """package cases

import data.ironcurtain.testing

results[name] := testing.policy_input(case.call, case.resources) if some name, case in data.testing_cases
"""


def expected(resources: list[dict[str, Any]], content: PolicyContent) -> PolicyInput:
    registry = Registry(content.annotations.roles)
    index = PatternIndex(
        content.patterns,
        content.lists,
        registry=registry,
        home=HOME,
        resolve_directory=lambda path: path,
        case_insensitive_hosts=content.case_insensitive_hosts,
    )
    subjects = tuple(
        Resource(f"{n:04d}", registry[r["role"]], r["value"], f"/{n}", resource=resource(registry, **r))
        for n, r in enumerate(resources)
    )
    discharged = frozenset(s.id for s, r in zip(subjects, resources, strict=True) if r["discharged"])
    annotation = content.annotations.find("s", "t")
    assert annotation is not None
    return policy_input("s", annotation, {}, {}, subjects, discharged, index)


def resource(registry: Registry, role: str, value: str, discharged: bool) -> str | Url:  # noqa: ARG001
    if role == "fetch-url":
        return parse_fetch_url(value)
    if role == "git-remote-url":
        return parse_remote_url(value)
    return value if registry[role].category == "path" else canonical_identifier(registry[role], value)


def test_the_two_agree_on_canonical_values(tmp_path: Path) -> None:
    rules = [
        rule(f"r{n}", "allow", **{kind: {"roles": roles, key: patterns}})
        for n, (kind, key, roles, patterns) in enumerate(NAMED)
    ]
    bundle = write_bundle(tmp_path, TOOLS, rules, roles=ROLES, lists=LISTS)
    content = PolicyContent.of(Bundle.read(bundle))
    registry = Registry(content.annotations.roles)
    drawn = random.Random(7)
    cases = {}
    for number in range(400):
        roles = drawn.choices(ALL_ROLES, k=drawn.randint(1, 4))
        cases[str(number)] = [
            {"role": role, "value": drawn.choice(values(registry, role)), "discharged": drawn.random() < 0.3}
            for role in roles
        ]
    (tmp_path / "cases.rego").write_text(MODULE)
    called = {"server": "s", "tool": "t"}
    document = {
        "testing_cases": {name: {"call": called, "resources": found} for name, found in cases.items()}
    }
    (tmp_path / "cases.json").write_text(json.dumps(document))
    told = OpaCommand(find()).eval(
        "data.cases.results", bundles=[bundle], data=[tmp_path / "cases.rego", tmp_path / "cases.json"]
    )
    results = object_at(told)
    undefined = set(cases) - set(results)
    refused = {r["value"] for name in undefined for r in cases[name]}
    assert len(results) > 100, refused
    for name in results:
        assert results[name] == expected(cases[name], content), cases[name]


def values(registry: Registry, role: str) -> list[str]:
    found = VALUES[registry[role].pattern_kind]
    return [value for value in found if not (role == "fetch-url" and value.startswith("ssh"))]
