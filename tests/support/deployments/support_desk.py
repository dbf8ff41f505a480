"""The example of a support desk, served as people serve it: a real program, a real engine, a real client."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from support.deployments.proxied import written_lines

ROOT = Path(__file__).parents[3]
PROGRAM = ["-c", "from ironcurtain.cli.main import main; main()"]


@cache
def _published() -> dict[str, bytes]:
    """Return the files of the example's bundle and annotations."""
    with tempfile.TemporaryDirectory() as directory:
        desk = Desk._made(Path(directory))
        files = [desk.root / "tool-annotations.json", *(f for f in desk.bundle.rglob("*") if f.is_file())]
        return {str(file.relative_to(desk.root)): file.read_bytes() for file in files}


class Desk:
    """A copy of the example in a directory of its own, with its bundle."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root / "desk", root / "home"
        self.home.mkdir()
        shutil.copytree(
            ROOT / "examples" / "support_desk",
            self.root,
            ignore=shutil.ignore_patterns("*.sqlite", "__pycache__", "bundle"),
        )
        self.root.chmod(0o755)
        for file in self.root.iterdir():
            file.chmod(0o644)
        self.bundle = self.root / "bundle"
        for name, data in _published().items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(data)

    @classmethod
    def _made(cls, root: Path) -> Desk:
        """Make the first one of a run, whose bundle the others copy."""
        desk = cls.__new__(cls)
        desk.root, desk.home, desk.bundle = root / "desk", root / "home", root / "desk" / "bundle"
        desk.home.mkdir()
        shutil.copytree(ROOT / "examples" / "support_desk", desk.root)
        desk.publish()
        return desk

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "IRONCURTAIN_PERMIT_SERVERS": "all",
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }

    def run(self, *arguments: str, code: int = 0, **more: str) -> str:
        """Run a command in the project; return what it printed."""
        ended = subprocess.run(
            [sys.executable, *PROGRAM, *arguments],
            cwd=self.root,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == code, ended.stderr
        return ended.stdout if code == 0 else ended.stderr

    def publish(self) -> None:
        """Make the bundle anew."""
        shutil.rmtree(self.bundle, ignore_errors=True)
        (self.root / "tool-annotations.json").write_text(self.run("annotate", "--format", "json"))
        self.run(
            "bundle",
            "--policy",
            "compiled-policy.json",
            "--annotations",
            "tool-annotations.json",
            "-o",
            "bundle",
        )

    def tools(self, code: str, *policy: dict[str, Any]) -> None:
        """Serve other tools instead, which the policy allows but for these rules."""
        (self.root / "tools.py").write_text(code)
        allow = {
            "name": "allow-all",
            "description": "All tools.",
            "clause": "C1",
            "reason": "Allowed.",
            "then": "allow",
            "if": {"server": ["desk"]},
        }
        told = json.loads((self.root / "compiled-policy.json").read_text())
        told["rules"] = [
            *policy,
            {**allow, "if": {"server": ["desk"], "side_effects": False}},
            {**allow, "name": "allow-more", "if": {"server": ["desk"], "side_effects": True}},
        ]
        (self.root / "compiled-policy.json").write_text(json.dumps(told))
        self.publish()

    def permit(self, *permissions: str, allow_destructive: bool = False) -> None:
        """Say what the agent may do."""
        told = {
            "format": "ironcurtain/permissions/v1",
            "sub": "desk-agent",
            "permissions": permissions,
            "allow_destructive": allow_destructive,
        }
        (self.root / "agent.json").write_text(json.dumps(told))

    def parameters(self, *more: str, **environment: str) -> StdioServerParameters:
        served = [
            "serve",
            "tools.py",
            "--bundle",
            "bundle",
            "--permissions",
            "agent.json",
            "--session",
            "desk",
        ]
        return StdioServerParameters(
            command=sys.executable,
            args=[*PROGRAM, *served, "--no-approver", *more],
            env={**self.environment, **environment},
            cwd=str(self.root),
        )

    @asynccontextmanager
    async def client(self, *more: str, **environment: str) -> AsyncIterator[Client]:
        """Connect a client over stdio."""
        async with Client(self.parameters(*more, **environment), mode="legacy") as client:
            yield client

    def records(self, session: str = "desk") -> list[dict[str, Any]]:
        """Return the records of the audit log."""
        file = self.home / ".ironcurtain" / "audit" / f"{session}.jsonl"
        return [json.loads(line)["record"] for line in written_lines(file)]

    def decisions(self) -> list[dict[str, Any]]:
        return [record for record in self.records() if record["kind"] == "decision"]

    def results(self) -> list[dict[str, Any]]:
        return [record for record in self.records() if record["kind"] == "result"]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.root / "desk.sqlite") as connection:
            return connection.execute(query).fetchall()


def text_of(result: CallToolResult) -> str:
    """Return the text that a result begins with."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text
