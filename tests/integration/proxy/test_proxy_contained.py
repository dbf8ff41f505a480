"""Servers behind a running proxy are contained, and its audit log says what was observed of that."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e.program import in_process
from fixtures.tiny_project import write_project
from mcp.shared.exceptions import MCPError
from support.deployments.proxied import LEGACY, Place, text_of, wait_for
from support.documentation.client_story import NODE
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import write_servers

from ironcurtain.bundle.origin import origin
from ironcurtain.enforcement.sandbox.contained_process import private_workspace


class ContainedPlace(Place):
    """A place whose server is started as it is by default, with a journal that it may not write."""

    def __init__(self, root: Path, defaults: dict[str, Any] | None = None) -> None:
        super().__init__(root)
        self.inside = root / "work"
        self.inside.mkdir()
        environment = {"FIXTURE_JOURNAL": str(self.journal), "PYTHONPATH": ""}
        server = {"command": sys.executable, "args": LEGACY, "env": environment}
        self.servers = write_servers(root, {"fix": server})
        if defaults is not None:
            text = json.dumps({"mcpServers": {"fix": server}, "sandbox": defaults})
            self.servers.write_text(text, encoding="utf-8")

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return what the audit log has of an event."""
        return [record["detail"] for record in self.records() if record.get("event") == name]


async def _call(place: ContainedPlace) -> str:
    async with place.client("--sandbox", str(place.inside)) as client:
        with anyio.fail_after(60):
            try:
                return text_of(await client.call_tool("fix__environment", {}))
            except MCPError as error:
                return str(error)


@NEEDS_SANDBOX
def test_a_server_is_contained_by_default_and_the_log_says_what_was_seen(tmp_path: Path) -> None:
    place = ContainedPlace(tmp_path)
    assert "Read-only file system" in anyio.run(_call, place)
    (decision,) = place.decisions
    assert decision["sandbox"]["isolation"] == "bubblewrap"
    assert "could not write a file outside" in decision["sandbox"]["observed"]
    assert not place.journal.exists(), "it lies outside"
    seen = {event["seen"] for event in place.events("sandbox")}
    assert {"observed", "violation"} <= seen
    (violation,) = [event["what"] for event in place.events("sandbox") if event["seen"] == "violation"]
    assert violation.endswith(str(place.journal))
    assert "NOT CONTAINED" not in place.said
    assert f"sandbox: violation: {violation}" in place.said


@NEEDS_SANDBOX
def test_a_repository_that_a_server_makes_is_told_and_recorded(tmp_path: Path) -> None:
    place = ContainedPlace(tmp_path)
    document = json.loads(place.servers.read_text())
    server = document["mcpServers"]["fix"]
    new = place.inside / "new"
    words = ["-c", f'git init -q {new}; exec "$0" "$@"', server["command"], *server["args"]]
    document["mcpServers"]["fix"] = {**server, "command": "/bin/sh", "args": words}
    place.servers.write_text(json.dumps(document))
    anyio.run(_call, place)
    told = [event for event in place.events("sandbox") if event["what"].startswith("new repository")]
    assert [event["seen"] for event in told] == ["violation"]
    assert f'"{new}/.git"' in told[0]["what"]
    assert f"sandbox: violation: {told[0]['what']}" in place.said


def test_authoring_works_beside_a_server_that_must_not_make_the_projects_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not there has a stand-in meanwhile: that is not taken for a file that says nothing."""
    home, project = tmp_path / "home", tmp_path / "project"
    for place in (home, project):
        place.mkdir()
    monkeypatch.setenv("HOME", str(home))
    write_project(project)
    written = {path.name for path in project.iterdir()}
    with private_workspace(origin(project / "generated" / "bundle", ())):
        stand_ins = {path.name for path in project.iterdir()} - written
        assert {"guarantees.yaml", "confirmations.yaml", "dynamic-lists.json", "questions"} <= stand_ins
        compiled = in_process("compile", cwd=project)
        assert (compiled.code, compiled.codes) == (4, ["IC4001"]), compiled.err
        customized = in_process("customize", "--dry-run", "I may read my notes.", cwd=project)
        assert (customized.code, customized.codes) == (4, ["IC4001"]), customized.err
    left = {path.name for path in project.iterdir()} - written
    assert left == {"questions", ".generated.lock"}
    assert (project / "questions" / "annotate-notes-1.md").is_file()


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set a PATH without bubblewrap."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("opa", "node", "git", "sh"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/true")
    monkeypatch.setenv("PATH", str(programs))


@pytest.mark.usefixtures("without_bubblewrap")
def test_a_proxy_that_cannot_contain_its_servers_refuses_to_start(tmp_path: Path) -> None:
    place = ContainedPlace(tmp_path)
    command = place.command("--sandbox", str(place.inside))
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=place.environment(),
        check=False,
    )
    assert run.returncode == 3
    assert run.stdout == ""
    (first, *_) = [line for line in run.stderr.splitlines() if line.startswith("error")]
    assert first.startswith(
        "error[IC3202]: servers cannot be contained on this machine: bubblewrap (bwrap) is not"
    )
    assert not place.journal.exists(), "no server was started"


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize(("policy", "said"), [("warn", True), ("skip", False)])
def test_where_it_may_go_on_it_says_so_or_records_it(tmp_path: Path, policy: str, said: bool) -> None:
    place = ContainedPlace(tmp_path, {"policy": policy})
    anyio.run(_call, place)
    (decision,) = place.decisions
    assert decision["sandbox"]["isolation"] == "none"
    assert "bubblewrap (bwrap) is not installed" in decision["sandbox"]["observed"]
    assert [event["seen"] for event in place.events("sandbox")] == ["uncontained"]
    assert ("server fix is NOT CONTAINED: " in place.said) is said
    assert wait_for(place.journal.exists)


@NEEDS_SANDBOX
def test_a_sandbox_runtime_in_a_hidden_place_of_the_home_is_seen(tmp_path: Path) -> None:
    """A checkout below the home, which servers do not see: a part of the runtime runs inside, too."""
    installed = NODE.parents[0]
    place = ContainedPlace(tmp_path, {})
    tools = place.home / ".tools" / "node_modules"
    for package in ("@anthropic-ai/sandbox-runtime", "@pondwader", "commander", "node-forge", "zod"):
        shutil.copytree(installed / package, tools / package, symlinks=True)
    runtime = tools / "@anthropic-ai" / "sandbox-runtime" / "dist" / "cli.js"
    document = json.loads(place.servers.read_text())
    place.servers.write_text(json.dumps({**document, "sandbox": {"program": str(runtime)}}))
    assert "Read-only file system" in anyio.run(_call, place)
    (decision,) = place.decisions
    assert decision["sandbox"]["isolation"] == "bubblewrap"
