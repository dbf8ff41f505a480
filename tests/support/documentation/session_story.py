"""The story of the transcript session: a session behind the proxy, and a person in a second terminal."""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult

from support.deployments.proxied import text_of, until
from support.documentation.transcript import ROOT, Transcript
from support.people.terminal import in_terminal

SESSION = (
    "ironcurtain proxy --bundle generated/bundle --servers mcp-servers.json --sandbox ~/work "
    "--session work --patience 300"
)
PUSH = ("git__git_push", {"path": "~/work/site", "remote": "origin", "branch": "main"})
_SETTLED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC|\+00:00)?"), "TIME"),
    (re.compile(r"sha256:[0-9a-f…]+"), "sha256:…"),
    (re.compile(r"\b\d+:\d\d left"), "MM:SS left"),
    # How many events there are, and where, depends on how fast the servers start and on their sandbox.
    (re.compile(r"\b\d+ records"), "… records"),
    (re.compile(r"\bline \d+"), "line …"),
    (re.compile(rf"by {re.escape(getpass.getuser())}\b"), "by you"),
)
_ID = re.compile(r"\b[0-9a-f]{16}\b")
_DATE = "2026-01-05T12:00:00Z"


class Story:
    """Runs a client behind the proxy and commands in a second terminal, and writes down what both see."""

    def __init__(self, root: Path, transcript: Transcript) -> None:
        self.root = root
        self.home = root / "you"
        self.approvals = self.home / ".ironcurtain" / "approvals"
        self.log = self.home / ".ironcurtain" / "audit" / "work.jsonl"
        self.transcript = transcript
        self._ids: dict[str, str] = {}
        self.environment = self._make_environment()

    def _make_environment(self) -> dict[str, str]:
        programs = self.root / "bin"
        for directory in (programs, self.home / "work", self.home / "Documents"):
            directory.mkdir(parents=True)
        command = f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n"
        (programs / "ironcurtain").write_text(command)
        (programs / "ironcurtain").chmod(0o755)
        roles = [
            f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL", "DATE")
        ]
        return {
            **{name: _DATE if name.endswith("DATE") else "you@example.com" for name in roles},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_PAGER": "cat",
            "PYTHONPATH": str(ROOT),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def run(self, command: str, code: int = 0) -> None:
        """Run a command line in the second terminal, in the checkout."""
        ended, printed = in_terminal(["bash", "-c", command], ROOT, self.environment)
        assert ended == code, (command, printed)
        end = f"[exit {code}]\n" if code else ""
        self.transcript.show(self.settled(f"$ {command}\n{printed}{end}"), "console")

    @asynccontextmanager
    async def client(self, *options: str) -> AsyncIterator[Client]:
        """Connect a client to a proxy of its own."""
        _, *arguments = [part.replace("~", str(self.home)) for part in SESSION.split()]
        started = StdioServerParameters(
            command=str(self.root / "bin" / "ironcurtain"),
            args=[*arguments, *options],
            env=self.environment,
            cwd=ROOT,
        )
        self.transcript.show(" ".join(("$", SESSION, *options)), "console")
        with (self.root / "stderr").open("a") as stderr:
            async with Client(stdio_client(started, errlog=stderr), cache=None) as client:
                yield client

    async def call(self, client: Client, tool: str, arguments: dict[str, str]) -> None:
        """Call a tool and write down what the agent sees."""
        self._told(tool, arguments, await client.call_tool(tool, arguments))

    def _told(self, tool: str, arguments: dict[str, str], result: CallToolResult) -> None:
        kind = "error" if result.is_error else "result"
        shown = f"{tool} {json.dumps(arguments)}\n-> {kind}: {text_of(result).strip()}"
        self.transcript.show(self.settled(shown))

    @asynccontextmanager
    async def waiting(self, client: Client, tool: str, arguments: dict[str, str]) -> AsyncIterator[str]:
        """Call a tool that a person is asked about; yield the request's id while the call waits."""
        before = set(self.approvals.glob("request-*.json"))
        async with anyio.create_task_group() as tasks:
            called = tasks.create_task(client.call_tool(tool, arguments))
            (path,) = await until(lambda: set(self.approvals.glob("request-*.json")) - before)
            yield path.stem.removeprefix("request-")
            self._told(tool, arguments, await called)

    async def terminal(self, command: str, code: int = 0) -> None:
        """Run a command line in the second terminal while the client waits."""
        await to_thread.run_sync(self.run, command, code)

    def settled(self, text: str) -> str:
        text = text.replace(str(self.home), "/home/you").replace(str(ROOT), "CHECKOUT")
        text = _ID.sub(lambda found: self._ids.setdefault(found[0], f"id-{len(self._ids) + 1}"), text)
        for pattern, instead in _SETTLED:
            text = pattern.sub(instead, text)
        return text


async def tell(story: Story) -> None:
    """Run the whole session."""
    say = story.transcript.say
    (story.home / "Documents" / "plan.txt").write_text("Ship on Friday.\n")
    say("A repository, and a bare one to push to")
    story.run(
        "git init -q --bare -b main ~/work/remote.git\n"
        "git -C ~/work/remote.git config --unset core.bare  # with it, no server may write there\n"
        "git init -q -b main ~/work/site\n"
        "git -C ~/work/site commit -q --allow-empty -m 'First page'\n"
        "git -C ~/work/site remote add origin ~/work/remote.git"
    )
    say("An agent at work")
    async with story.client() as client:
        await _at_work(story, client)
    say("Nobody answers", "The same session, with little time to answer.")
    async with story.client("--answer-within", "1") as client:
        await story.call(client, *PUSH)
    say("What the session was")
    story.run("ironcurtain audit report work | sed '/^Events/,$d'")
    say("Is the log what was written?", "Before and after one letter is changed.")
    story.run("ironcurtain audit verify work")
    story.run("sed -i 's/move_file/move_filE/' ~/.ironcurtain/audit/work.jsonl")
    story.run("ironcurtain audit verify work", 1)


async def _at_work(story: Story, client: Client) -> None:
    say, look = story.transcript.say, "git -C ~/work/remote.git log --oneline --all"
    await story.call(client, "filesystem__read_text_file", {"path": "~/Documents/plan.txt"})
    say("What the policy denies")
    away = {"source": "~/Documents/plan.txt", "destination": "~/work/plan.txt"}
    await story.call(client, "filesystem__move_file", away)
    await story.terminal("ls ~/Documents ~/work")
    say("What a person approves", "The call waits. In a second terminal:")
    async with story.waiting(client, *PUSH) as id_:
        await story.terminal(look)
        await story.terminal("ironcurtain approvals list", 4)
        await story.terminal(f"ironcurtain approvals show {id_}")
        await story.terminal(f"ironcurtain approvals approve {id_} --yes")
    await story.terminal(look)
    say("What a person denies")
    story.run("git -C ~/work/site commit -q --allow-empty -m 'Second page'")
    async with story.waiting(client, *PUSH) as id_:
        await story.terminal(f"ironcurtain approvals deny {id_} --reason 'Not before Friday.'")
    await story.terminal(look)
