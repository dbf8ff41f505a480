"""Identifiers: canonical forms and what is none."""

from __future__ import annotations

import subprocess

import pytest

from ironcurtain.decision.canonical.identifiers import canonical_identifier, check_branch_name
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import IdentifierRole

REGISTRY = Registry(
    [
        IdentifierRole(name="channel", description="A chat channel.", case="exact", separator="/"),
        IdentifierRole(name="project", description="A project.", case="fold", separator="-", numbers=True),
        IdentifierRole(name="key", description="An object key.", case="exact", decode="percent"),
    ]
)


@pytest.mark.parametrize(
    ("role", "value", "canonical"),
    [
        ("recipient", "alice@example.com", "alice@example.com"),
        ("recipient", "ALICE@EXAMPLE.COM", "alice@example.com"),
        ("recipient", "Alice Liddell <Alice@Example.com>", "alice@example.com"),
        ("recipient", '"Alice Liddell" <alice@example.com>', "alice@example.com"),
        ("recipient", "<alice@example.com>", "alice@example.com"),
        ("recipient", " alice+x@example.com. ", "alice+x@example.com"),
        ("recipient", "a@例え.jp", "a@xn--r8jz45g.jp"),
        ("recipient", "root@localhost", "root@localhost"),
        ("repository", "Provos/IronCurtain", "provos/ironcurtain"),
        ("repository", "o/.github", "o/.github"),
        ("remote-path", "docs/A b.md", "docs/A b.md"),
        ("channel", "Security/Alerts", "Security/Alerts"),
        ("project", "PROJ-7", "proj-7"),
        ("project", 7, "7"),
        ("project", "Straße", "strasse"),
        ("key", "a%2Fb", "a/b"),
        ("key", "a+b", "a+b"),
    ],
)
def test_canonical_forms(role: str, value: str | int, canonical: str) -> None:
    assert canonical_identifier(REGISTRY[role], value) == canonical
    assert canonical_identifier(REGISTRY[role], canonical) == canonical


@pytest.mark.parametrize(
    ("role", "value"),
    [
        ("recipient", ""),
        ("recipient", "alice"),
        ("recipient", 7),
        ("repository", "owner"),
        ("repository", "a/b/c"),
        ("repository", "../b"),
        ("repository", "a/.."),
        ("repository", "a/b c"),
        ("repository", "\uff41/b"),
        ("repository", "a%2fb/c"),
        ("remote-path", "/etc"),
        ("remote-path", "a//b"),
        ("remote-path", "a/"),
        ("remote-path", "a/../b"),
        ("remote-path", "a/%2e%2e/b"),
        ("remote-path", "a\\b"),
        ("channel", 7),
        ("channel", "a/../b"),
        ("channel", "a//b"),
        ("channel", "a\x07"),
        ("channel", " a"),
        ("channel", "a\u3000"),
        ("channel", "a/ b"),
        ("channel", "a\u200bb"),
        ("channel", "\ufb01"),
        ("channel", "e\u0301"),
        ("key", "a%20"),
        ("key", "%C2%ADa"),
        ("remote-path", "a/b%20"),
        ("remote-path", "a%2520/b"),
        ("channel", "\ud800"),
        ("project", True),
        ("key", "a%2"),
        ("key", "%ff"),
        ("key", "%2541"),
        ("key", "%0a"),
        ("key", "%ED%A0%80"),
        ("channel", "é" * 513),
    ],
)
def test_what_is_no_identifier(role: str, value: str | int) -> None:
    with pytest.raises(UnrepresentableError):
        canonical_identifier(REGISTRY[role], value)


def test_an_identifier_may_have_1024_bytes() -> None:
    assert canonical_identifier(REGISTRY["channel"], "é" * 512) == "é" * 512


BRANCHES = [
    "main", "feature/x", "v1.0", "a@b", "myrefs/x", "ü", "a-b+c", "x{y}", "@x", "-", "a,b",
    "", "@", "HEAD", ".a", "a/.b", "a..b", "a.lock", "a.lock/b", "a/", "/a", "a//b", "a.", "a b", "a~1", "a^",
    "a:b", "a?", "a*", "a[", "a\\b", "a@{1}", "@{-1}", "-d", "a\x7f", "a\x01",
]  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_branch_names_agree_with_git(name: str) -> None:
    git = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    try:
        check_branch_name(name)
        accepted = True
    except UnrepresentableError:
        accepted = False
    # `@{-1}` names another branch; git expands it, and a plain `@` is HEAD.
    assert accepted == (git.returncode == 0 and not name.startswith("@{") and name not in {"@", "HEAD"})


@pytest.mark.parametrize("name", ["+main", "-f", "main:other", ":main", "a\nb", "refs/heads/x", "heads/x"])
def test_refspecs_references_and_options_are_no_branch_names(name: str) -> None:
    with pytest.raises(UnrepresentableError):
        check_branch_name(name)
