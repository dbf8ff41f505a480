"""`ironcurtain start` as a program, in front of a place with servers and a model that plays a script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_httpserver import HTTPServer

from support.deployments.proxied import LONG, Place
from support.services.model_server import ANTHROPIC, ModelServer

PROGRAM = [sys.executable, "-c", "from ironcurtain.cli.main import main; main()"]
ROOT = Path(__file__).parents[3]


class Started:
    """A place, a scripted model, and the command in front of them."""

    def __init__(self, root: Path, server: HTTPServer) -> None:
        self.place, self.model = Place(root), ModelServer(server, ANTHROPIC)

    def script(self, *plays: Any) -> None:
        self.model.script[:] = plays

    @property
    def environment(self) -> dict[str, str]:
        return {
            **self.place.environment(),
            **self.model.environment("test-key"),
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }

    def command(self, *arguments: str) -> list[str]:
        where = ["--bundle", str(self.place.bundle), "--servers", str(self.place.servers)]
        return [*PROGRAM, "start", *arguments, *where, "--model", "anthropic:test-model"]

    def run(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.place.root,
            env=self.environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )

    def sessions(self, *arguments: str) -> str:
        return subprocess.run(
            [*PROGRAM, "sessions", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=True,
        ).stdout
