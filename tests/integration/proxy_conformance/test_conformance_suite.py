"""The protocol's own conformance suite: what a server passes by itself it passes behind the proxy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixtures import conformance_server
from support.deployments.open_place import MODULES, OpenPlace, listening, node, script

NODE = node(22)
SUITE = script("@modelcontextprotocol/conformance", "")
SERVER = Path(conformance_server.__file__)
NAMES = [tool.name for tool in conformance_server.TOOLS]
PROMPTS = [prompt.name for prompt in conformance_server.PROMPTS]

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(NODE is None, reason="the conformance suite needs Node.js 22 or newer"),
    pytest.mark.skipif(not SUITE.is_dir(), reason="the conformance suite is not installed (npm ci)"),
]


def renamed(directory: Path, server: str) -> Path:
    """Copy the suite, with the names under which the face shows the server's tools and prompts."""
    names = "|".join(map(re.escape, sorted([*NAMES, *PROMPTS], key=len, reverse=True)))
    text = (SUITE / "dist" / "index.js").read_text(encoding="utf-8")
    text, changed = re.subn(rf"([`\"'])({names})\1", rf"\1{server}__\2\1", text)
    assert changed >= len(NAMES) + len(PROMPTS), changed
    (directory / "dist").mkdir(parents=True)
    (directory / "node_modules").symlink_to(MODULES)
    shutil.copy(SUITE / "package.json", directory)
    (directory / "dist" / "index.js").write_text(text, encoding="utf-8")
    return directory


def outcomes(suite: Path, url: str, results: Path) -> dict[tuple[str, str], str]:
    """Run all scenarios for servers; return the status of each check, by scenario and check."""
    assert NODE is not None
    command = [NODE, str(suite / "dist" / "index.js"), "server", "--suite", "all", "--url", url]
    environment = {"PATH": os.environ["PATH"], "HOME": str(results.parent), "NO_PROXY": "*"}
    done = subprocess.run(
        [*command, "-o", str(results)], env=environment, capture_output=True, text=True, check=False
    )
    found: dict[tuple[str, str], str] = {}
    for path in sorted(results.glob("*/checks.json")):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name)
        for check in json.loads(path.read_text()):
            found[scenario, check["id"]] = check["status"]
            if check["status"] != "SUCCESS":
                print(scenario, check["id"], check["status"], check.get("errorMessage"))  # noqa: T201
    assert found, done.stdout + done.stderr
    return found


@contextmanager
def directly(errors: Path) -> Iterator[str]:
    """Run the server by itself; yield its URL."""
    with errors.open("w") as stderr:
        command = [sys.executable, str(SERVER), "--http"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_nothing_fails_through_the_proxy_that_passes_without_it(tmp_path: Path) -> None:
    configured = {"command": sys.executable, "args": [str(SERVER)], "env": {"PYTHONPATH": ""}}
    tools = {"fix": conformance_server.TOOLS}
    place = OpenPlace(tmp_path / "place", {"fix": configured}, tools, uris=conformance_server.URIS)
    with directly(tmp_path / "server-errors") as url:
        without = outcomes(SUITE, url, tmp_path / "without")
    passed = {check for check, status in without.items() if status == "SUCCESS"}
    assert len({scenario for scenario, _ in passed}) >= 30
    with listening(place) as url:
        behind = outcomes(renamed(tmp_path / "suite", "fix"), url, tmp_path / "behind")
    assert {scenario for scenario, _ in behind} == {scenario for scenario, _ in without}
    assert {check: behind.get(check) for check in passed if behind.get(check) != "SUCCESS"} == {}
    assert sum(record["forwarded"] for record in place.decisions) >= len(NAMES)
