"""Step 4: every leaf under every role, in a described world."""

from __future__ import annotations

from typing import Any

import pytest
from support.called import SANDBOX, one_tool, prepared, refused, subjects
from support.projects.policies import rule, tool

READ, WRITE, DELETE = "read-path", "write-path", "delete-path"
UNREPRESENTABLE = "structural-unrepresentable-argument"


def sent(policy: Any, arguments: Any) -> dict[str, Any]:
    return prepared(policy, "t", arguments).call.arguments


def test_several_roles_of_one_leaf_are_several_subjects() -> None:
    policy = one_tool(tool("t", path=[READ, WRITE], other=[READ]))
    assert subjects(policy, "t", {"other": "b", "path": "a"}) == [
        ("/other", READ, f"{SANDBOX}/b"),
        ("/path", READ, f"{SANDBOX}/a"),
        ("/path", WRITE, f"{SANDBOX}/a"),
    ]


def test_ids_follow_document_order_in_objects_and_arrays() -> None:
    one = tool("t") | {"args": [{"name": n, "roles": [READ]} for n in ("/o/a", "/o/b", "/f/*/p")]}
    arguments = {"f": [{"p": str(n)} for n in range(11)], "o": {"b": "B", "a": "A"}}
    names = [value.removeprefix(f"{SANDBOX}/") for _, _, value in subjects(one_tool(one), "t", arguments)]
    assert names == [*(str(n) for n in range(11)), "B", "A"]


@pytest.mark.parametrize(
    "value", [1, True, {"a": "b"}, {}, [["a"]], [1], [None], [True], [{"a": "b"}], [[]], ["a", None]]
)
def test_a_path_is_a_string_or_a_flat_array_of_strings(value: Any) -> None:
    decision = refused(one_tool(tool("t", path=[READ])), "t", {"path": value})
    assert decision.rule == UNREPRESENTABLE
    assert "must be a string (got " in decision.reason


@pytest.mark.parametrize("value", [None, []])
def test_nothing_is_no_subject(value: Any) -> None:
    assert subjects(one_tool(tool("t", path=[READ])), "t", {"path": value}) == [("", "none", "call")]


NESTED = tool("t") | {
    "args": [
        {"name": "/files/*/path", "roles": [READ]},
        {"name": "/files/*/note", "roles": ["none"]},
        {"name": "/deep/inside/path", "roles": [READ]},
    ]
}


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": [{"path": "a"}, {"path": "b", "other": "/etc/x"}]},
        {"files": ["/etc/x"]},
        {"files": "/etc/x"},
        {"files": {"path": "/etc/x"}},
        {"files": [{"path": "a", "/etc/x": {}}]},
        {"files": [{"path": {"path": "a"}}]},
        {"files": [[{"path": "a"}]]},
        {"files": [{"path": [["a"]]}]},
        {"deep": {"inside": {"path": "a", "x": []}}},
    ],
)
def test_what_no_pointer_matches_refuses_the_call(arguments: Any) -> None:
    assert refused(one_tool(NESTED), "t", arguments).rule == UNREPRESENTABLE


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"files": []}, 0),
        ({"files": [{}]}, 0),
        ({"files": [{"path": "a", "note": {"x": []}}]}, 1),
        ({"files": [{"path": None}]}, 0),
        ({"files": [{"path": ["a", "b"]}]}, 2),
        ({"deep": {"inside": {}}}, 0),
        ({"deep": {}}, 0),
    ],
)
def test_what_is_matched_or_empty_is_judged(arguments: Any, count: int) -> None:
    found = subjects(one_tool(NESTED), "t", arguments)
    assert len([role for _, role, _ in found if role == READ]) == count


def test_relative_to_another_argument() -> None:
    one = tool("t", directory=[READ], path={"roles": [READ], "relative_to": "directory"})
    policy = one_tool(one)
    assert sent(policy, {"path": "x/../y", "directory": "/srv/d"})["path"] == "/srv/d/y"
    assert sent(policy, {"path": "/abs", "directory": "/srv/d"})["path"] == "/abs"
    for arguments in ({"path": "x"}, {"path": "x", "directory": ["/srv/a", "/srv/b"]}):
        assert refused(policy, "t", arguments).rule == UNREPRESENTABLE


def test_relative_to_an_argument_that_is_no_path_in_this_call() -> None:
    narrowed = {"default": [READ], "when": [{"arg": "mode", "equals": "x", "roles": ["none"]}]}
    one = tool(
        "t",
        mode=["none"],
        directory={"conditional": narrowed},
        path={"roles": [READ], "relative_to": "directory"},
    )
    decision = refused(one_tool(one), "t", {"mode": "x", "directory": "/srv", "path": "y"})
    assert decision.rule == UNREPRESENTABLE


def test_relative_to_an_argument_that_names_several_paths() -> None:
    one = tool(
        "t",
        directory={"roles": [READ], "codec": "comma"},
        path={"roles": [READ], "relative_to": "directory"},
    )
    assert refused(one_tool(one), "t", {"directory": "/a,/b", "path": "y"}).rule == UNREPRESENTABLE
    assert sent(one_tool(one), {"directory": "/a", "path": "y"})["path"] == "/a/y"


