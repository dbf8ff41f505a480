"""The embedded engine with a real OPA: answers, starts that fail, and engines that fail in mid-life."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from support.deployments.proxied import is_alive
from support.machines.frozen import freeze

from ironcurtain.engine.answer import EngineAnswer, EngineAnswerError
from ironcurtain.engine.engine import Engine, EngineLimits
from ironcurtain.engine.locate import Opa, find
from ironcurtain.errors import BundleIntegrityError, EngineFailedError

pytestmark = pytest.mark.anyio
REVISION = "sha256:" + "a" * 64
POLICY = """package ironcurtain.decision

decision := {"verdict": "deny", "count": count(input.items), "name": input.name} if input.kind == "count"

decision := "no object" if input.kind == "text"

decision := {"verdict": input.n / input.d} if input.kind == "divide"

decision := {"a": 1} if input.kind == "conflict"

decision := {"a": 2} if input.kind == "conflict"
"""


def archive(policy: str = POLICY, revision: str = REVISION, **more: str) -> bytes:
    manifest = {"roots": ["ironcurtain"], "revision": revision, "rego_version": 1}
    files = {".manifest": json.dumps(manifest), "ironcurtain/decision/decision.rego": policy, **more}
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return target.getvalue()


@pytest.fixture(scope="module")
def opa() -> Opa:
    return find()


def ask(kind: str, **members: Any) -> bytes:
    return json.dumps({"kind": kind, **members}).encode()


COUNT = ask("count", items=[1, 2], name="x")


async def rule_of(engine: Engine, policy_input: bytes) -> str:
    with pytest.raises(EngineAnswerError) as caught:
        await engine.query(policy_input)
    return caught.value.rule


async def answered(engine: Engine) -> EngineAnswer | None:
    """Ask an engine that was stopped; None where a busy machine takes it longer to wake."""
    try:
        return await engine.query(COUNT)
    except EngineAnswerError as error:
        assert error.rule == "engine-timeout"  # noqa: PT017 - others are failures
        return None


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give what runs a place of its own; a test's directory would be too long for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="ic-") as name:
        monkeypatch.setattr("ironcurtain.system.private_runtime.PARENT", Path(name))
        yield Path(name)


def listing(parent: Path, pattern: str = "engine-*") -> list[Path]:
    return list(parent.glob(f"ironcurtain-*/{pattern}"))


async def test_a_decision(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION) as engine:
        answer = await engine.query(COUNT)
    assert answer.result == {"verdict": "deny", "count": 2, "name": "x"}
    assert answer.revision == REVISION


async def test_everything_but_a_decision_object_is_its_own_rule(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION) as engine:
        assert await rule_of(engine, ask("unknown")) == "engine-undefined"
        assert await rule_of(engine, ask("text")) == "engine-malformed"
        assert await rule_of(engine, ask("divide", n=1, d=0)) == "engine-status"
        assert await rule_of(engine, ask("conflict")) == "engine-status"
        assert await rule_of(engine, b"not json") == "engine-status"
        assert (await engine.query(COUNT)).result["count"] == 2


async def test_builtin_error_is_never_a_quiet_undefined(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION) as engine:
        with pytest.raises(EngineAnswerError, match="count: operand 1"):
            await engine.query(ask("count", items=5, name="x"))


async def test_signed_bundle_is_loaded(opa: Opa) -> None:
    signed = archive(**{".signatures.json": json.dumps({"signatures": ["a.b.c"]})})
    async with Engine(opa, signed, REVISION) as engine:
        assert (await engine.query(COUNT)).result["count"] == 2


async def test_policy_that_trips_over_an_empty_input_still_starts(opa: Opa) -> None:
    policy = 'package ironcurtain.decision\n\ndecision := {"n": count(object.get(input, "items", 5))}\n'
    async with Engine(opa, archive(policy), REVISION) as engine:
        assert (await engine.query(COUNT)).result == {"n": 2}


async def test_two_hundred_queries_side_by_side_keep_their_answers(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION) as engine:
        inputs = [ask("count", items=list(range(n)), name=f"n{n}") for n in range(200)]
        answers = await asyncio.gather(*(engine.query(policy_input) for policy_input in inputs))
    assert [(a.result["count"], a.result["name"]) for a in answers] == [(n, f"n{n}") for n in range(200)]


async def test_input_of_nearly_eight_mebibytes(opa: Opa) -> None:
    items = ["é" * 500] * ((8 << 20) // 1004 - 10)
    policy_input = json.dumps({"kind": "count", "items": items, "name": "é"}, ensure_ascii=False).encode()
    assert (8 << 20) - 50_000 < len(policy_input) <= 8 << 20
    async with Engine(opa, archive(), REVISION, limits=EngineLimits(query=60)) as engine:
        answer = await engine.query(policy_input)
    assert answer.result == {"verdict": "deny", "count": len(items), "name": "é"}


async def test_input_far_over_the_limit_is_refused(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION, limits=EngineLimits(query=60)) as engine:
        rule = await rule_of(engine, ask("count", items=["x" * (12 << 20)], name="x"))
        assert rule in {"engine-status", "engine-unreachable"}
        assert (await engine.query(COUNT)).result["count"] == 2


async def test_another_revision_does_not_start(opa: Opa) -> None:
    with pytest.raises(BundleIntegrityError, match="revision"):
        async with Engine(opa, archive(), "sha256:" + "b" * 64):
            pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "policy.tar.gz"),
        (b"no archive", "policy.tar.gz"),
        (archive()[:60], "policy.tar.gz"),
        (archive("package ironcurtain.decision\n\ndecision := unknown(1)\n"), "undefined function unknown"),
        (archive("package elsewhere\n\na := 1\n"), "roots"),
        (archive("package system.authz\n\nallow := true\n"), "roots"),
    ],
    ids=["empty", "garbage", "truncated", "broken-rego", "outside-its-roots", "authz-of-its-own"],
)
async def test_bad_bundle_fails_in_the_words_of_opa(opa: Opa, content: bytes, words: str) -> None:
    with pytest.raises(EngineFailedError, match=words):
        async with Engine(opa, content, REVISION):
            pass


async def test_executable_that_vanished_or_hangs_fails(opa: Opa, tmp_path: Path) -> None:
    with pytest.raises(EngineFailedError):
        async with Engine(Opa(tmp_path / "gone", opa.version, "configured"), archive(), REVISION):
            pass
    hanging = tmp_path / "opa"
    hanging.write_text("#!/bin/sh\necho 'still thinking'\nsleep 300\n")
    hanging.chmod(0o755)
    said = ""
    for seconds in (0.5, 20):  # a busy machine may start no program within a moment
        if "thinking" not in said:
            limits = EngineLimits(start=seconds, stop=0.2)
            with pytest.raises(EngineFailedError, match=f"not ready within {seconds} s") as caught:
                async with Engine(
                    Opa(hanging, opa.version, "configured"), archive(), REVISION, limits=limits
                ):
                    pass
            said = str(caught.value)
    assert " s: still thinking" in said


async def test_engine_killed_in_mid_life_denies_and_stays_dead(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION) as engine:
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        rules = [await rule_of(engine, COUNT) for _ in range(3)]
        assert rules == ["engine-dead"] * 3


async def test_engine_killed_while_many_wait(opa: Opa) -> None:
    slow = (
        "package ironcurtain.decision\n\n"
        'decision := {"n": count([1 | some i in numbers.range(1, object.get(input, "n", 1))])}\n'
    )
    async with Engine(opa, archive(slow), REVISION, limits=EngineLimits(query=60)) as engine:
        assert engine.pid is not None
        queries = [asyncio.create_task(engine.query(b'{"n": 30000000}')) for _ in range(5)]
        await asyncio.sleep(0.3)
        os.kill(engine.pid, signal.SIGKILL)
        results = await asyncio.gather(*queries, return_exceptions=True)
    assert [getattr(result, "rule", result) for result in results] == ["engine-dead"] * 5


async def test_frozen_engine_times_out_and_recovers(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION, limits=EngineLimits(query=0.3)) as engine:
        assert engine.pid is not None
        freeze(engine.pid)
        os.waitpid(engine.pid, os.WUNTRACED)  # noqa: ASYNC222 - until it stands still
        assert await rule_of(engine, COUNT) == "engine-timeout"
        os.kill(engine.pid, signal.SIGCONT)
        async with asyncio.timeout(60):
            while (answer := await answered(engine)) is None:
                pass
        assert answer.result["count"] == 2


async def test_frozen_engine_is_ended_all_the_same(opa: Opa) -> None:
    async with Engine(opa, archive(), REVISION, limits=EngineLimits(stop=0.2)) as engine:
        pid = engine.pid
        assert pid is not None
        freeze(pid)
    assert not is_alive(pid)


async def test_vanished_socket_is_unreachable(opa: Opa, parent: Path) -> None:
    async with Engine(opa, archive(), REVISION) as engine:
        await asyncio.gather(*(engine.query(COUNT) for _ in range(2)))
        os.unlink(listing(parent, "engine-*/s")[0])  # noqa: PTH108 - as an attacker would
        rules = await asyncio.gather(*(engine.query(COUNT) for _ in range(40)), return_exceptions=True)
        refused = {error.rule for error in rules if isinstance(error, EngineAnswerError)}
    assert refused == {"engine-unreachable"}


async def test_closing_leaves_nothing(opa: Opa, parent: Path) -> None:
    engine = Engine(opa, archive(), REVISION)
    async with engine:
        pid = engine.pid
        assert len(listing(parent)) == 1
    assert pid is not None
    assert not is_alive(pid)
    assert listing(parent) == []
    assert await rule_of(engine, COUNT) == "engine-dead"


async def test_directory_that_cannot_be_written_fails(
    opa: Opa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ironcurtain.system.private_runtime.PARENT", tmp_path / "missing")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(EngineFailedError, match="cannot be written"):
        async with Engine(opa, archive(), REVISION):
            pass


async def test_cancelled_start_leaves_nothing(opa: Opa, parent: Path) -> None:
    for delay in (0.0, 0.02, 0.05):
        engine = Engine(opa, archive(), REVISION)
        start = asyncio.create_task(engine.__aenter__())
        await asyncio.sleep(delay)
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
        if not start.cancelled():  # on a machine that is busy elsewhere it may be ready by then
            await engine.__aexit__(None, None, None)
        assert listing(parent) == []


async def test_a_start_that_its_scope_cancels_leaves_no_task(opa: Opa, tmp_path: Path) -> None:
    hanging = tmp_path / "opa"
    hanging.write_text("#!/bin/sh\nsleep 300\n")
    hanging.chmod(0o755)
    before = asyncio.all_tasks()
    with anyio.move_on_after(0.3):
        async with Engine(Opa(hanging, opa.version, "configured"), archive(), REVISION):
            pass
    assert asyncio.all_tasks() == before


async def test_a_temporary_directory_of_the_environment_changes_no_place(
    opa: Opa, monkeypatch: pytest.MonkeyPatch, parent: Path, tmp_path: Path
) -> None:
    """Whoever protects the place protects it for all, and a socket's path has to be short."""
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    async with Engine(opa, archive(), REVISION) as engine:
        assert (await engine.query(COUNT)).result["count"] == 2
        assert len(listing(parent)) == 1
    assert not list(deep.iterdir())


def test_engine_of_a_background_loop_answers_other_threads(opa: Opa) -> None:
    with start_blocking_portal("asyncio") as portal:
        engine = Engine(opa, archive(), REVISION)
        with portal.wrap_async_context_manager(engine), ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: portal.call(engine.query, COUNT).result["count"], range(40)))
    assert answers == [2] * 40


def test_one_engine_after_another_in_one_process(opa: Opa) -> None:
    async def once(number: int) -> Any:
        policy = f'package ironcurtain.decision\n\ndecision := {{"n": {number}}}\n'
        async with (
            Engine(opa, archive(policy), REVISION) as old,
            Engine(opa, archive(policy), REVISION) as new,
        ):
            return [(await old.query(b"{}")).result["n"], (await new.query(b"{}")).result["n"]]

    assert [asyncio.run(once(n)) for n in range(3)] == [[0, 0], [1, 1], [2, 2]]
