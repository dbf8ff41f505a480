"""Client configurations for tests, and the parser that an editor itself reads them with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ironcurtain.integrations.clients.known_clients import shapes_of
from ironcurtain.integrations.clients.target import ConfigLocation
from ironcurtain.integrations.clients.wrap import ProxyCommand

CORPUS = Path(__file__).parents[2] / "fixtures" / "clients"
ANY_SERVER = str(CORPUS.with_name("any_server.py"))
"""A command that is a server, whatever its arguments are: `wrap` starts what it moves."""
FILES = sorted(path.name for path in CORPUS.iterdir())
COMMAND = ProxyCommand(("/opt/ironcurtain/bin/ironcurtain", "proxy"), ("--bundle", "/etc/päckchen"))
_READ = """
const { parse } = require(process.argv[1]);
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => {
  const errors = [];
  const value = parse(text, errors, { allowTrailingComma: true });
  return errors.length ? { errors: errors.length } : { value };
})));
"""


def client_file(path: Path, *, variables: bool = False) -> ConfigLocation:
    """Return a file as one of an unknown client."""
    shapes = shapes_of(path, None)
    return ConfigLocation("file", path, shapes, path.parent, project=True, variables=variables)


def copied(name: str, directory: Path) -> ConfigLocation:
    """Copy a file of the corpus; return it as the client's that its name says."""
    path = directory / name
    path.write_bytes((CORPUS / name).read_bytes())
    return client_file(path, variables=name.startswith(("claude-code", "cursor", "vscode")))


def read_as_an_editor(texts: list[str]) -> list[dict[str, Any]]:
    """Parse texts with Microsoft's jsonc-parser: each is `{"value": …}` or `{"errors": N}`."""
    module = Path(__file__).parents[3] / "node_modules" / "jsonc-parser"
    ended = subprocess.run(
        ["node", "-e", _READ, str(module)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(ended.stdout)
    return found


def text_of(path: Path) -> str:
    """Return a file's text without its byte order mark."""
    return path.read_bytes().decode("utf-8-sig")


def servers_of(value: Any) -> dict[str, Any]:
    """Return the servers of a configuration's value, wherever they stand."""
    holder = value.get("mcp", value)
    found: dict[str, Any] = holder.get("mcpServers", holder.get("servers"))
    return found
