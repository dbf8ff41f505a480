"""The calls that an attack starts from: scenarios, recorded calls, witnesses of what a policy decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ironcurtain.analysis.attack.spellings.several import Step
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import CallSearch
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.scenarios import DescribedWorld, Scenario
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

_EFFORT = 500
"""So many combinations of guards are tried for one witness."""


@dataclass(frozen=True)
class Base:
    """A call to respell, and where it comes from.

    Attributes:
        origin: `scenario ID`, `recorded ID` or `witness`.
    """

    origin: str
    step: Step
    caller: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Recorded:
    """Recorded calls, and where they were recorded.

    Attributes:
        places: By directory of the recorded session, the directory of the described world that stands for it.
    """

    records: tuple[DecisionRecord, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gathered:
    """The calls, each once, and by reason how many recorded ones could not be taken."""

    bases: tuple[Base, ...]
    left_out: Mapping[str, int]


def gather(scenarios: Iterable[Scenario], examined: PolicyAnalysis, recorded: Recorded) -> Gathered:
    """Return every call to start from, in a fixed order, each once."""
    found: dict[bytes, Base] = {}
    left_out: dict[str, int] = {}
    for scenario in scenarios:
        call = scenario.call
        step = Step(call.server, call.tool, call.arguments)
        _add(found, Base(f"scenario {scenario.id}", step, call.caller or {}))
    for record in recorded.records:
        if record.arguments is None or record.redacted:
            why = "are redacted" if record.redacted else "are not in the log"
            left_out[f"recorded calls whose arguments {why}"] = (
                left_out.get(f"recorded calls whose arguments {why}", 0) + 1
            )
            continue
        arguments = placed(record.arguments, recorded.places)
        _add(
            found,
            Base(f"recorded {record.id}", Step(record.server, record.tool, arguments), record.caller),
        )
    for base in _witnesses(examined):
        _add(found, base)
    return Gathered(tuple(found.values()), left_out)


def places_of(world: DescribedWorld, home: str, sandbox: str | None) -> dict[str, str]:
    """Return which directories of a described world stand for those of a recorded session, deepest first."""
    places = {home: world.home}
    if sandbox is not None and world.sandbox is not None:
        places[sandbox] = world.sandbox
    return dict(sorted(places.items(), key=lambda item: -len(item[0])))


def _add(found: dict[bytes, Base], base: Base) -> None:
    step = base.step
    found.setdefault(json_text.canonical([step.server, step.tool, step.arguments, dict(base.caller)]), base)


def _witnesses(examined: PolicyAnalysis) -> Iterator[Base]:
    """Yield a call for every path of every cell, as the decision matrix and the guarantees count them."""
    for (server, tool), one in sorted(examined.tools.items()):
        search = CallSearch(one, effort=_EFFORT)
        for keys, cell in one.space.cells.items():
            for answered in one.answers.get(keys, ()):
                call = search.find(cell, lambda _subject, _call: True, answered.path).call
                if call is not None:
                    yield Base("witness", Step(server, tool, call.arguments), call.caller)


def placed(value: JsonValue, places: Mapping[str, str]) -> JsonValue:
    """Return a value with the paths in it that lie in some directories moved to others."""
    if isinstance(value, dict):
        return {key: placed(each, places) for key, each in value.items()}
    if isinstance(value, list):
        return [placed(each, places) for each in value]
    if isinstance(value, str):
        for old, new in places.items():
            if value == old or value.startswith(f"{old}/"):
                return new + value.removeprefix(old)
    return value
