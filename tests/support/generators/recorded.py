"""Random calls recorded under one policy, with their values and without, and decided under another."""

from __future__ import annotations

from random import Random
from typing import Any

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.replay.pseudonymization import AbstractSanitizer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.enforcement.audit.recorder import Recorder
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.decision import Decision
from ironcurtain.system.json_text import digest_bytes
from support.generators import spaces
from support.records.audited import KEY, TIME


def random_calls(random: Random, count: int) -> list[Call]:
    """Return random calls, some of which no policy gets to see."""
    calls = []
    for number in range(count):
        tool = random.choice(list(spaces.SCHEMA))
        arguments: Any = spaces.random_arguments(random, tool)
        oddity = random.random()
        if oddity < 0.01:
            arguments = {"nonsense": 1}
        elif oddity < 0.02:
            tool = "unheard-of"
        elif oddity < 0.03:
            arguments = "{"
        elif oddity < 0.04:
            arguments = {**arguments, "path": "a\0b"}
        server = "gated" if tool == "send" and random.random() < 0.3 else "s"
        calls.append(Call(server, tool, arguments, spaces.random_caller(random), id=f"{number:05d}"))
    return calls


def decide_all(calls: list[Call], bundle: Bundle) -> tuple[dict[str, Any], dict[str, Decision]]:
    """Return what was prepared, and the decisions, by the calls' ids."""
    loaded = load_described(bundle, spaces.WORLD)
    prepared = {str(call.id): prepare(call, loaded) for call in calls}
    return prepared, decide_prepared(prepared, bundle, loaded, OpaCommand(find()))


def record_all(
    calls: list[Call], bundle: Bundle, *, abstract: bool, decided: tuple[dict[str, Any], dict[str, Decision]]
) -> list[DecisionRecord]:
    """Return the calls' records."""
    loaded, content = load_described(bundle, spaces.WORLD), PolicyContent.of(bundle)
    recorder = Recorder(
        content,
        loaded,
        bundle=digest_bytes(bundle.archive()),
        key=KEY,
        sanitizer=(lambda key: AbstractSanitizer(content, loaded, key)) if abstract else None,
        clock=lambda: TIME,
    )
    prepared, decisions = decided
    return [
        recorder.decision(
            call, prepared[str(call.id)], decisions[str(call.id)], id_=str(call.id), forwarded=True
        )
        for call in calls
    ]
