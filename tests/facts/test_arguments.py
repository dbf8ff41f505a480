"""Acceptance facts about arguments, protected paths and what cannot be judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.projects import acceptance
from support.projects.acceptance import READ, WRITE
from support.projects.policies import compiled, rule, tool, write_bundle

from ironcurtain import Policy
from ironcurtain.decision.canonical.patterns import canonical_member
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError, PatternError

PROTECTED, SANDBOX = "structural-protected-path", "structural-sandbox-allow"
INVALID, UNREPRESENTABLE = "structural-invalid-arguments", "structural-unrepresentable-argument"
ANY = [rule("any", "allow", server=["filesystem", "git", "fetch"])]


@pytest.fixture
def places(tmp_path: Path) -> acceptance.Places:
    return acceptance.Places.make(tmp_path)


def decide(
    places: acceptance.Places,
    call: tuple[str, str, Any],
    *,
    rules: list[dict[str, Any]] = ANY,
    servers: dict[str, Any] | None = None,
    protected: tuple[str, ...] = (),
    sandbox: str | None = "SB",
) -> Any:
    bundle = write_bundle(places.base / "state", acceptance.SERVERS | (servers or {}), places.fill_all(rules))
    options: dict[str, Any] = {
        "sandbox": places.fill(sandbox) if sandbox else None,
        "home": places.home,
        "protected": [places.fill(p).replace("~", str(places.home)) for p in protected],
    }
    with Policy.load(bundle, **options) as policy:
        return policy.decide(call[0], call[1], places.fill_all(call[2]))


def read(path: Any) -> tuple[str, str, Any]:
    return "filesystem", "read_file", {"path": path}


FACTS: list[tuple[str, tuple[str, str, Any], tuple[str, ...], tuple[str, str]]] = [
    ("A8", read("~/.ssh/id_rsa"), ("~",), ("deny", PROTECTED)),
    ("A9", read("T/user/secret2"), ("T/user/secret",), ("allow", "any")),
    ("A9-inside", read("T/user/secret2/x"), ("T/user/secret",), ("allow", "any")),
    ("A10", read("T/state/.env"), ("T/state/.env",), ("deny", PROTECTED)),
    ("A11", read("T/user/secret/deep/x"), ("T/user/secret",), ("deny", PROTECTED)),
    ("A12", read("T/user/other/../secret/file"), ("T/user/secret",), ("deny", PROTECTED)),
    ("A17", read("/etc/shadow"), ("/etc/shadow",), ("deny", PROTECTED)),
    ("A65-object", read({}), (), ("deny", UNREPRESENTABLE)),
    ("B2-protected", read([["/etc/passwd"]]), ("/etc",), ("deny", UNREPRESENTABLE)),
    ("B16-no-rules", ("git", "git_clone", {"url": "https://evil.com/x", "path": "~root/.ssh"}), (),
     ("deny", UNREPRESENTABLE)),
    ("B26", ("fetch", "http_fetch", {"url": "https://a.org/\u001b[2K\nyes"}), (), ("deny", UNREPRESENTABLE)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "protected", "expected"), [f[1:] for f in FACTS], ids=[f[0] for f in FACTS])
def test_fact(
    call: tuple[str, str, Any],
    protected: tuple[str, ...],
    expected: tuple[str, str],
    places: acceptance.Places,
) -> None:
    decision = decide(places, call, protected=protected)
    assert (decision.verdict, decision.rule) == expected, decision.reason


def test_a25_traversal_out_of_a_sandbox_chosen_at_start(places: acceptance.Places) -> None:
    decision = decide(places, read("../../etc/passwd"), rules=[])
    assert (decision.verdict, decision.rule) == ("deny", "default-deny")


VALUES = {
    "A108": (["example.com", "*.example.com"], ["", "a b", "https://example.com", "example.com/x", "*."]),
    "B24": ([], ["com", "*.com", "127.0.0.1"]),
}


@pytest.mark.parametrize("fact", VALUES)
def test_values_of_a_domain_list(fact: str) -> None:
    accepted, rejected = VALUES[fact]
    assert [canonical_member("domain", value, Registry()) for value in accepted] == accepted
    for value in rejected:
        with pytest.raises(PatternError):
            canonical_member("domain", value, Registry())


def test_a115_a116_a117_what_is_sent(places: acceptance.Places) -> None:
    servers = {"filesystem": [tool("read_multiple_files", paths=[READ], head=["none"], note=["none"])]}
    given = {"paths": ["src/a", "./a", "../a"], "head": 5, "note": {"deep": ["src/a", None]}}
    before = json.dumps(given)
    decision = decide(places, ("filesystem", "read_multiple_files", given), servers=servers)
    inside = str(places.sandbox)
    assert decision.arguments == given | {"paths": [f"{inside}/src/a", f"{inside}/a", f"{places.base}/a"]}
    assert [s.value for s in decision.subjects] == decision.arguments["paths"]
    assert json.dumps(given) == before


def test_a117_nothing_stays_nothing(places: acceptance.Places) -> None:
    decision = decide(places, ("filesystem", "list_allowed_directories", {}))
    assert (decision.arguments, decision.verdict) == ({}, "allow")


@pytest.mark.parametrize("schema", [True, False], ids=["by-schema", "by-role"])
def test_a122_the_wrong_type_is_named(schema: bool, places: acceptance.Places) -> None:
    one = tool("read_file", path=[READ])
    if schema:
        one["input_schema"] = {"type": "object", "properties": {"path": {"type": "string"}}}
    decision = decide(places, read({"path": "/etc/x"}), servers={"filesystem": [one]})
    assert (decision.verdict, decision.rule) == ("deny", INVALID if schema else UNREPRESENTABLE)
    assert "must be a string (got object)" in decision.reason


STATUS = {
    "tool": "git_status",
    "side_effects": True,
    "contained": True,
    "args": [{"name": "path", "roles": [READ], "repository": True}],
}


def with_default(*default: str) -> dict[str, Any]:
    path: dict[str, Any] = {"type": "string"} | ({"default": default[0]} if default else {})
    return {"git": [STATUS | {"input_schema": {"type": "object", "properties": {"path": path}}}]}


@pytest.mark.parametrize(("default", "sent"), [((".",), "SB"), (("sub",), "SB/sub"), ((), "SB")])
def test_a123_the_default_is_judged_and_sent(
    default: tuple[str, ...], sent: str, places: acceptance.Places
) -> None:
    decision = decide(places, ("git", "git_status", {}), servers=with_default(*default))
    assert (decision.verdict, decision.rule) == ("allow", SANDBOX)
    assert decision.arguments == {"path": places.fill(sent)}
    assert decision.subjects[0].value == places.fill(sent)


@pytest.mark.parametrize("default", [(), (".",)])
def test_a123_without_a_working_root_the_argument_is_asked_for(
    default: tuple[str, ...], places: acceptance.Places
) -> None:
    decision = decide(places, ("git", "git_status", {}), servers=with_default(*default), sandbox=None)
    assert decision.verdict == "deny"
    assert "path" in decision.reason


@pytest.mark.parametrize("then", ["alow", "Allow", "", None, True])
def test_b19_a_misspelt_verdict_never_loads(then: Any) -> None:
    with pytest.raises(IronCurtainError):
        compiled([rule("r", then, roles=[READ])])


def test_b26_a_reason_shows_no_control_characters(places: acceptance.Places) -> None:
    for name, value in (("path", "/a\u001b[2Kb\u202e"), ("x\n\u001b[1m", "y"), ("path", "file://\u200b")):
        reason = decide(places, ("filesystem", "read_file", {name: value})).reason
        assert reason.isprintable()


def test_b27_many_missing_components_below_a_link(places: acceptance.Places) -> None:
    (places.sandbox / "ln").symlink_to(places.base / "outside")
    decision = decide(places, read("SB/ln" + "/n" * 70), rules=[])
    assert (decision.verdict, decision.rule) == ("deny", "default-deny")
    assert decision.subjects[0].value == f"{places.base}/outside" + "/n" * 70


def test_a37_a38_roles_of_a_move_are_discharged_one_by_one(places: acceptance.Places) -> None:
    decision = decide(
        places, ("filesystem", "move_file", {"source": "SB/a", "destination": "/opt/x"}), rules=[]
    )
    assert [(s.role, s.discharged) for s in decision.subjects] == [
        (READ, True),
        ("delete-path", True),
        (WRITE, False),
    ]
