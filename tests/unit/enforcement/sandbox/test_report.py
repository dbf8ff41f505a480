"""What is offered where a sandbox refused something: one permission more, and never the whole home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironcurtain.enforcement.sandbox.report import offer_for
from ironcurtain.servers.fetched.tree import managed_directory

FILE, HOME = Path("/home/ada/.ironcurtain/clients/c d/mcp-servers.json"), "/home/ada"
ADD = "`ironcurtain servers add notes --servers '/home/ada/.ironcurtain/clients/c d/mcp-servers.json'"


def made(directory: str) -> str:
    return f"`mkdir -p {directory} && {ADD[1:]}"


BELOW = "shells and programs run what lies directly in the home: have it write in a directory below"


@pytest.mark.parametrize(
    ("violation", "offered"),
    [
        ("deny openat /home/ada/notes/n.db", f"{made('/home/ada/notes')} --allow-write /home/ada/notes`"),
        ("deny mkdir /srv/notes", f"{made('/srv/notes')} --allow-write /srv/notes`"),
        ("deny mkdir /usr", f"{ADD} --allow-write /usr`"),
        ("deny network-outbound example.com:443", f"{ADD} --allow-domain example.com`"),
        ("deny openat /home/ada/memory.jsonl", BELOW),
        ("deny mkdir /home/ada", BELOW),
        ("something else", ""),
    ],
)
def test_what_is_offered(violation: str, offered: str) -> None:
    assert offer_for("notes", violation, FILE, HOME) == offered


def test_nothing_is_offered_that_would_change_what_is_pinned() -> None:
    place = os.path.realpath(managed_directory())
    offered = offer_for("notes", f"deny openat {place}/notes-1-0123/node_modules/n/n.db", FILE, HOME)
    assert offered == "nothing opens its own program, which is pinned: tell it to keep its files elsewhere"
