"""What a tool of a gateway costs: filtering its answer, calling it, and starting with a thousand of them."""

from __future__ import annotations

import itertools
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from bench.figures import Figures, measure, measure_async
from fixtures import bare_tool
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import BaseModel, create_model
from support.deployments.support_desk import Desk

from ironcurtain import Policy
from ironcurtain.enforcement.proxy.upstream.tool_inventory import inventory_of
from ironcurtain.gateway import Gateway, define_tool
from ironcurtain.gateway.output.policy import OutputPolicy

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]
ROW = {
    "name": "Ada Lovelace",
    "email": "ada@example.com",
    "tags": ["one", "two"],
    "address": {"street": "Long Street 1", "city": "London"},
    "amount": 1.5,
    "note": None,
}
TOOLS = """
from pydantic import BaseModel
from ironcurtain.gateway import Gateway, define_tool

class Text(BaseModel):
    text: str

def echo(given: Text) -> Text:
    return Text(text=given.text)

gateway = Gateway("desk", [define_tool(
    name="echo", description="Return the text.", classification="read", permissions=["public"],
    input=Text, output=Text, output_policy={".text": "allow"}, handler=echo,
)])
"""
_numbers = itertools.count()


def test_filtering_an_answer_of_a_megabyte(figures: Figures) -> None:
    value: dict[str, Any] = {"items": [{"id": number, **ROW} for number in range(6_500)]}
    text = json.dumps(value)
    policy = OutputPolicy.parse(
        {
            ".items[]": "allow",
            "..email": "redact",
            ".items[].name": "mask",
            ".items[].address.street": "redact",
        }
    )
    filtered, plain = measure(
        lambda: policy.apply(value), lambda: json.dumps(json.loads(text)), repetitions=30
    )
    detail = f"{len(text):,} characters: {filtered} to {plain}"
    figures.add("filtering 1 MB / parsing and serialising it", filtered.per(plain), 3, detail)


def test_calling_a_trivial_tool(figures: Figures, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.tools(TOOLS)
    desk.permit()

    async def call(client: Client, name: str) -> None:
        text = f"call {next(_numbers)}"
        result = await client.call_tool(name, {"text": text})
        assert result.structured_content == {"text": text}, result

    async def story() -> None:
        bare = StdioServerParameters(command=sys.executable, args=[bare_tool.__file__])
        with Policy.load(desk.bundle, home=desk.home) as policy:
            async with (
                Client(stdio_client(bare), mode="legacy", cache=None) as simple,
                Client(stdio_client(desk.parameters()), mode="legacy", cache=None) as served,
            ):

                async def bare_and_decision() -> None:
                    await call(simple, "echo")
                    decided = await policy.adecide("desk", "echo", {"text": f"call {next(_numbers)}"})
                    assert decided.allowed

                async def gateway() -> None:
                    await call(served, "desk__echo")

                ours, theirs = await measure_async(gateway, bare_and_decision, repetitions=200, warm_up=20)
        detail = f"{ours} to {theirs}"
        figures.add("a trivial tool / on the bare SDK, plus the decision", ours.per(theirs), 1.5, detail)

    anyio.run(story)


def _models() -> list[tuple[type[BaseModel], type[BaseModel]]]:
    return [
        (
            create_model(f"Given{number}", ticket=(str, ...), limit=(int, 10)),
            create_model(f"Answer{number}", id=(str, ...), title=(str, ""), email=(str, "")),
        )
        for number in range(1_000)
    ]


def test_starting_with_a_thousand_tools(figures: Figures) -> None:
    def start() -> None:
        tools = [
            define_tool(
                name=f"tool_{number}",
                description="A tool.",
                classification="read",
                permissions=["public"],
                input=given,
                output=answer,
                output_policy={".": "allow", "..email": "mask"},
                handler=lambda given: given,
            )
            for number, (given, answer) in enumerate(_models())
        ]
        gateway = Gateway("many", tools)
        gateway.check()
        read = partial(inventory_of, gateway.listings(), of_handshake=True)
        found = anyio.run(to_thread.run_sync, read)
        assert len(found.tools) == 1_000

    def models_alone() -> None:
        for given, answer in _models():
            given.model_json_schema()
            answer.model_json_schema(mode="serialization")

    ours, theirs = measure(start, models_alone, repetitions=3)
    detail = f"{ours} to {theirs}"
    figures.add("1,000 tools at start / their models and schemas alone", ours.per(theirs), 1.5, detail)
