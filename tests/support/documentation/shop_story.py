"""The story of the transcript shop: the shop example behind proxies whose clock the story turns."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from fixtures import clocked_proxy
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from support.deployments.proxied import text_of, until
from support.documentation.transcript import ROOT, Transcript
from support.people.terminal import in_terminal

PROXY = (
    'ironcurtain proxy --bundle generated/bundle --servers mcp-servers.json --caller \'{"sub": "ada"}\' '
    "--patience 300"
)
MONEY = {"order_id": "W2", "payment_method_id": "card-ada"}
MAIL = {"user_id": "ada", "subject": "Your order", "body": "It is on its way."}
_SETTLED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d\.\d+)(Z| UTC|\+00:00)?"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "TIME"),
    (re.compile(r"sha256:[0-9a-f…]+"), "sha256:…"),
    (re.compile(r"\b\d+:\d\d left"), "MM:SS left"),
    (re.compile(r"caller [0-9a-f]{12}\b"), "caller …"),
    (re.compile(rf"by {re.escape(getpass.getuser())}\b"), "by you"),
)
_ID = re.compile(r"\b[0-9a-f]{16}\b")


class Story:
    """The example in a directory of its own, agents behind proxies, and a person in a second terminal."""

    def __init__(self, root: Path, transcript: Transcript) -> None:
        self.root, self.transcript = root, transcript
        self.project = Path(shutil.copytree(ROOT / "examples" / "shop", root / "shop"))
        self.home, self.clock = root / "you", root / "clock"
        self.approvals = self.home / ".ironcurtain" / "approvals"
        self._ids: dict[str, str] = {}
        programs = root / "bin"
        for directory in (programs, self.home):
            directory.mkdir()
        (self.project / "data").mkdir(exist_ok=True)
        program = programs / "ironcurtain"
        program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
        program.chmod(0o755)
        self.environment = {
            "PATH": f"{programs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def at(self, moment: str) -> None:
        """Turn the clock of all proxies."""
        scratch = self.clock.with_suffix(".new")
        scratch.write_text(moment)
        scratch.replace(self.clock)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what the shop's own records hold."""
        with sqlite3.connect(self.project / "data" / "shop.sqlite") as records:
            return records.execute(query).fetchall()

    def run(self, command: str, code: int = 0) -> None:
        """Run a command line in the project."""
        ended, printed = in_terminal(["bash", "-c", command], self.project, self.environment)
        assert ended == code, (command, printed)
        end = f"[exit {code}]\n" if code else ""
        self.transcript.show(self._settled(f"$ {command}\n{printed}{end}"), "console")

    async def terminal(self, command: str, code: int = 0) -> None:
        """Run a command line while an agent is connected."""
        await to_thread.run_sync(self.run, command, code)

    @asynccontextmanager
    async def agent(self, session: str = "desk") -> AsyncIterator[Client]:
        """Connect an agent to a proxy of its own."""
        self.transcript.show(f"$ {PROXY} --session {session}", "console")
        options = ["--bundle", "generated/bundle", "--servers", "mcp-servers.json", "--patience", "300"]
        options += ["--caller", '{"sub": "ada"}', "--session", session]
        started = StdioServerParameters(
            command=sys.executable,
            args=[clocked_proxy.__file__, str(self.clock), *options],
            env=self.environment,
            cwd=self.project,
        )
        said = self.root / f"said-{session}"
        with said.open("w") as stderr, _explained(said):
            async with Client(stdio_client(started, errlog=stderr), mode="legacy", cache=None) as client:
                await until(lambda: "server shop: 9 tools" in said.read_text())
                yield client

    async def call(self, client: Client, tool: str, **arguments: Any) -> bool:
        """Call a tool and write down what the agent sees; return whether it was done."""
        return self.told(tool, arguments, await client.call_tool(f"shop__{tool}", arguments))

    def told(self, tool: str, arguments: dict[str, Any], result: Any) -> bool:
        """Write down what the agent sees of a call; return whether it was done."""
        shown = f"shop__{tool} {json.dumps(arguments)}\n{_answer(result)}"
        self.transcript.show(self._settled(shown))
        return not result.is_error

    @asynccontextmanager
    async def waiting(self, client: Client, tool: str, **arguments: Any) -> AsyncIterator[str]:
        """Call a tool that a person is asked about; yield the request's id while the call waits."""
        before = set(self.approvals.glob("request-*.json"))
        self.transcript.show(f"shop__{tool} {json.dumps(arguments)}\n-> it waits for a person")
        async with anyio.create_task_group() as tasks:
            called = tasks.create_task(client.call_tool(f"shop__{tool}", arguments))
            (path,) = await until(lambda: set(self.approvals.glob("request-*.json")) - before)
            yield path.stem.removeprefix("request-")
            self.transcript.show(self._settled(_answer(await called)))

    def _settled(self, text: str) -> str:
        text = text.replace(str(self.project), "SHOP").replace(str(self.home), "/home/you")
        text = _ID.sub(lambda found: self._ids.setdefault(found[0], f"id-{len(self._ids) + 1}"), text)
        for pattern, instead in _SETTLED:
            text = pattern.sub(instead, text)
        return text


