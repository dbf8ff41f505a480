"""Each row of the shipped matrix once, through the proxy with real contained servers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from support.deployments.proxied import Place as FixturePlace
from support.deployments.proxied import text_of, visit_all
from support.machines.contained import NEEDS_SANDBOX
from support.projects.shipped_rows import ROWS, Row

ROOT = Path(__file__).parents[3]
PNG = bytes.fromhex("89504e470d0a1a0a")

pytestmark = [
    NEEDS_SANDBOX,
    pytest.mark.skipif(
        not (ROOT / "node_modules").is_dir(), reason="the servers are not installed (make demo)"
    ),
    pytest.mark.timeout(1800),
]


class Place(FixturePlace):
    """The shipped bundle and servers, files in each place of a home, and repositories in two of them."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.work = root, root / "home", root / "home" / "work"
        self.asked = 0
        for name in ("Downloads", "Documents", "notes", "work"):
            place = self.home / name
            place.mkdir(parents=True)
            for file in ("file", "edited", "from"):
                (place / file).write_text("text\n")
            (place / "picture.png").write_bytes(PNG)
        self.remote = self.work / "repo.git"
        for repository in (self.work / "repo", self.home / "projects" / "other"):
            self._repository(repository)
        git(self.home, "init", "-q", str(self.home / "Documents" / "kept"))
        configured = json.loads((ROOT / "mcp-servers.json").read_text())
        for server in configured["mcpServers"].values():
            server["args"] = [str(ROOT / argument) for argument in server["args"]]
        configured["mcpServers"]["git"]["env"] |= WHO
        self.servers = root / "mcp-servers.json"
        self.servers.write_text(json.dumps(configured))
        self.bundle = ROOT / "generated" / "bundle"

    def _repository(self, place: Path) -> None:
        git(self.work, "init", "-q", "-b", "main", str(place))
        (place / "file").write_text("text\n")
        (place / ".gitignore").write_text("ignored\n")
        git(place, "add", ".")
        git(place, "commit", "-q", "-m", "first")
        for branch in ("side", "gone"):
            git(place, "branch", branch)
        git(place, "checkout", "-q", "-b", "picked")
        git(place, "commit", "-q", "--allow-empty", "-m", "picked")
        (place / "picked").write_text("picked\n")
        git(place, "add", "picked")
        git(place, "commit", "-q", "-m", "picked")
        git(place, "checkout", "-q", "main")
        git(place, "tag", "old")
        remote = str(self.work / f"{place.name}.git")
        git(self.work, "init", "-q", "--bare", "-b", "main", remote)
        git(Path(remote), "config", "--unset", "core.bare")  # with it, no server may write there
        git(place, "remote", "add", "origin", remote)
        (place / "new").write_text("new\n")

    def command(self, *options: str) -> list[str]:
        return super().command("--sandbox", str(self.work), *options)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "GIT_CONFIG_GLOBAL": os.devnull}

    def put(self, value: Any) -> Any:
        """Return arguments with the places of this home."""
        if isinstance(value, dict):
            return {key: self.put(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.put(each) for each in value]
        if not isinstance(value, str):
            return value
        for name, place in (
            ("work", self.work),
            ("home", self.home),
            ("repo", self.work / "repo"),
            ("other", self.home / "projects" / "other"),
            ("remote", self.remote),
        ):
            value = value.replace(f"{{{name}}}", str(place))
        return value


WHO = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "t"), ("EMAIL", "t@example.com"))
}


def git(place: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "GIT_CONFIG_GLOBAL": os.devnull, **WHO}
    subprocess.run(["git", *arguments], cwd=place, env=environment, check=True, capture_output=True)


class Person:
    """Whoever sits at the client, and approves what is asked."""

    asked = 0

    async def answer(self, *_: Any) -> types.ElicitResult:
        self.asked += 1
        return types.ElicitResult(action="accept", content={"answer": "approved"})


PERSON = Person()


def visit_of(row: Row) -> Any:
    async def visit(client: Client, place: Place) -> None:
        before = PERSON.asked
        result = await client.call_tool(row.tool, place.put(row.arguments))
        text = text_of(result)
        assert (PERSON.asked > before) == (row.verdict == "ask"), text
        assert result.is_error == (row.verdict == "deny" or bool(row.held)), text
        assert row.reached in text
        assert row.held in text

    return visit


VISITS = {row.name: visit_of(row) for row in ROWS}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("proxy").resolve())
    options = ("--trust-client", "--patience", "3000")
    return visit_all(place, VISITS, *options, up=("filesystem", "git"), elicitation_callback=PERSON.answer)


@pytest.mark.parametrize("row", VISITS)
def test_row(outcomes: dict[str, Exception], row: str) -> None:
    if row in outcomes:
        raise outcomes[row]
