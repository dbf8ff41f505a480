"""The story of the transcript support-desk: one agent with a file of permissions, two with tokens."""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
from anyio import to_thread
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from support.deployments.proxied import LONG, until
from support.deployments.support_desk import Desk, text_of
from support.documentation.transcript import Transcript
from support.people.terminal import in_terminal

SERVE = "ironcurtain serve tools.py --bundle bundle --session desk"
KEYS = {kid: ec.generate_private_key(ec.SECP256R1()) for kid in ("2026-11", "2026-12")}
_SETTLED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC|\+00:00)?"), "TIME"),
    (re.compile(r"(hmac-)?sha256:[0-9a-f:…]+"), r"\1sha256:…"),
    (re.compile(r"\$[0-9a-f]{32}\b"), "$HASH"),
    (re.compile(rf"by {re.escape(getpass.getuser())}\b"), "by you"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "ID"),
    (re.compile(r"x{501}"), "xxx… (501 characters)"),
    (re.compile(r"\b\d+ records"), "… records"),
)


class Story:
    """Runs commands in a terminal and clients of the gateway, and writes down what all see."""

    def __init__(self, root: Path, transcript: Transcript) -> None:
        self.desk, self.root, self.transcript = Desk(root), root, transcript
        self.approvals = self.desk.home / ".ironcurtain" / "approvals"
        programs = root / "bin"
        programs.mkdir()
        program = programs / "ironcurtain"
        program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
        program.chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**self.desk.environment, "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb"}
        del self.environment["IRONCURTAIN_PERMIT_SERVERS"]  # the story permits what it needs

    def run(self, command: str, code: int = 0) -> None:
        """Run a command line in the project."""
        ended, printed = in_terminal(["bash", "-c", command], self.desk.root, self.environment)
        assert ended == code, (command, printed)
        end = f"[exit {code}]\n" if code else ""
        self.transcript.show(self._settled(f"$ {command}\n{printed}{end}"), "console")

    async def terminal(self, command: str, code: int = 0) -> None:
        """Run a command line while a client runs."""
        await to_thread.run_sync(self.run, command, code)

    async def call(self, client: Client, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool and write down what the agent sees."""
        self._told(tool, arguments, await client.call_tool(f"desk__{tool}", arguments))

    def _told(self, tool: str, arguments: dict[str, Any], result: Any) -> None:
        kind = "error" if result.is_error else "result"
        shown = f"desk__{tool} {json.dumps(arguments)}\n-> {kind}: {text_of(result).strip()}"
        self.transcript.show(self._settled(shown))

    async def listed(self, client: Client) -> None:
        """Write down the tools that the agent is shown."""
        names = [tool.name for tool in (await client.list_tools()).tools]
        self.transcript.show("tools/list\n-> " + ", ".join(names))

    @asynccontextmanager
    async def waiting(self, client: Client, tool: str, arguments: dict[str, Any]) -> AsyncIterator[str]:
        """Call a tool that a person is asked about; yield the request's id while the call waits."""
        async with anyio.create_task_group() as tasks:
            called = tasks.create_task(client.call_tool(f"desk__{tool}", arguments))
            (path,) = await until(lambda: set(self.approvals.glob("request-*.json")))
            yield path.stem.removeprefix("request-")
            self._told(tool, arguments, await called)

    @asynccontextmanager
    async def over_stdio(self) -> AsyncIterator[Client]:
        """Start the gateway as a client's configuration would."""
        command = f"{SERVE} --permissions agent.json"
        self.transcript.show(f"$ {command}", "console")
        program, *arguments = command.split()
        started = StdioServerParameters(
            command=str(self.root / "bin" / program),
            args=arguments,
            env=self.environment,
            cwd=self.desk.root,
        )
        with (self.root / "stderr").open("a") as stderr:
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                yield client

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Serve over HTTP; yield the address."""
        command = f"{SERVE} --tokens tokens.json --patience 300 --http 127.0.0.1:0"
        self.transcript.show(f"$ {command}", "console")
        process = subprocess.Popen(
            [str(self.root / "bin" / "ironcurtain"), *command.split()[1:]],
            cwd=self.desk.root,
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            yield next(line.split()[-1] for line in process.stderr if "listening on" in line)
        finally:
            process.terminate()
            process.communicate(timeout=120)

    @asynccontextmanager
    async def with_token(self, url: str, kid: str, sub: str, *permissions: str) -> AsyncIterator[Client]:
        """Connect a client that shows a token."""
        shown = token(kid, sub, *permissions)
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {shown}"}, trust_env=False, timeout=300)
        said = f'{{"sub": "{sub}", "permissions": {json.dumps(permissions)}}}, signed by {kid}'
        self.transcript.show(f"token: {said}")
        async with Client(streamable_http_client(url, http_client=http), mode="legacy", cache=None) as client:
            yield client

    def refused(self, url: str, kid: str, sub: str) -> None:
        """Show that a token does not count."""
        headers = {"accept": "application/json, text/event-stream"}
        headers["authorization"] = f"Bearer {token(kid, sub, 'tickets:read')}"
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        status = httpx2.post(url, json=message, headers=headers, timeout=LONG, trust_env=False).status_code
        shown = f'token: {{"sub": "{sub}", "permissions": ["tickets:read"]}}, signed by {kid}'
        self.transcript.show(f"{shown}\ntools/list\n-> HTTP {status}")

    def settle(self, *kids: str) -> None:
        """Write the settings of tokens, with these keys."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        for kid in kids:
            key = KEYS[kid].public_key().public_bytes(serialization.Encoding.PEM, form)
            (self.desk.root / f"{kid}.pem").write_bytes(key)
        told = [{"kid": kid, "algorithm": "ES256", "file": f"{kid}.pem"} for kid in kids]
        lines = ",\n  ".join(json.dumps(each) for each in told)
        text = (
            '{"format": "ironcurtain/tokens/v1", "issuer": "https://id.example.com", "audience": "desk",\n'
            f' "allow_destructive": true, "keys": [\n  {lines}\n]}}\n'
        )
        (self.desk.root / "tokens.json").write_text(text)
        self.transcript.show(f"$ cat tokens.json\n{text}", "console")

    def _settled(self, text: str) -> str:
        text = text.replace(str(self.desk.root), "DESK").replace(str(self.desk.home), "/home/you")
        for pattern, instead in _SETTLED:
            text = pattern.sub(instead, text)
        return text


def token(kid: str, sub: str, *permissions: str) -> str:
    """Return a signed token, as whoever knows the agents issues them."""
    claims = {
        "sub": sub,
        "permissions": permissions,
        "iss": "https://id.example.com",
        "aud": "desk",
        "exp": time.time() + 600,
    }
    return jwt.encode(claims, KEYS[kid], "ES256", headers={"kid": kid})


async def tell(story: Story) -> None:
    """Run the whole story."""
    say = story.transcript.say
    say("Are the tools declared well?", "And what becomes of each field of their answers.")
    story.run("ironcurtain serve --check tools.py")
    say("The policy", "Its module is imported for that, which the project itself cannot permit.")
    story.run("ironcurtain servers permit desk")
    story.run(
        "ironcurtain annotate --format json > tool-annotations.json && ironcurtain bundle "
        "--policy compiled-policy.json --annotations tool-annotations.json -o bundle"
    )
    say("An agent over standard input and output", "Its permissions are in a file that it cannot write.")
    story.run("cat agent.json")
    async with story.over_stdio() as client:
        await _agent(story, client)
    say("Agents with tokens, over HTTP", "Whom each request acts for, its token says.")
    story.settle("2026-11")
    with story.listening() as url:
        await _with_tokens(story, url)
    say("What the log says", "Arguments are hashed; of answers it holds what was taken out, not the values.")
    story.run("ironcurtain audit verify desk")
    story.run("ironcurtain audit report desk | sed '/^Events/,$d'")
    story.run(
        "python3 - ~/.ironcurtain/audit/desk.jsonl <<'END'\n"
        "import json, sys\n"
        "for line in open(sys.argv[1]):\n"
        "    record = json.loads(line)['record']\n"
        "    if record['kind'] == 'decision':\n"
        "        told = record['gateway']\n"
        "        print(told['caller'], record['tool'], record['verdict'], told['stage'] or 'done')\n"
        "    elif record['kind'] == 'result':\n"
        "        told = record['output']\n"
        "        print('   taken out:', *(f'{what} {told[what]}' for what in told if told[what]))\n"
        "END"
    )
    story.run("grep -c -e Lovelace -e ada@example.com -e SUP-1 -e HR-1 ~/.ironcurtain/audit/desk.jsonl", 1)


async def _agent(story: Story, client: Client) -> None:
    remark = story.transcript.remark
    await story.listed(client)
    await story.call(client, "get_ticket", {"ticket": "SUP-1"})
    remark("The name and the address are masked, the card is redacted, the city is covered by no rule.")
    await story.call(client, "search_tickets", {"words": "wheel"})
    await story.call(client, "get_customer", {"id": 2})
    await story.call(client, "add_note", {"ticket": "SUP-1", "text": "The picture came."})
    await story.call(client, "desk_log", {"lines": 1})
    remark("What the policy, the declaration and the permissions refuse:")
    await story.call(client, "get_ticket", {"ticket": "HR-1"})
    await story.call(client, "get_ticket", {"ticket": "--help"})
    await story.call(client, "add_note", {"ticket": "SUP-1", "text": "x" * 501})
    await story.call(client, "delete_customer", {"id": 2})
    await story.call(client, "drop_everything", {})


async def _with_tokens(story: Story, url: str) -> None:
    say = story.transcript.say
    async with story.with_token(url, "2026-11", "reader", "tickets:read") as client:
        await story.listed(client)
        await story.call(client, "get_ticket", {"ticket": "SUP-2"})
        await story.call(client, "add_note", {"ticket": "SUP-1", "text": "Hello"})
    say("A new key beside the old one", "The gateway runs on; it reads the file again.")
    story.refused(url, "2026-12", "manager")
    story.settle("2026-11", "2026-12")
    async with story.with_token(
        url, "2026-12", "manager", "customers:read", "customers:delete", "tickets:read", "tickets:write"
    ) as client:
        await story.call(client, "add_note", {"ticket": "SUP-2", "text": "Settled by telephone."})
        say("What cannot be undone", "The policy has a person asked. The call waits; in another terminal:")
        async with story.waiting(client, "delete_customer", {"id": 2}) as id_:
            await story.terminal(f"ironcurtain approvals approve {id_} --yes")
        assert story.desk.rows("SELECT count(*) FROM customers") == [(1,)]
    say("The old key is taken out", "Tokens of it do not count any more.")
    story.settle("2026-12")
    story.refused(url, "2026-11", "reader")
