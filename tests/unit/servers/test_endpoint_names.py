"""What clients call tools and prompts, and which server is meant."""

from __future__ import annotations

import pytest

from ironcurtain.servers.endpoint_names import endpoint_name, split_endpoint_name

SERVERS = ("git", "git_", "a-b")


@pytest.mark.parametrize("tool", ["status", "status_", "a__b"])
@pytest.mark.parametrize("server", SERVERS)
def test_a_name_is_taken_apart_as_it_was_made(server: str, tool: str) -> None:
    assert split_endpoint_name(endpoint_name(server, tool), SERVERS) == (server, tool)


@pytest.mark.parametrize("name", ["", "status", "git", "git_status", "other__status"])
def test_a_name_of_no_server_stays_whole(name: str) -> None:
    assert split_endpoint_name(name, SERVERS) == ("", name)