def _answer(result: Any) -> str:
    if result.is_error:
        return f"-> error: {text_of(result).strip()}"
    return f"-> result: {json.dumps(result.structured_content)}"


@contextmanager
def _explained(said: Path) -> Iterator[None]:
    """Let a failure tell what the proxy said last."""
    try:
        yield
    except BaseException as error:
        error.add_note("The proxy said:\n" + said.read_text()[-3000:])
        raise


async def tell(story: Story) -> None:
    """Run the whole story."""
    say = story.transcript.say
    say("Whose order it is, and what has become of it", "Monday, 23 November 2026, 10:00 in Berlin.")
    story.at("2026-11-23T09:00:00Z")
    async with story.agent() as client:
        await _orders(story, client)
        await _budget(story, client)
    say("The same day, after a restart", "What the proxy has booked, it knows.")
    story.at("2026-11-23T22:59:59Z")
    async with story.agent() as client:
        await _after_a_restart(story, client)
    say("The next day in Berlin", "One second later, and through two proxies at once.")
    story.at("2026-11-23T23:00:00Z")
    async with story.agent("one") as client, story.agent("two") as other:
        await _at_once(story, client, other)
    say("A record that changes while a person reads", "The following evening the order W5 is a day old.")
    story.at("2026-11-24T18:00:00Z")
    async with story.agent() as client:
        await _overtaken(story, client)
    say("What was read in confidence")
    async with story.agent() as client:
        await _label(story, client)
    async with story.agent() as client:
        story.transcript.remark("The proxy was started again; the session is the same.")
        await _asked(story, client, "send_mail", **MAIL)
    story.run("ironcurtain audit state desk")
    assert story.rows("SELECT count(*) FROM mail") == [(1,)]
    say("Office hours in winter and in summer", "Friday, 26 March 2027; summer time begins on the Sunday.")
    async with story.agent() as client:
        await _office_hours(story, client)
    say("What a decision was made on")
    story.run(_DECISIONS)


_DECISIONS = """python - ~/.ironcurtain/audit/desk.jsonl <<'END'
import json, sys
for line in open(sys.argv[1]):
    told = json.loads(line)['record']
    if told['kind'] == 'decision' and told['tool'] in ('cancel_order', 'refund'):
        print(told['verdict'], told['tool'], 'sent' if told['forwarded'] else 'not sent')
        print('   on', json.dumps(told['facts']['values']) if told['facts'] else told['reason'])
        for each in told['facts']['booked'] if told['facts'] else ():
            print('   booked', each['fact'], each['add'], 'on', each['window'])
END"""


async def _orders(story: Story, client: Client) -> None:
    assert await story.call(client, "get_order_details", order_id="W1")
    assert await story.call(client, "cancel_order", order_id="W1")
    story.transcript.remark("The next look-up finds it cancelled; W2 was delivered, and W4 is not Ada's.")
    for order in ("W1", "W2", "W4", "W9"):
        assert not await story.call(client, "cancel_order", order_id=order)
    story.transcript.remark("Money goes to the customer's own methods of payment only.")
    assert not await story.call(client, "refund", order_id="W2", amount=5, payment_method_id="card-blaise")
    assert story.rows("SELECT id FROM orders WHERE status = 'pending' ORDER BY id") == [("W4",), ("W5",)]


