"""A tool that is being served writes where the protocol or a person's terminal is.

Held by: while a gateway is served, what handlers print goes nowhere; what a module prints when it is read
never reaches standard output.
"""

from __future__ import annotations

from pathlib import Path

import anyio
from mcp import Client
from mcp.client.stdio import stdio_client
from support.deployments.support_desk import Desk, text_of

TOOLS = """
import os
from pydantic import BaseModel
from ironcurtain.gateway import Gateway, define_tool

print("a module that greets whoever reads it")

class Nothing(BaseModel):
    pass

class Text(BaseModel):
    text: str

def flood(_: Nothing) -> Text:
    for _ in range(2_000):
        print("ada@example.com " * 64)
    os.write(1, b'{"jsonrpc":"2.0","id":1,"result":{"ada":"ada@example.com"}}\\n')
    os.system("echo ada@example.com")
    return Text(text="done")

gateway = Gateway("desk", [define_tool(
    name="flood", description="Print.", classification="read", permissions=["public"],
    input=Nothing, output=Text, output_policy={".text": "allow"}, handler=flood,
)])
"""


def test_what_a_handler_prints_reaches_neither_the_protocol_nor_a_terminal(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.tools(TOOLS)
    desk.permit()
    words = tmp_path / "stderr"

    async def story() -> list[str]:
        with words.open("w") as errlog:
            started = stdio_client(desk.parameters(), errlog=errlog)
            async with Client(started, mode="legacy") as client:
                return [text_of(await client.call_tool("desk__flood", {})) for _ in range(2)]

    assert anyio.run(story) == ['{"text": "done"}'] * 2
    assert "ada@example.com" not in words.read_text()
    assert "1 tool of its own" in words.read_text()
