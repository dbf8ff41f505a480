"""What a decision by the embedded engine costs, against a health request on the same connection."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench.figures import Figures, measure_async
from bench.scaled import KINDS, READ_MANY, SERVER, Kind, bundle, bundle_of, directory_rules, load
from support.documents import object_at

from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find
from ironcurtain.engine.rest_api import head_of
from ironcurtain.system.frozen import JsonValue

pytestmark = pytest.mark.bench
SIZES = (50, 2_000, 10_000)


def question(made: Bundle, home: Path, tool: str, arguments: JsonValue) -> bytes:
    prepared = prepare(Call(SERVER, tool, arguments), load(made, home))
    assert isinstance(prepared, Prepared)
    return json.dumps(prepared.input).encode()


async def health(engine: Engine) -> None:
    """Ask OPA whether it is well, over the connection of a query."""
    client = engine._client
    assert client is not None
    status, _ = await client._request(head_of("GET /health", ""), b"")
    assert status == 200


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_subject_at_any_number_of_rules(kind: Kind, tmp_path: Path, figures: Figures) -> None:
    made = {size: bundle_of(kind, size) for size in SIZES}
    name = kind.tool["tool"]
    asked = {size: question(made[size], tmp_path, name, kind.arguments(size // 2)) for size in SIZES}

    async def run() -> None:
        async with AsyncExitStack() as stack:
            engines = [
                await stack.enter_async_context(Engine(find(), made[size].archive(), made[size].revision))
                for size in SIZES
            ]
            for size, engine in zip(SIZES, engines, strict=True):
                answer = await engine.query(asked[size])
                assert answer.result["rule"] == f"r{size // 2:05d}"
            operations = [
                operation
                for size, engine in zip(SIZES, engines, strict=True)
                for operation in (partial(health, engine), lambda e=engine, size=size: e.query(asked[size]))
            ]
            times = await measure_async(*operations, repetitions=300, warm_up=100)
        healths, queries = times[::2], times[1::2]
        for size, one, query in zip(SIZES, healths, queries, strict=True):
            figures.add(
                f"one subject, {size:,} rules by {kind.name} / health",
                query.per(one),
                2,
                f"{query}; health {one}",
            )
        ordered = sorted(queries, key=lambda times: times.median)
        figures.add(
            f"{kind.name}: slowest / fastest of these decisions",
            ordered[-1].per(ordered[0]),
            1.5,
            f"{ordered[-1]}; {ordered[0]}",
        )

    asyncio.run(run())


def test_a_hundred_subjects_against_fifty_rules(tmp_path: Path, figures: Figures) -> None:
    made = bundle([READ_MANY], directory_rules(tmp_path, 50, ["read_files"]))
    paths: list[Any] = [f"{tmp_path}/d{n % 50:02d}/f{n}" for n in range(100)]
    asked = question(made, tmp_path, "read_files", {"paths": paths})

    async def run() -> None:
        async with Engine(find(), made.archive(), made.revision) as engine:
            answer = await engine.query(asked)
            assert (answer.result["verdict"], len(object_at(answer.result, "subjects"))) == ("allow", 100)
            well, query = await measure_async(
                partial(health, engine), lambda: engine.query(asked), repetitions=100, warm_up=30
            )
        figures.add("100 subjects, 50 rules / health", query.per(well), 25, f"{query}; health {well}")

    asyncio.run(run())
