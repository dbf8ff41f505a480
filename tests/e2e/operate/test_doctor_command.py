"""`ironcurtain doctor` as people run it: all is well, and several things wrong at once."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from e2e.program import Inside

from ironcurtain.bundle.signing.keys import new_key

SERVER = Path(__file__).parents[2] / "fixtures" / "drifting_server.py"
PARTS = [
    "python",
    "packages",
    "settings",
    "model",
    "opa",
    "bundle",
    "rules",
    "servers/notes",
    "drift",
    "sandbox",
    "approvals",
    "audit",
    "keys",
    "client",
    "proxy",
    "engine",
    "place",
]


@pytest.fixture
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home; the server of the project is one that can change."""
    monkeypatch.setenv("HOME", str(project / "home"))
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    (project / "home" / ".ironcurtain").mkdir(parents=True, mode=0o700)
    server = {"command": sys.executable, "args": [str(SERVER), "words"], "sandbox": False}
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    return project / "home"


@pytest.mark.usefixtures("home")
def test_all_is_well(inside: Inside, project: Path) -> None:
    ended = inside("doctor", "--timeout", "200", "--format", "json", cwd=project)
    report = json.loads(ended.out)
    assert (ended.code, report["ok"]) == (0, True), ended.out
    assert [each["name"] for each in report["checks"]] == PARTS
    assert {each["status"] for each in report["checks"]} == {"ok", "warn"}
    assert all(each["fix"] for each in report["checks"] if each["name"] == "bundle")


@pytest.mark.usefixtures("home")
def test_a_bundle_alone_on_another_machine(inside: Inside, project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bundle = str(project / "generated" / "bundle")
    ended = inside("doctor", "--bundle", bundle, "--format", "json", cwd=elsewhere)
    found = {each["name"]: each for each in json.loads(ended.out)["checks"]}
    assert (ended.code, found["servers"]["status"]) == (0, "skip"), ended.out
    assert "ironcurtain compile --sign" in found["bundle"]["fix"]
    named = inside("doctor", "--bundle", bundle, "--servers", "none.json", "--format", "json")
    (servers,) = [each for each in json.loads(named.out)["checks"] if each["name"] == "servers"]
    assert (named.code, servers["status"], servers["code"]) == (1, "fail", "IC1002")


def test_several_things_are_wrong(inside: Inside, project: Path, home: Path) -> None:
    (project / "words").write_text("dies")
    new_key(home / ".ironcurtain" / "signing-key.pem", "ES256")
    (home / ".ironcurtain" / "signing-key.pem").chmod(0o644)
    (home / ".claude.json").write_text('{"mcpServers": {"notes": {"command": "x"}}}')
    (project / "generated" / "bundle" / "ironcurtain" / "rules" / "data.json").write_text("{}")
    ended = inside("doctor", "--timeout", "200", "--client", "claude-code", "--client", "cursor", cwd=project)
    assert ended.code == 1
    assert re.fullmatch(r"\d+ checks: .*\d+ failed.*\n", ended.err)
    lines = ended.out.splitlines()
    failing = [line.split()[1] for line in lines if line.startswith("fail")]
    expected = ["bundle:", "servers/notes:", "keys:", "client/claude-code:", "client/cursor:"]
    assert failing == expected, ended.out
    assert "skip engine: the bundle cannot be read" in lines, "one mistake is told once"
    for number, line in enumerate(lines):
        if line.startswith("fail"):
            assert lines[number + 1].startswith("     fix: "), line
    assert "skip drift: the bundle cannot be read" in lines
