"""The program of docs/clients.md that connects over HTTP for each call: its servers start once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT
from support.deployments.proxied import LONG, PLAIN, Place, wait_for

pytestmark = pytest.mark.timeout(300)


def test_servers_start_once_for_all_connections(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "clients.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    place = Place(tmp_path, {"filesystem": PLAIN})
    with (tmp_path / "stderr").open("a") as stderr:
        command = place.command("--http", "127.0.0.1:0", "--no-approver")
        proxy = subprocess.Popen(command, env=place.environment(), cwd=tmp_path, stderr=stderr)
    try:
        url = wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
        program = code.replace("http://127.0.0.1:8080/mcp", url)
        theirs, ours = '"filesystem__list_allowed_directories", {}', '"filesystem__echo", {"text": "x"}'
        program = program.replace(theirs, ours)
        calls = f"{program}\nfor _ in range(3):\n    asyncio.run(call('filesystem__echo', {{}}))\n"
        ended = subprocess.run(
            [sys.executable, "-c", calls],
            env=place.environment(),
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "x" in ended.stdout
    finally:
        proxy.terminate()
        assert proxy.wait(LONG) == 0
    called = [entry for entry in place.sent() if entry.get("tool") == "echo"]
    assert len(called) == 4
    assert len({entry["pid"] for entry in called}) == 1