async def _budget(story: Story, client: Client) -> None:
    story.transcript.say("A budget of 100 euros a day", "In a second terminal a person answers.")
    assert await story.call(client, "refund", **MONEY, amount=60)
    async with story.waiting(client, "refund", **MONEY, amount=50) as id_:
        await story.terminal(f"ironcurtain approvals show {id_}")
        await story.terminal(f"ironcurtain approvals deny {id_} --reason 'Not today.'")
    assert not await story.call(client, "refund", **MONEY, amount=-900)
    assert story.rows("SELECT cents FROM payments") == [(6000,)]


async def _after_a_restart(story: Story, client: Client) -> None:
    assert await story.call(client, "refund", **MONEY, amount=40)
    await _asked(story, client, "refund", **MONEY, amount=0.01)
    assert story.rows("SELECT cents FROM payments") == [(6000,), (4000,)]


async def _at_once(story: Story, client: Client, other: Client) -> None:
    """Refund 60 euros through two proxies at once: one is done, the other is asked about."""
    story.transcript.remark("Each gets the same call; whichever comes second waits for a person.")
    arguments = {**MONEY, "amount": 60}
    before = set(story.approvals.glob("request-*.json"))
    async with anyio.create_task_group() as tasks:
        calls = [tasks.create_task(each.call_tool("shop__refund", arguments)) for each in (client, other)]
        (path,) = await until(lambda: set(story.approvals.glob("request-*.json")) - before)
        id_ = path.stem.removeprefix("request-")
        await story.terminal(f"ironcurtain approvals deny {id_}")
        results = [await each for each in calls]
    assert [story.told("refund", arguments, each) for each in sorted(results, key=_is_error)] == [True, False]
    assert story.rows("SELECT count(*), sum(cents) FROM payments") == [(3, 16000)]


def _is_error(result: Any) -> bool:
    return bool(result.is_error)


async def _overtaken(story: Story, client: Client) -> None:
    async with story.waiting(client, "cancel_order", order_id="W5") as id_:
        story.transcript.remark("Meanwhile the parcel is handed over; then the person approves.")
        await story.terminal(
            "python - <<'END'\nimport sqlite3\nwith sqlite3.connect('data/shop.sqlite') as shop:\n"
            "    shop.execute(\"UPDATE orders SET status = 'delivered' WHERE id = 'W5'\")\nEND"
        )
        await story.terminal(f"ironcurtain approvals approve {id_} --yes")
    assert story.rows("SELECT status FROM orders WHERE id = 'W5'") == [("delivered",)]


async def _label(story: Story, client: Client) -> None:
    assert await story.call(client, "send_mail", **MAIL)
    assert await story.call(client, "read_notes", user_id="ada")
    await _asked(story, client, "send_mail", **MAIL)


async def _asked(story: Story, client: Client, tool: str, **arguments: Any) -> None:
    """Make a call that a person is asked about, who refuses it."""
    async with story.waiting(client, tool, **arguments) as id_:
        await story.terminal(f"ironcurtain approvals deny {id_}")


async def _office_hours(story: Story, client: Client) -> None:
    black, white = {"item_ids": ["lamp-black"]}, {"item_ids": ["lamp-white"]}
    there = {**MONEY, **black, "new_item_ids": ["lamp-white"]}
    back = {**MONEY, **white, "new_item_ids": ["lamp-black"]}
    remark = story.transcript.remark
    for moment, said, arguments, is_open in (
        ("2027-03-26T07:59:59Z", "Friday, one second before nine (7:59:59 UTC):", there, False),
        ("2027-03-26T08:00:00Z", "Nine o'clock (8:00 UTC):", there, True),
        ("2027-03-29T06:59:59Z", "Monday, one second before nine (6:59:59 UTC):", back, False),
        ("2027-03-29T07:00:00Z", "Nine o'clock (7:00 UTC):", back, True),
    ):
        story.at(moment)
        remark(said)
        if is_open:
            assert await story.call(client, "exchange_items", **arguments)
        else:
            await _asked(story, client, "exchange_items", **arguments)
    for said, wanted in (("Out of stock:", "lamp-brass"), ("Another product:", "mug-red")):
        remark(said)
        assert not await story.call(client, "exchange_items", **{**there, "new_item_ids": [wanted]})
    assert story.rows("SELECT variant FROM items WHERE placed = 'W2'") == [("lamp-black",)]
