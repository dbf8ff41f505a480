"""The decision service behind the real hook program, for tests: real processes, socket and engine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from ironcurtain.compiler.annotate.known import shipped_collection
from ironcurtain.enforcement import service
from support.deployments.proxied import LONG, wait_for, written_lines
from support.projects.policies import rule, write_bundle

HOOK = Path(service.__file__).with_name("hook_program.py")
MAIN = (sys.executable, "-c", "from ironcurtain.cli.main import main; main()")


def claude_code_tools() -> list[dict[str, Any]]:
    """Return the built-in tools of Claude Code, as a compile annotates them."""
    known = next(each for each in shipped_collection().servers if each.server == "claude-code")
    listed = {tool.name: tool for tool in shipped_collection().listed(known, known.versions[-1])}
    return [
        tool.model_dump(mode="json", by_alias=True, exclude_unset=True)
        | {"input_schema": listed[tool.tool].input_schema}
        for tool in known.tools
    ]


def project_rules(work: Path) -> list[dict[str, Any]]:
    """Files of the project are read and written, those below `ask` on approval; nothing else but lists."""
    return [
        rule("asked", "escalate", paths={"roles": ["write-path"], "within": [str(work / "ask")]}),
        rule("files", "allow", paths={"roles": ["read-path", "write-path"], "within": [str(work)]}),
        rule("todo", "allow", tool=["TodoWrite"]),
        rule("shell", "escalate", tool=["Bash"]),
    ]


class Governed:
    """A home, a project and a bundle; hooks of the project's client ask a service that they start."""

    def __init__(
        self,
        root: Path,
        rules: list[dict[str, Any]] | None = None,
        facts: dict[str, Any] | None = None,
        **servers: Any,
    ) -> None:
        self.root, self.home, self.work = root, root / "home", root / "work"
        for directory in (self.home, self.work / "ask", self.work / "sub"):
            directory.mkdir(parents=True)
        self.bundle = write_bundle(
            root,
            {"claude-code": claude_code_tools(), **servers},
            rules or project_rules(self.work),
            policy={"facts": facts or {}},
        )
        self.place = Path(tempfile.mkdtemp(prefix="pdp-"))  # a socket's path is short
        self.socket = self.place / "pdp.sock"
        self.log = self.place / "pdp.log"
        self.options: list[str] = ["--patience", "0"]
        self.extra: dict[str, str] = {}
        self.seconds = LONG
        self.session = str(uuid.uuid4())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and self.log.exists():
            error.add_note("The service said:\n" + self.log.read_text()[-3000:])
        self.stop(signal.SIGTERM)
        shutil.rmtree(self.place)

    @property
    def command(self) -> list[str]:
        """The command that starts the service."""
        return [*MAIN, "pdp", "--bundle", str(self.bundle), "--sandbox", str(self.work), *self.options]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the client."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(self.work)}

    def configuration(self) -> Path:
        """Write what the hook program is configured by."""
        path = self.place / "hook.json"
        document = {
            "command": self.command,
            "directory": str(self.work),
            "environment": {**self.environment, **self.extra},
            "log": str(self.log),
        }
        path.write_text(json.dumps(document))
        return path

    def run(self, data: bytes, *, attended: bool = False) -> subprocess.CompletedProcess[bytes]:
        """Run the hook program with what a client writes to it."""
        return subprocess.run(
            [
                *(sys.executable, "-I", "-S", str(HOOK), str(self.configuration())),
                *(str(self.socket), str(self.seconds), "/hooks/claude-code"),
            ],
            input=data,
            capture_output=True,
            env={**self.environment, "CLAUDE_CODE_SESSION_ATTENDED": str(int(attended))},
            cwd=self.work,
            timeout=LONG * 2,
            check=False,
        )

    def event(self, name: str, *, attended: bool = False, **said: Any) -> dict[str, Any]:
        """Let the client tell of an event; return the answer, or what blocks it."""
        document = {"session_id": self.session, "cwd": str(self.work), "hook_event_name": name, **said}
        ended = self.run(json.dumps(document).encode(), attended=attended)
        if ended.returncode:
            return {"exit": ended.returncode, "why": ended.stderr.decode()}
        answer: dict[str, Any] = json.loads(ended.stdout) if ended.stdout else {}
        own: dict[str, Any] = answer.get("hookSpecificOutput", answer)
        return own

    def asks(
        self, tool: str, arguments: Mapping[str, Any], id_: str = "t1", mode: str = "default", **more: Any
    ) -> dict[str, Any]:
        """Let the client ask whether it may call a tool."""
        said: dict[str, Any] = {"permission_mode": mode, "tool_name": tool, "tool_input": arguments}
        said["tool_use_id"] = id_
        return self.event("PreToolUse", **said, **more)

    def tells(self, tool: str, response: Any, id_: str = "t1", **more: Any) -> dict[str, Any]:
        """Let the client tell what came of a call."""
        said: dict[str, Any] = {"tool_name": tool, "tool_use_id": id_, "tool_response": response}
        return self.event("PostToolUse", **said, **more)

    @property
    def pid(self) -> int | None:
        """The service's process; None where none runs."""
        lock = self.socket.with_suffix(".lock")
        if not lock.exists():
            return None
        number = f":{lock.stat().st_ino} "  # one that is locked stands here with who locked it
        found = [line.split() for line in Path("/proc/locks").read_text().splitlines() if number in line]
        return int(found[0][4]) if found else None

    def stop(self, number: signal.Signals) -> None:
        """End the service."""
        if (pid := self.pid) is not None:
            os.kill(pid, number)
            wait_for(lambda: self.pid is None)

    def client(self) -> httpx2.Client:
        """Return a client of the service's socket."""
        transport = httpx2.HTTPTransport(uds=str(self.socket))
        return httpx2.Client(transport=transport, base_url="http://localhost", timeout=LONG)

    def records(self, session: str | None = None) -> list[dict[str, Any]]:
        """Return the records of a session's log."""
        log = self.home / ".ironcurtain" / "audit" / f"{session or self.session}.jsonl"
        return [json.loads(line)["record"] for line in written_lines(log)] if log.exists() else []

    def decisions(self) -> list[tuple[str, str, bool]]:
        """Return tool, verdict and whether the client was let go on, of each decision."""
        found = [each for each in self.records() if each["kind"] == "decision"]
        return [(each["tool"], each["verdict"], each["forwarded"]) for each in found]
