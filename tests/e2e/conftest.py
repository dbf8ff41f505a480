from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e.program import Inside, in_process
from fixtures.tiny_project import ANNOTATIONS, RULES, answer, write_project


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(monkeypatch)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the tiny project once, with its tool list saved beside it."""
    directory = write_project(tmp_path_factory.mktemp("tiny"))
    listed = in_process("tools", "notes", cwd=directory)
    assert listed.code == 0, listed.err
    (directory / "tools.json").write_text(listed.out)
    servers = json.loads((directory / "mcp-servers.json").read_text())
    servers["mcpServers"]["notes"]["tools"] = "tools.json"
    (directory / "mcp-servers.json").write_text(json.dumps(servers))
    for key, content in (("annotate-notes-1", ANNOTATIONS), ("rules-notes", RULES)):
        assert in_process("compile", "--saved-tools", cwd=directory).code == 4
        answer(directory, key, content)
    last = in_process("compile", "--saved-tools", cwd=directory)
    assert last.code == 0, last.err
    return directory


@pytest.fixture
def project(tiny: Path, tmp_path: Path) -> Path:
    """Return a copy of the compiled tiny project, to be spoilt."""
    return Path(shutil.copytree(tiny, tmp_path / "project"))


@pytest.fixture(scope="session")
def waivers(tiny: Path) -> str:
    """Return waivers of what stands out in the tiny project: it has a sentence that no rule can keep."""
    report = json.loads(in_process("verify", "generated/bundle", "--format", "json", cwd=tiny).out)
    (found,) = [check for check in report["checks"] if check["name"] == "findings"]
    assert found["problems"]
    listed = [
        f"  - {{id: {each['id']}, reason: known, expires: '9999-12-31'}}\n" for each in found["problems"]
    ]
    return "format: ironcurtain/waivers/v1\nwaivers:\n" + "".join(listed)
