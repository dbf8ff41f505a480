"""The shipped policy in front of the two shipped servers: a day's work of an agent."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from support.deployments.proxied import Place as FixturePlace
from support.deployments.proxied import text_of, visit_all

ROOT = Path(__file__).parents[3]
SERVERS = ROOT / "node_modules"

pytestmark = [
    pytest.mark.skipif(not SERVERS.is_dir(), reason="the servers are not installed (make demo)"),
    pytest.mark.timeout(900),
]


class Place(FixturePlace):
    """The shipped bundle, with the shipped servers by their absolute paths."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.work = root / "home", root / "work"
        for directory in (self.home / "Documents", self.work):
            directory.mkdir(parents=True)
        configured = json.loads((ROOT / "mcp-servers.json").read_text())
        for server in configured["mcpServers"].values():
            server["args"] = [str(ROOT / argument) for argument in server["args"]]
        configured["sandbox"] = {"policy": "skip"}  # contained wherever that is possible
        self.servers = root / "mcp-servers.json"
        self.servers.write_text(json.dumps(configured))
        self.bundle = ROOT / "generated" / "bundle"

    def command(self, *options: str) -> list[str]:
        return super().command("--sandbox", str(self.work), *options)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "GIT_CONFIG_GLOBAL": os.devnull}


def git(place: Place, *arguments: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(command, cwd=place.work, env=environment, check=True, capture_output=True)


async def both_servers_work_in_the_sandbox(client: Client, place: Place) -> None:
    note = place.work / "note.txt"
    written = await client.call_tool("filesystem__write_file", {"path": "note.txt", "content": "a"})
    assert not written.is_error, text_of(written)
    read = await client.call_tool("filesystem__read_text_file", {"path": str(note)})
    assert text_of(read).strip() == "a"
    git(place, "init", "-q", ".")
    status = await client.call_tool("git__git_status", {"path": str(place.work)})
    assert not status.is_error, text_of(status)
    assert "note.txt" in text_of(status)


async def what_lies_elsewhere_stays_as_it_is(client: Client, place: Place) -> None:
    kept = place.home / "Documents" / "kept.txt"
    kept.write_text("kept")
    moved = {"source": str(kept), "destination": str(place.work / "moved.txt")}
    assert (await client.call_tool("filesystem__move_file", moved)).is_error
    assert kept.read_text() == "kept"
    own = {"path": str(place.home / ".ironcurtain" / "audit.key")}
    assert (await client.call_tool("filesystem__read_text_file", own)).is_error
    hook = {"path": str(place.work / ".git" / "hooks" / "pre-commit"), "content": "#!/bin/sh\n"}
    assert (await client.call_tool("filesystem__write_file", hook)).is_error
    assert not (place.work / ".git" / "hooks" / "pre-commit").exists()


async def filesystem_serves_what_the_policy_speaks_of(client: Client, place: Place) -> None:
    assert str(place.work) in text_of(await client.call_tool("filesystem__list_allowed_directories", {}))


VISITS: dict[str, Any] = {
    visit.__name__: visit
    for visit in (
        filesystem_serves_what_the_policy_speaks_of,
        both_servers_work_in_the_sandbox,
        what_lies_elsewhere_stays_as_it_is,
    )
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("proxy").resolve())
    return visit_all(place, VISITS, "--no-approver", mode="auto", up=("filesystem", "git"))


@pytest.mark.parametrize("visit", VISITS)
def test_shipped(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]
