"""What Node's `new URL` reads from texts: a WHATWG parser that nobody here wrote."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from support.deployments.open_place import node

NODE = node(18)
_EACH = """
const { fileURLToPath } = require("url");
const { resolve } = require("path").posix;
let text = "";
process.stdin.on("data", (d) => text += d).on("end", () => {
  console.log(JSON.stringify(JSON.parse(text).map((given) => { %s })));
});
"""
_READ = """
try {
  const { protocol, pathname, host, href } = new URL(given);
  return { protocol, path: pathname, host, href };
} catch { return null; }
"""
# Servers take the text as it is or trim it, and the path as Node converts it, decoded or as it is written.
_PATHS = """
const found = new Set();
for (const text of [given, given.trim()]) {
  for (const path of [fileURLToPath, (url) => decodeURIComponent(url.pathname), (url) => url.pathname]) {
    try {
      const url = new URL(text);
      if (url.protocol === "file:") found.add(resolve(DIRECTORY, path(url)));
    } catch {}
  }
}
return [...found];
"""


def read_urls(texts: list[str]) -> list[dict[str, str] | None]:
    """Return protocol, path, host and href of each text; None of one that is no URL."""
    read: list[dict[str, str] | None] = _in_node(_READ, texts)
    return read


def read_file_paths(texts: list[str], directory: str) -> list[list[str]]:
    """Return of each text the absolute paths that servers open for it as a file's URI."""
    paths: list[list[str]] = _in_node(_PATHS.replace("DIRECTORY", json.dumps(directory)), texts)
    return paths


def _in_node(each: str, texts: list[str]) -> Any:
    assert NODE is not None
    command = [NODE, "-e", _EACH % each]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
