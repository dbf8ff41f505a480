"""The names under which clients see tools and prompts, and which server is meant."""

from __future__ import annotations

import pytest

from ironcurtain.servers.endpoint_names import (
    endpoint_name,
    full_name,
    renamed_tools,
    split_endpoint_name,
    split_full_name,
)

SERVERS = ("git", "git_", "a-b")


@pytest.mark.parametrize("tool", ["status", "status_", "a__b"])
@pytest.mark.parametrize("server", SERVERS)
def test_a_name_is_taken_apart_as_it_was_made(server: str, tool: str) -> None:
    assert split_full_name(full_name(server, tool), SERVERS) == (server, tool)
    assert split_endpoint_name(endpoint_name(server, tool), SERVERS, []) == (server, tool)


@pytest.mark.parametrize("name", ["", "status", "git", "git_status", "other__status", "git_0123456789"])
def test_a_name_of_no_server_stays_whole(name: str) -> None:
    assert split_full_name(name, SERVERS) == ("", name)
    assert split_endpoint_name(name, SERVERS, [("git", "commit")]) == ("", name)


def test_a_tools_own_name_counts_where_one_server_alone_has_it() -> None:
    tools = [("git", "status"), ("git", "status"), ("git", "log"), ("files", "log"), ("files", "git__log")]
    assert split_endpoint_name("status", SERVERS, tools) == ("git", "status")
    assert split_endpoint_name("log", SERVERS, tools) == ("", "log")
    assert split_endpoint_name("git__log", SERVERS, tools) == ("git", "log")


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("git", "x" * 41, f"git__{'x' * 41}"),
        ("git", "x" * 42, f"git__{'x' * 29}__b1e7f45e47"),
        ("git", "files.read", "git__files_read__5db34f88c8"),
        ("git", "x__0123456789", "git__x__0123456789__abebc702ac"),
        ("s" * 63, "t", f"{'s' * 34}__96c542838a"),
    ],
)
def test_a_name_stays_the_same_in_each_release(server: str, tool: str, name: str) -> None:
    """Clients keep permissions by these names."""
    assert endpoint_name(server, tool) == name


def test_tools_with_another_name_are_told() -> None:
    (told,) = renamed_tools([("git", "status"), ("git", "read\u202efile")])
    name = endpoint_name("git", "read\u202efile")
    assert told.startswith(f"git/read\\u202efile is called {name}: with mcp__ironcurtain__ before it")
