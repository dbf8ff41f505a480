"""The calls that an attack starts from: scenarios, recorded calls, and witnesses of each decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ironcurtain.analysis.attack.spellings.several import CallStep
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.search import CallSearch
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.model.scenarios import DescribedWorld, Scenario
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field

_EFFORT = 500
"""The number of combinations of guards that are tried for one witness."""


class BaseCall(Struct):
    """A call to respell, and where it comes from.

    Attributes:
        origin: `scenario ID`, `recorded ID` or `witness`.
    """

    origin: str
    step: CallStep
    caller: Mapping[str, JsonValue] = field(default_factory=dict)


class RecordedCalls(Struct):
    """Recorded calls, and how directories of the recorded session map to those of the described world.

    Attributes:
        places: By directory of the recorded session, the directory of the described world that stands for it.
    """

    records: tuple[DecisionRecord, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)


class BaseCalls(Struct):
    """The calls, each once, and the number of recorded calls that cannot be used, by reason."""

    bases: tuple[BaseCall, ...]
    left_out: Mapping[str, int]


def gather(scenarios: Iterable[Scenario], analysis: PolicyAnalysis, recorded: RecordedCalls) -> BaseCalls:
    """Return every call to start from, in a fixed order, each once."""
    bases: dict[bytes, BaseCall] = {}
    left_out: dict[str, int] = {}
    for scenario in scenarios:
        call = scenario.call
        step = CallStep(call.server, call.tool, call.arguments)
        _add(bases, BaseCall(f"scenario {scenario.id}", step, call.caller or {}))
    for record in recorded.records:
        if record.arguments is None or record.redacted:
            why = "are redacted" if record.redacted else "are not in the log"
            left_out[f"recorded calls whose arguments {why}"] = (
                left_out.get(f"recorded calls whose arguments {why}", 0) + 1
            )
            continue
        arguments = moved_arguments(record.arguments, recorded.places)
        step = CallStep(record.server, record.tool, arguments)
        _add(bases, BaseCall(f"recorded {record.id}", step, record.caller))
    unmade = sum(examined.exactness == "not examined" for examined in analysis.tools.values())
    if unmade:
        left_out["tools that are not examined, since no call of them could be made"] = unmade
    for base in _witnesses(analysis):
        _add(bases, base)
    return BaseCalls(tuple(bases.values()), left_out)


def places_of(world: DescribedWorld, home: str, sandbox: str | None) -> dict[str, str]:
    """Return which directories of a described world stand for those of a recorded session, deepest first."""
    places = {home: world.home}
    if sandbox is not None and world.sandbox is not None:
        places[sandbox] = world.sandbox
    return dict(sorted(places.items(), key=lambda item: -len(item[0])))


def _add(bases: dict[bytes, BaseCall], base: BaseCall) -> None:
    step = base.step
    bases.setdefault(json_text.canonical([step.server, step.tool, step.arguments, dict(base.caller)]), base)


def _witnesses(analysis: PolicyAnalysis) -> Iterator[BaseCall]:
    """Yield a call for every path of every cell, as the decision matrix and the guarantees count them."""
    for (server, tool), examined in sorted(analysis.tools.items()):
        search = CallSearch(examined, effort=_EFFORT)
        for keys, cell in examined.space.cells.items():
            for answered in examined.answers.get(keys, ()):
                call = search.find(cell, lambda _subject, _call: True, answered.path).call
                if call is not None:
                    yield BaseCall("witness", CallStep(server, tool, call.arguments), call.caller)


def moved_arguments(arguments: Mapping[str, JsonValue], places: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return arguments with the paths in them that lie in some directories moved to others."""
    return {name: _moved(value, places) for name, value in arguments.items()}


def moved_path(path: str, places: Mapping[str, str]) -> str:
    """Return a text as it is after some directories were moved, if it is a path in one of them."""
    for old, new in places.items():
        if path == old or path.startswith(f"{old}/"):
            return new + path.removeprefix(old)
    return path


def _moved(value: JsonValue, places: Mapping[str, str]) -> JsonValue:
    if isinstance(value, dict):
        return moved_arguments(value, places)
    if isinstance(value, list):
        return [_moved(element, places) for element in value]
    return moved_path(value, places) if isinstance(value, str) else value
