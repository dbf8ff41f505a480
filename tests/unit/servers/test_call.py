"""Calling one tool of a server at compile time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.servers.call import call_tool
from ironcurtain.servers.config import load_servers

SERVER = Path(__file__).parents[2] / "fixtures" / "promising_server.py"


@pytest.mark.timeout(60)
def test_an_answer_is_not_held_to_what_its_server_promised(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": [str(SERVER)], "sandbox": False}
    (tmp_path / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"promising": entry}}))
    config = load_servers(tmp_path / "mcp-servers.json")
    answer = call_tool(
        config, contained_launcher(lambda _: None), "promising", "read", {"path": "a"}, lambda _: True
    )
    assert answer == {"text": "a" * 60 + "!"}
