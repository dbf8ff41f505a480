"""Packages to be fetched without the internet: an npm registry on loopback, and a directory of wheels.

Each package is a small MCP server of one tool, which says what it is. Real npm and uv fetch it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest

NEEDS_NPM = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
TOOL: dict[str, Any] = {
    "name": "tell",
    "description": "Tells what it is.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
}
"""The tool of each server, as it lists it."""
_LISTED = json.dumps(TOOL)
_JAVASCRIPT = """\
#!/usr/bin/env node
const tool = TOOL;
const answers = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion, capabilities: { tools: {} },
    serverInfo: { name: "SAID", version: "1" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": () => ({
    content: [{ type: "text", text: ["SAID", ...process.argv.slice(2)].join(" ") }],
  }),
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: "no such method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
});
"""
_PYTHON = """\
import json
import sys

TOOL = json.loads('''LISTED''')


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "SAID", "version": "1"}}
    said = " ".join(["SAID", *sys.argv[1:]])
    return {"ping": {}, "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": said}]}}.get(method)


def main():
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        found = answer(asked["method"], asked.get("params"))
        unknown = {"error": {"code": -32601, "message": "no such method"}}
        body = unknown if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **body}), flush=True)
"""


def javascript(said: str) -> str:
    """Return a server for Node.js."""
    return _JAVASCRIPT.replace("SAID", said).replace("TOOL", _LISTED)


class NpmRegistry:
    """An npm registry on loopback; what it has not, as any Python package, is not found."""

    def __init__(self) -> None:
        self.tarballs: dict[str, bytes] = {}
        self._described: dict[str, dict[str, Any]] = {}
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                data = registry.answer(unquote(self.path).lstrip("/"))
                self.send_response(200 if data is not None else 404)
                self.end_headers()
                self.wfile.write(data or b"{}")

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        # It is looked so often whether to stop, which each test waits for.
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> bytes | None:
        """Return what a path holds."""
        if path in self.tarballs:
            return self.tarballs[path]
        return json.dumps(self._described[path]).encode() if path in self._described else None

    def publish(
        self, name: str, version: str, files: Mapping[str, str | bytes] | None = None, **manifest: Any
    ) -> None:
        """Publish a version of a package, the newest from then on; it has one program of its own name."""
        program = name.rpartition("/")[2]
        described = {"name": name, "version": version, "bin": {program: "server.js"}, **manifest}
        server = {} if "bin" in manifest else {"server.js": javascript(f"{name} {version}")}
        contents: dict[str, str | bytes] = {**server, **(files or {})}
        data = _tarball({**contents, "package.json": json.dumps(described)})
        place = f"{name}/-/{program}-{version}.tgz"
        self.tarballs[place] = data
        digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
        has_scripts = "install" in "".join(described.get("scripts", {}))
        dist = {"tarball": self.url + place, "integrity": f"sha512-{digest}"}
        entry = self._described.setdefault(name, {"name": name, "versions": {}})
        entry["versions"][version] = {**described, "dist": dist, "hasInstallScript": has_scripts}
        entry["dist-tags"] = {"latest": version}


def installed_package(name: str, modules: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return manifest and files of a package that is installed, with all that it needs bundled in it.

    Args:
        name: The package.
        modules: The `node_modules` that it is installed in.
    """
    manifest = json.loads((modules / name / "package.json").read_text())
    files, needed, seen = _files(modules / name, ""), [*manifest.get("dependencies", {})], {name}
    while needed:
        found = needed.pop()
        if found in seen:
            continue
        seen.add(found)
        needed += json.loads((modules / found / "package.json").read_text()).get("dependencies", {})
        files |= _files(modules / found, f"node_modules/{found}/")
    bundled = sorted(seen - {name})
    kept = {
        key: manifest[key] for key in ("name", "version", "type", "bin", "dependencies") if key in manifest
    }
    return {**kept, "bundleDependencies": bundled}, files


def _files(place: Path, above: str) -> dict[str, bytes]:
    """Return what runs of a package: neither types nor maps."""
    return {
        f"{above}{path.relative_to(place).as_posix()}": path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.suffix not in {".map", ".md", ".ts", ".cts", ".mts"}
    }


def write_wheel(
    place: Path,
    name: str,
    version: str,
    said: str | None = None,
    *,
    needs: str = "",
    more: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel of a server into a directory; it has one program of its own name.

    Args:
        place: The directory.
        name: The package.
        version: Its version.
        said: What its tool says that it is.
        needs: What its metadata requires.
        more: Files beside the server's.
    """
    module = name.replace("-", "_")
    about = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": _PYTHON.replace("SAID", said or f"{name} {version}").replace("LISTED", _LISTED),
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {module}:main\n",
        **(more or {}),
    }
    listed = "".join(f"{each},,\n" for each in (*files, f"{about}/RECORD"))
    path = place / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in {**files, f"{about}/RECORD": listed}.items():
            archive.writestr(zipfile.ZipInfo(each), content)
    return path


def write_sdist(place: Path, name: str, version: str, setup: str) -> None:
    """Write a source package, which a setup script builds."""
    files = {"setup.py": setup, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}
    (place / f"{name}-{version}.tar.gz").write_bytes(_tarball(files, f"{name}-{version}"))


def _tarball(files: Mapping[str, str | bytes], top: str = "package") -> bytes:
    """Return an archive, the same bytes at any time: another registry has the same package."""
    made = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=made, mode="wb", compresslevel=1, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


class Packages:
    """Both, and an environment in which only they are there.

    Attributes:
        environment: What npm and uv have to be given.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        self.npm = NpmRegistry()
        self.wheels, self.data = root / "wheels", root / "data"
        self.wheels.mkdir()
        self.npm.publish("@tests/teller", "1.0.0")
        write_wheel(self.wheels, "py-teller", "1.0.0")
        self.environment = {
            "npm_config_registry": self.npm.url,
            "npm_config_cache": str(root / "npm-cache"),
            "npm_config_userconfig": str(root / "npmrc"),
            "UV_FIND_LINKS": str(self.wheels),
            "UV_DEFAULT_INDEX": f"{self.npm.url}simple/",
            "UV_CACHE_DIR": str(root / "uv-cache"),
        }
        if monkeypatch is not None:
            for name, value in {**self.environment, "XDG_DATA_HOME": str(self.data)}.items():
                monkeypatch.setenv(name, value)

    @property
    def installed(self) -> list[Path]:
        """The installations that are there."""
        place = self.data / "ironcurtain" / "servers"
        return sorted(path for path in place.glob("[!.]*") if path.is_dir())
