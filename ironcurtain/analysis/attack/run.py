"""Attacking a policy: every call respelled in all ways that others take for the same, and each decided.

    report = attack(analyse_policy(bundle, world, opa), scenarios, opa)

- The search is bounded and deterministic; the report counts what was left out.
- Every call, respelled or not, is decided by the real steps and OPA, so each break is a fact. That none was
  found proves nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ironcurtain.analysis.attack import MAXIMUM
from ironcurtain.analysis.attack.bases import BaseCall, RecordedCalls, gather
from ironcurtain.analysis.attack.report import AttackCall, AttackReport, Break, LeftOut, Live
from ironcurtain.analysis.attack.scenes import Scenes
from ironcurtain.analysis.attack.spellings.spelling import Scene
from ironcurtain.analysis.attack.trials import DecidedBase, Trial, Trials, in_turn
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.policy_input import as_json
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.scenarios import Scenario
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource

_THEN = ", then "

_NOTHING = RecordedCalls()


def attack(
    analysis: PolicyAnalysis,
    scenarios: Iterable[Scenario],
    opa: OpaCommand,
    *,
    recorded: RecordedCalls = _NOTHING,
    maximum: int = MAXIMUM,
) -> AttackReport:
    """Respell the calls of a policy and decide each spelling.

    Args:
        analysis: The policy's analysis, which gives the witnesses and the world that calls are decided in.
        scenarios: Calls to respell.
        opa: The engine.
        recorded: Recorded calls to respell.
        maximum: The most respelled calls that are decided.

    Raises:
        BundleRelationError: If the world is not the one that the bundle was verified in.
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined.
    """
    gathered = gather(scenarios, analysis, recorded)
    scenes = Scenes(analysis.bundle, analysis.policies.world)
    decider = _Decider(analysis.bundle, scenes, opa)
    decided = decider.decide_bases(gathered.bases)
    trials = Trials(scenes, analysis.content, analysis.policies.registry, decided)
    tried, left_out = _chosen(trials, maximum)
    breaks = _smallest(decider.breaks(decided, tried))
    refused = sum(not base.is_call for base in decided)
    more = {**gathered.left_out, "calls that are refused before it is known what they stand for": refused}
    return AttackReport(
        revision=analysis.bundle.revision,
        outcome="found" if breaks else "not found",
        bases=_origins(base.call for base in decided),
        tried=dict(sorted(Counter(trial.kind.split(",")[0] for trial in tried).items())),
        maximum=maximum,
        left_out=tuple(LeftOut(what=what, count=n) for what, n in sorted({**more, **left_out}.items()) if n),
        breaks=tuple(breaks),
    )


def with_live(report: AttackReport, live: Live) -> AttackReport:
    """Return a report with what real servers did."""
    outcome = "found" if report.breaks or live.strays else "not found"
    return report.model_copy(update={"live": live, "outcome": outcome})


def _chosen(trials: Trials, maximum: int) -> tuple[list[Trial], dict[str, int]]:
    seen: set[str] = set()

    def is_new(trial: Trial) -> bool:
        calls: list[JsonValue] = [list(call) for call in trial.calls]
        key = _key([trial.base, trial.scene.value, calls])
        known = key in seen
        seen.add(key)
        return not known

    tried: list[Trial] = []
    left_out: dict[str, int] = {}
    for what, sources in trials.stages():
        taken, more = in_turn(sources, is_new, maximum - len(tried))
        tried += taken
        left_out[what] = left_out.get(what, 0) + more
    return tried, left_out


def _origins(bases: Iterable[BaseCall]) -> dict[str, int]:
    return dict(sorted(Counter(base.origin.partition(" ")[0] for base in bases).items()))


@dataclass
class _Decider:
    """Decides calls in the worlds; equal policy inputs are evaluated once."""

    bundle: Bundle
    scenes: Scenes
    opa: OpaCommand
    known: dict[str, Decision] = field(default_factory=dict)

    def decide_bases(self, bases: Sequence[BaseCall]) -> list[DecidedBase]:
        """Decide the base calls in the described world."""
        decisions = self._decide([(Scene.DESCRIBED, _own_call(base)) for base in bases])
        return [
            DecidedBase(number, base, decision)
            for number, (base, decision) in enumerate(zip(bases, decisions, strict=True))
        ]

    def breaks(self, decided: Sequence[DecidedBase], trials: Sequence[Trial]) -> Iterator[Break]:
        """Decide trials, and yield those that get further than what they stand for."""
        worlds = list(dict.fromkeys((trial.scene, trial.base) for trial in trials))
        base_calls = [(scene, _own_call(decided[number].call)) for scene, number in worlds]
        by_world = dict(zip(worlds, self._decide(base_calls), strict=True))
        asked = [
            (trial.scene, _call(*call, decided[trial.base].call)) for trial in trials for call in trial.calls
        ]
        answers = iter(self._decide(asked))
        for trial in trials:
            stands_for = by_world[trial.scene, trial.base]
            got = [next(answers) for _ in trial.calls]
            if _is_looser(trial, stands_for, got):
                yield _break(trial, decided[trial.base].call, stands_for, got)

    def _decide(self, calls: Sequence[tuple[Scene, Call]]) -> list[Decision]:
        prepared = [self._prepared(scene, call) for scene, call in calls]
        open_ = {key: ready for key, ready in prepared if key not in self.known}
        policy = self.scenes.policy(Scene.DESCRIBED)
        self.known |= decide_prepared(open_, self.bundle, policy, self.opa) if open_ else {}
        return [self.known[key] for key, _ in prepared]

    def _prepared(self, scene: Scene, call: Call) -> tuple[str, Prepared | Decision]:
        ready = prepare(call, self.scenes.policy(scene))
        if isinstance(ready, Decision):
            return ready.model_dump_json(), ready
        return _key([as_json(ready.input), ready.minimum.escalated, sorted(ready.minimum.discharged)]), ready


def _key(value: JsonSource) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _own_call(base: BaseCall) -> Call:
    return _call(base.step.server, base.step.tool, base.step.arguments, base)


def _call(server: str, tool: str, arguments: JsonValue, base: BaseCall) -> Call:
    return Call(server, tool, arguments, dict(base.caller))


def _is_looser(trial: Trial, stands_for: Decision, got: Sequence[Decision]) -> bool:
    if trial.neighbour and stands_for.rule == ReservedRule.DEFAULT_DENY:
        return False  # no rule decides the call, so none was evaded
    return max(decision.verdict.severity for decision in got) < stands_for.verdict.severity


def _break(trial: Trial, base: BaseCall, stands_for: Decision, got: Sequence[Decision]) -> Break:
    calls = zip(trial.calls, got, strict=True)
    return Break(
        kind="reached" if trial.reached else "looser",
        respelling=trial.kind,
        taken_by=trial.taken_by,
        origin=base.origin,
        world=trial.scene.value,
        base=_told(base.step.server, base.step.tool, base.step.arguments, base.caller, stands_for),
        calls=tuple(_told(*call, base.caller, decision) for call, decision in calls),
    )


def _told(
    server: str, tool: str, arguments: JsonValue, caller: Mapping[str, JsonValue], decision: Decision
) -> AttackCall:
    return AttackCall(
        server=server,
        tool=tool,
        arguments=arguments,
        caller=dict(caller),
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
    )


# -- breaks that say the same -----------------------------------------------------------------------


def _smallest(breaks: Iterable[Break]) -> list[Break]:
    """Return the smallest break of each kind with how many there were, the smallest first.

    Breaks are of one kind if the calls were respelled alike and the same rules decide the same tools.
    A break by two respellings is left out where one respelling breaks the same.
    """
    kinds: dict[tuple[Hashable, ...], list[Break]] = {}
    for a_break in breaks:
        kinds.setdefault((_subject(a_break), a_break.respelling, a_break.world), []).append(a_break)
    simple = {key[0] for key in kinds if _THEN not in str(key[1])}
    smallest = [
        min(alike, key=_size).model_copy(update={"count": len(alike)})
        for key, alike in kinds.items()
        if _THEN not in str(key[1]) or key[0] not in simple
    ]
    return sorted(smallest, key=_size)


def _subject(a_break: Break) -> tuple[Hashable, ...]:
    base, calls = a_break.base, tuple((call.server, call.tool, call.rule) for call in a_break.calls)
    return (base.server, base.tool, base.rule, a_break.kind, calls)


def _size(a_break: Break) -> tuple[int, int, bytes]:
    text = json_text.canonical(a_break.model_dump(mode="json"))
    shown = [a_break.base.arguments, *(call.arguments for call in a_break.calls)]
    return len(a_break.calls), len(json_text.canonical(shown)), text
