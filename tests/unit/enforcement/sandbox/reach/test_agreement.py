"""What the rules permit and a sandbox does not is told, with what mends it, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.sandbox.reach.agreement import disagreements
from ironcurtain.integrations.doctor.servers import reach
from ironcurtain.servers.config import ServerConfig, load_servers

SERVERS = {
    "fetch": [tool("fetch", contained=False, side_effects=False, url=["fetch-url"])],
    "memory": [tool("remember", contained=False, what=["none"])],
    "files": [tool("read", path=["read-path"]), tool("write", path=["write-path"])],
}


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root

    def config(self, **sandboxes: Any) -> ServerConfig:
        servers = {name: {"command": "node"} for name in SERVERS}
        for name, sandbox in sandboxes.items():
            servers[name]["sandbox"] = sandbox
        path = self.root / "mcp-servers.json"
        path.write_text(json.dumps({"mcpServers": servers}))
        return load_servers(path)

    def content(self, *rules: dict[str, Any]) -> PolicyContent:
        return PolicyContent.of(Bundle.read(write_bundle(self.root, SERVERS, list(rules))))

    def told(self, *rules: dict[str, Any], **sandboxes: Any) -> list[str]:
        return [each.line for each in disagreements(self.content(*rules), self.config(**sandboxes))]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def hosts(*names: str) -> dict[str, Any]:
    return rule("hosts", "allow", domains={"roles": ["fetch-url"], "allowed": list(names)})


def test_any_host_is_none_to_a_sandbox(project: Project) -> None:
    free = rule("fetch", "allow", tool=["fetch"])
    (line,) = project.told(free)
    assert line == (
        "server fetch: rules permit it to contact any host, and its sandbox does not: it needs names. "
        f"Run `ironcurtain servers add fetch --servers {project.root / 'mcp-servers.json'} "
        "--allow-domain NAME` for those that it should."
    )
    assert project.told(free, fetch={"network": {"allowedDomains": ["example.com"]}}) == []
    assert project.told(free, fetch=False) == []


def test_hosts_that_rules_name_are_let_through_unless_a_list_lacks_them(project: Project) -> None:
    named = hosts("example.com", "*.example.net")
    assert project.told(named) == []
    listed = {"network": {"allowedDomains": ["*.example.net"]}}
    (line,) = project.told(named, fetch=listed)
    assert "contact example.com, and" in line


def test_a_directory_that_an_entry_names_and_no_rule_opens(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes").mkdir()
    content = project.content(rule("memory", "allow", tool=["remember"]))
    server: dict[str, Any] = {"command": "node", "args": ["--notes=~/notes", "~", "~/.ssh", "~/nowhere"]}

    def told() -> list[str]:
        path = tmp_path / "mcp-servers.json"
        path.write_text(json.dumps({"mcpServers": {"memory": server}}))
        return [each.what for each in disagreements(content, load_servers(path))]

    empty = "which no rule lets it read: it finds an empty directory there"
    assert told() == [f"server memory: its entry names {tmp_path / 'notes'}, {empty}"]
    server["sandbox"] = {"filesystem": {"allowRead": ["~/notes"]}}
    assert told() == []


def test_places_of_keys(project: Project) -> None:
    keys = rule("keys", "allow", paths={"roles": ["read-path"], "within": ["~/.config"]})
    (line,) = project.told(keys)
    assert "rules speak of ~/.config, where keys and sign-ins lie" in line


def test_doctor_tells_of_places_that_are_not_there(project: Project) -> None:
    later = rule("later", "allow", paths={"roles": ["read-path"], "within": ["~/later"]})
    found = list(reach(project.content(later), project.config(), project.root))
    assert [each.what for each in found if each.status == "warn"] == [
        "server files: rules speak of ~/later, which is not there"
    ]
    words = {each.what for each in found if each.status == "ok"}
    assert (
        "server files: rules let it read ~/later, write nothing of the home, contact no host, "
        "and the session's sandbox"
    ) in words
    asked = rule("asked", "escalate", paths={"roles": ["write-path"], "within": ["~/later"]})
    words = {each.what for each in reach(project.content(later, asked), project.config(), project.root)}
    assert (
        "server files: rules let it read ~/later, write nothing of the home, contact no host, and the "
        "session's sandbox; a call that a person approves may read ~/later, write ~/later, contact no host, "
        "and the session's sandbox"
    ) in words
    (project.root / "later").mkdir()
    found = list(reach(project.content(later), project.config(), project.root))
    assert all(each.status == "ok" for each in found)