def test_codecs_are_judged_value_by_value_and_sent_encoded() -> None:
    policy = one_tool(tool("t", paths={"roles": [READ], "codec": "json-or-comma"}))
    assert [v for *_, v in subjects(policy, "t", {"paths": "a, /etc/b"})] == [f"{SANDBOX}/a", "/etc/b"]
    assert sent(policy, {"paths": '["a"]'}) == {"paths": f'["{SANDBOX}/a"]'}
    assert sent(policy, {"paths": ["a,b", "c"]}) == {"paths": [f"{SANDBOX}/a,{SANDBOX}/b", f"{SANDBOX}/c"]}
    assert refused(policy, "t", {"paths": '["a", 1]'}).rule == UNREPRESENTABLE
    assert refused(policy, "t", {"paths": 5}).rule == UNREPRESENTABLE


PAIR = tool("t", owner=["none"], repo=["none"]) | {
    "composites": [{"role": "repository", "join": ["owner", "repo"], "with": "/"}]
}


def test_a_composite_is_one_subject_at_several_places() -> None:
    (found,) = prepared(one_tool(PAIR), "t", {"repo": "IronCurtain", "owner": "Provos"}).call.resources
    assert (found.value, found.at, found.also_at) == ("provos/ironcurtain", "/owner", ("/repo",))


@pytest.mark.parametrize(
    "arguments",
    [
        {"owner": "a"},
        {"repo": "a"},
        {"owner": "a", "repo": None},
        {"owner": "a", "repo": ""},
        {"owner": "a/b", "repo": "c"},
        {"owner": "..", "repo": "c"},
        {"owner": ["a"], "repo": "c"},
        {"owner": 1, "repo": "c"},
    ],
)
def test_a_composite_that_is_not_one_thing_is_refused(arguments: Any) -> None:
    assert refused(one_tool(PAIR), "t", arguments).rule == UNREPRESENTABLE


def test_a_composite_over_array_elements_never_judges_only_the_first() -> None:
    one = tool("t") | {
        "args": [{"name": f"/items/*/{n}", "roles": ["none"]} for n in ("owner", "repo")],
        "composites": [{"role": "repository", "join": ["/items/*/owner", "/items/*/repo"], "with": "/"}],
    }
    good, evil = {"owner": "a", "repo": "b"}, {"owner": "evil", "repo": "b"}
    assert subjects(one_tool(one), "t", {"items": [good]})[0][2] == "a/b"
    assert refused(one_tool(one), "t", {"items": [good, evil]}).rule == UNREPRESENTABLE


CHANNEL = {"name": "channel", "description": "", "case": "fold", "numbers": True}
KEY = {"name": "key", "description": "", "case": "exact", "separator": "/", "decode": "percent"}


@pytest.mark.parametrize(
    ("role", "value", "judged", "given"),
    [
        ("channel", "General", "general", "general"),
        ("channel", 42, "42", 42),
        ("key", "a/%41", "a/A", "a/A"),
        ("key", "a/A", "a/A", "a/A"),
    ],
)
def test_identifiers_of_a_project(role: str, value: Any, judged: str, given: Any) -> None:
    policy = one_tool(tool("t", x=[role]), roles=[CHANNEL, KEY])
    assert subjects(policy, "t", {"x": value}) == [("/x", role, judged)]
    assert sent(policy, {"x": value}) == {"x": given}


@pytest.mark.parametrize(
    ("role", "value"),
    [("channel", 1.0), ("channel", True), ("key", 1), ("key", "a/%2e%2e"), ("key", "%2541"), ("key", "%zz")],
)
def test_identifiers_that_are_none(role: str, value: Any) -> None:
    policy = one_tool(tool("t", x=[role]), roles=[CHANNEL, KEY])
    assert refused(policy, "t", {"x": value}).rule == UNREPRESENTABLE


def test_two_identifier_roles_share_the_one_spelling_that_is_sent() -> None:
    policy = one_tool(tool("t", x=["repository", "remote-path"]))
    assert subjects(policy, "t", {"x": "A/b"}) == [("/x", "repository", "a/b"), ("/x", "remote-path", "a/b")]
    assert sent(policy, {"x": "A/b"}) == {"x": "a/b"}


def test_an_address_that_is_fetched_and_cloned_is_judged_as_both() -> None:
    policy = one_tool(tool("t", url=["fetch-url", "git-remote-url"]))
    url = "https://example.com/a"
    found = subjects(policy, "t", {"url": "HTTPS://example.com:443/a"})
    assert found == [("/url", "fetch-url", url), ("/url", "git-remote-url", url)]
    assert refused(policy, "t", {"url": "git@example.com:a"}).rule == UNREPRESENTABLE


def test_a_recursive_path_names_the_policys_directories_inside_it() -> None:
    rules = [rule("r", "allow", paths={"roles": [READ], "within": ["/srv/a", "/srv/a/b", "/other"]})]
    policy = one_tool(
        tool("t", path={"roles": [READ], "recursive": True}, plain=[READ], gone=[DELETE]), rules
    )
    assert subjects(policy, "t", {"path": "/srv"}) == [
        ("/path", READ, "/srv"),
        ("/path", READ, "/srv/a"),
        ("/path", READ, "/srv/a/b"),
    ]
    assert len(subjects(policy, "t", {"plain": "/srv"})) == 1
    assert len(subjects(policy, "t", {"gone": "/srv"})) == 3


def test_the_arguments_given_are_not_changed() -> None:
    arguments = {"files": [{"path": "a", "note": {"k": ["/x"]}}]}
    prepared(one_tool(NESTED), "t", arguments)
    assert arguments == {"files": [{"path": "a", "note": {"k": ["/x"]}}]}
