"""Servers as people have them: with a directory in their command line, and files of their own in the home.

They are listed, wrapped and used without a word of their sandbox in the configuration, and where one cannot
run its sandbox is named, with what mends it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e.program import in_process
from fixtures import homely_server
from mcp import Client
from mcp_types import ElicitResult
from support.deployments.proxied import Place, text_of, until
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import rule, tool, write_bundle, write_servers

from ironcurtain.servers.tools import ToolListing, tool_digest

pytestmark = [NEEDS_SANDBOX, pytest.mark.timeout(900)]
SERVER = str(Path(homely_server.__file__))


def annotated() -> list[dict[str, Any]]:
    roles: Mapping[str, Any] = {"starts": {}, "read": {"path": ["read-path"]}}
    return [
        {
            **tool(each["name"], contained=False, side_effects=False, **roles[each["name"]]),
            "schema_digest": tool_digest(ToolListing(name=each["name"], input_schema=each["inputSchema"])),
            "input_schema": each["inputSchema"],
        }
        for each in homely_server.TOOLS
    ]


class Homely(Place):
    """A person's home with documents, and a server that is told of them; rules say what of them is open."""

    def __init__(self, root: Path, verdict: str | None, *options: str, **keys: Any) -> None:
        super().__init__(root)
        self.documents = self.home / "documents"
        self.documents.mkdir()
        (self.documents / "a").write_text("a document")
        command = [SERVER, *options, "~/documents"]
        self.servers = write_servers(root, {"homely": {"command": sys.executable, "args": command} | keys})
        self.open(verdict)

    def open(self, verdict: str | None) -> None:
        """Publish rules that permit reading the documents, have a person asked, or say nothing of them."""
        within = {"roles": ["read-path"], "within": ["~/documents"]}
        made = [rule("starts", "allow", tool=["starts"])]
        made += [rule("documents", verdict, paths=within)] if verdict else []
        self.bundle = write_bundle(self.root, {"homely": annotated()}, made)

    async def called(self, client: Client, name: str) -> Any:
        await until(lambda: self.is_up("homely"))
        arguments = {"path": str(self.documents / "a")} if name == "read" else {}
        return await client.call_tool(f"homely__{name}", arguments)

    def run(self, *words: str, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.delenv("IRONCURTAIN_PERMIT_SERVERS", raising=False)
        return in_process(*words, cwd=self.root)


async def _called(place: Homely, *names: str) -> list[str]:
    async with place.client() as client:
        return [text_of(await place.called(client, name)) for name in names]


def test_a_directory_of_the_command_line_is_seen_to_list_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Homely(tmp_path, None, "--whole")
    listed = place.run("tools", "homely", monkeypatch=monkeypatch)
    assert listed.code == 0, listed.err
    assert {each["name"] for each in json.loads(listed.out)["tools"]} == {"read", "starts"}
    assert f"note: server homely can read {place.documents} while its tools are listed" in listed.err
    assert not (place.home / ".homely").exists()
    assert not (place.home / ".ironcurtain" / "data").exists(), "what it keeps goes with the start"


@pytest.mark.parametrize("named", ["~", "~/.ssh", "~/.ironcurtain", ".."])
def test_neither_the_home_nor_keys_are_shown_because_an_entry_names_them(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Homely(tmp_path, None)
    for name in (".ssh", ".ironcurtain"):
        (place.home / name).mkdir()
        (place.home / name / "key").write_text("a key")
    looks = "import os, sys; p = sys.argv[1]; sys.exit(f'sees {os.listdir(p) if os.path.isdir(p) else None}')"
    path = str((place.home / named.removeprefix("~").removeprefix("/")).resolve())
    write_servers(tmp_path, {"homely": {"command": sys.executable, "args": ["-c", looks, path]}})
    listed = place.run("tools", "homely", monkeypatch=monkeypatch)
    assert listed.codes == ["IC3201"]
    assert "key" not in listed.err.partition("sees ")[2].partition("]")[0]
    assert "documents" not in listed.err.partition("sees ")[2].partition("]")[0]
    assert "can read" not in listed.err


def test_a_server_that_will_not_start_where_it_cannot_write_is_told_of_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It only asks whether it could write, so that nothing was refused to it."""
    place = Homely(tmp_path, None)
    asks = "import os, sys; p = sys.argv[1]; os.access(p, os.W_OK) or sys.exit(f'EROFS: read-only: {p}')"
    write_servers(
        tmp_path, {"homely": {"command": sys.executable, "args": ["-c", asks, str(place.documents)]}}
    )
    listed = place.run("tools", "homely", monkeypatch=monkeypatch)
    assert listed.codes == ["IC3201"]
    assert f"its sandbox lets it write nothing in {place.documents}" in listed.err
    assert f"--allow-write {place.documents}`" in listed.err


def test_a_server_that_finds_its_directory_empty_serves_what_a_person_approves(tmp_path: Path) -> None:
    """The running one sees nothing of it; that for the approved call sees what was approved."""
    place = Homely(tmp_path, "escalate")
    approved = 0

    async def person(*_: Any) -> Any:
        nonlocal approved
        approved += 1
        return ElicitResult(action="accept", content={"answer": "approved"})

    async def read() -> str:
        async with place.client("--trust-client", elicitation_callback=person) as client:
            return text_of(await place.called(client, "read"))

    assert anyio.run(read) == "a document"
    assert approved == 1


def test_what_a_server_keeps_in_its_home_stays_and_is_its_own(tmp_path: Path) -> None:
    place = Homely(tmp_path, "allow")
    others = place.home / ".ironcurtain" / "data" / "other-0123"
    others.mkdir(parents=True)
    home, starts, _ = json.loads(anyio.run(_called, place, "starts")[0])
    again, more, beside = json.loads(anyio.run(_called, place, "starts")[0])
    assert beside == [Path(home).name], "it sees no other server's"
    assert (starts, more, home) == ("x", "xx", again)
    assert Path(home).parent == place.home / ".ironcurtain" / "data"
    assert anyio.run(_called, place, "read") == ["a document"]
    assert not (place.home / ".homely").exists()


@pytest.mark.parametrize(
    "keys", [{"env": {"HOME": "HOME"}}, {"sandbox": {"filesystem": {"allowWrite": ["~/.homely"]}}}]
)
def test_a_home_that_the_entry_names_stays(keys: dict[str, Any], tmp_path: Path) -> None:
    keys = json.loads(json.dumps(keys).replace('"HOME"}', json.dumps(str(tmp_path / "home")) + "}"))
    keys["sandbox"] = {"filesystem": {"allowWrite": ["~/.homely"]}}
    place = Homely(tmp_path, "allow", args=[SERVER, str(tmp_path / "home" / "documents")], **keys)
    (place.home / ".homely").mkdir()
    assert json.loads(anyio.run(_called, place, "starts")[0])[:2] == [str(place.home), "x"]


def test_a_server_whose_sandbox_keeps_it_from_running_is_told_of_and_not_started_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Homely(tmp_path, None, "--whole")
    shows_nothing = f"its sandbox shows nothing of {place.documents}, which it names"
    mends = f'write "The agent may read files in {place.documents}."'
    place.bundle = write_bundle(
        tmp_path, {"homely": annotated()}, [rule("asked", "escalate", tool=["starts"])]
    )

    async def visit() -> None:
        async with place.client("--trust-client") as client:
            await until(lambda: "it is not started again before the policy opens" in place.said)
            refused = text_of(await client.call_tool("homely__starts", {}))
            assert "It does not run" in place.decisions[-1]["reason"]
            assert place.decisions[-1]["rule"] == "sandbox-out-of-reach"
            assert mends in refused or mends in place.decisions[-1]["reason"]
            # What `status` shows is written from time to time.
            await until(lambda: shows_nothing in place.run("status", monkeypatch=monkeypatch).out)
            status = place.run("status", monkeypatch=monkeypatch).out
            assert "homely: DOWN" in status
            assert mends in status
            place.open("allow")
            told = json.loads(place.run("status", "--format", "json", monkeypatch=monkeypatch).out)
            os.kill(told["proxies"][0]["pid"], signal.SIGHUP)
            await until(lambda: place.is_up("homely"))

    anyio.run(visit)
    assert place.said.count("is not a valid directory") == 2, place.said


def test_wrap_starts_each_server_and_changes_nothing_for_one_that_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Homely(tmp_path, None, "--whole")
    client, servers = tmp_path / "mcp.json", json.loads(place.servers.read_text())
    servers["mcpServers"]["other"] = {"command": sys.executable, "args": [SERVER, "/tmp"]}
    client.write_text(json.dumps(servers))
    before = client.read_bytes()
    words = ("wrap", "mcp.json", "--bundle", str(place.bundle), "--yes")
    refused = place.run(*words, monkeypatch=monkeypatch)
    assert (refused.code, refused.codes) == (2, ["IC1005"])
    assert f"its sandbox shows nothing of {place.documents}, which it names" in refused.err
    assert f'To mend it, write "The agent may read files in {place.documents}."' in refused.err
    assert f"Or wrap the others: `ironcurtain wrap {client} --only other …`." in refused.err
    assert client.read_bytes() == before
    kept = [path for path in (place.home / ".ironcurtain").rglob("*") if path.is_file()]
    assert [path.suffix for path in kept] == [".lock"]
    place.open("allow")
    wrapped = place.run(*words, monkeypatch=monkeypatch)
    assert wrapped.code == 0, wrapped.err
    assert "behind the proxy: homely, other" in wrapped.out


def test_a_unix_socket_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Homely(tmp_path, None, "--socket")
    listed = place.run("tools", "homely", monkeypatch=monkeypatch)
    assert listed.codes == ["IC3201"]
    assert "its sandbox refuses Unix sockets, also in its own TMPDIR" in listed.err
    assert '"sandbox": false' in listed.err
