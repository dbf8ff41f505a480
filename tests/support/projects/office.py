"""Copies of the office example, with a server that starts in no time, since nothing contains it either."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
OFFICE = ROOT / "examples" / "office"
SERVER = ROOT / "tests" / "fixtures" / "office_server.py"


def copy_office(directory: Path) -> Path:
    """Copy the example into a directory; its tools and data are served from `server.py`, without the SDK."""
    shutil.copytree(OFFICE, directory, dirs_exist_ok=True)
    served = {"command": sys.executable, "args": ["-B", str(SERVER)], "sandbox": False}
    (directory / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"office": served}}))
    return directory
