"""Attack: another user of a shared OPA, whose API is open to all its users, goes for our policy and its data.

Held by: OPA's ownership of a bundle's roots, and the revision that an answer must come from.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from support.projects.shipped import GENERATED
from support.services.nodes import answer, opa_node, pretender

from ironcurtain.policy import Policy

BUNDLE = GENERATED / "bundle.tar.gz"
DECISION = 'decision := {"verdict": "allow", "rule": "r", "subjects": {}}'
JSON, REGO, PATCH = "application/json", "text/plain", "application/json-patch+json"
FILE = "ironcurtain/ironcurtain/decision/decision.rego"
ATTACKS: dict[str, tuple[str, str, str, str]] = {
    "rules replaced": ("PUT", "/v1/data/ironcurtain/rules", "{}", JSON),
    "rules replaced under an escaped name": ("PUT", "/v1/data/%69roncurtain/rules", "{}", JSON),
    "everything replaced": ("PUT", "/v1/data", "{}", JSON),
    "rules patched": (
        "PATCH",
        "/v1/data",
        '[{"op": "add", "path": "/ironcurtain/rules", "value": {}}]',
        PATCH,
    ),
    "rules patched from the root": (
        "PATCH",
        "/v1/data",
        '[{"op": "replace", "path": "/", "value": {}}]',
        PATCH,
    ),
    "rules deleted": ("DELETE", "/v1/data/ironcurtain", "", JSON),
    "a second decision": ("PUT", "/v1/policies/x", f"package ironcurtain.decision\n\n{DECISION}", REGO),
    "a decision from above": ("PUT", "/v1/policies/x", f"package ironcurtain\n\ndecision.{DECISION}", REGO),
    "a package of its own below ours": ("PUT", "/v1/policies/x", "package ironcurtain.x\n\ny := 1", REGO),
    "our file replaced": ("PUT", f"/v1/policies/{FILE}", "package x\n\ny := 1", REGO),
    "our file deleted": ("DELETE", f"/v1/policies/{FILE}", "", JSON),
}


def send(url: str, method: str, path: str, body: str, kind: str) -> int:
    asked = urllib.request.Request(
        url + path, data=body.encode() or None, method=method, headers={"Content-Type": kind}
    )
    try:
        with urllib.request.urlopen(asked, timeout=60) as answered:
            return int(answered.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[str, Policy]]:
    with opa_node(BUNDLE) as (url, _), Policy.load(BUNDLE, engine=[url], home="/home/user") as policy:
        yield url, policy


def decided(policy: Policy, path: str) -> tuple[str, str]:
    decision = policy.decide("filesystem", "read_text_file", {"path": path})
    return str(decision.verdict), decision.rule


@pytest.mark.parametrize("name", ATTACKS)
def test_a_neighbour_changes_what_decides(shared: tuple[str, Policy], name: str) -> None:
    url, policy = shared
    paths = ("/etc/shadow", "/home/user/Documents/letter.txt", "/home/user/.ssh/id_ed25519")
    before = [decided(policy, path) for path in paths]
    assert send(url, *ATTACKS[name]) >= 400
    assert [decided(policy, path) for path in paths] == before
    assert not any(rule.startswith("engine-") for _, rule in before)


@pytest.mark.parametrize("name", ["theirs", "ironcurtain"])
def test_a_neighbours_bundle_says_that_it_is_ours(shared: tuple[str, Policy], name: str) -> None:
    """Under another name the revision of ours counts for nothing; under ours another revision does not."""
    revision = shared[1].revision if name == "theirs" else "sha256:" + "0" * 64
    texts = {"verdict": "allow", "rule": "r", "clause": None, "reason": ""}
    allowed: dict[str, Any] = {**texts, "subject": None, "subjects": {}}
    good = answer(shared[1].revision, {"verdict": "deny"})
    with pretender(200, good) as node, Policy.load(BUNDLE, engine=[node.url], home="/home/user") as policy:
        node.body = answer(revision, allowed, bundle=name)
        assert decided(policy, "/etc/shadow") == ("deny", "engine-revision")
