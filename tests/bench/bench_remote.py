"""What a decision by OPAs that others run costs on loopback, against one by the embedded engine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from bench.bench_engine import question
from bench.figures import Figures, measure_async
from bench.scaled import DIRECTORIES, READ_MANY, bundle, bundle_of, directory_rules
from support.services.nodes import opa_node

from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find
from ironcurtain.engine.remote import RemoteEngine
from ironcurtain.engine.remote_nodes import Nodes

pytestmark = pytest.mark.bench


def compare(made: Bundle, asked: bytes, name: str, place: Path, figures: Figures) -> None:
    path = place / "bundle.tar.gz"
    path.write_bytes(made.archive())

    async def run(*urls: str) -> None:
        nodes = Nodes.of(urls)
        assert nodes is not None
        async with (
            Engine(find(), made.archive(), made.revision) as embedded,
            RemoteEngine(nodes, made.revision) as remote,
        ):
            assert (await embedded.query(asked)).result == (await remote.query(asked)).result
            own, theirs = await measure_async(
                lambda: embedded.query(asked), lambda: remote.query(asked), repetitions=300, warm_up=100
            )
        figures.add(f"{name}: two nodes on loopback / embedded", theirs.per(own), 2, f"{theirs}; own {own}")

    with opa_node(path) as (one, _), opa_node(path) as (other, _):
        asyncio.run(run(one, other))


def test_one_subject(tmp_path: Path, figures: Figures) -> None:
    made = bundle_of(DIRECTORIES, 50)
    asked = question(made, tmp_path, DIRECTORIES.tool["tool"], DIRECTORIES.arguments(25))
    compare(made, asked, "one subject, 50 rules", tmp_path, figures)


def test_a_hundred_subjects(tmp_path: Path, figures: Figures) -> None:
    made = bundle([READ_MANY], directory_rules(tmp_path, 50, ["read_files"]))
    paths: list[Any] = [f"{tmp_path}/d{n % 50:02d}/f{n}" for n in range(100)]
    asked = question(made, tmp_path, "read_files", {"paths": paths})
    compare(made, asked, "100 subjects, 50 rules", tmp_path, figures)
