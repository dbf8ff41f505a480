"""Stage judge: where the mistake lies when a scenario does not come true, in a model's opinion.

The judge sees the table, the clauses and the rules, may have further calls tried, and attributes each
discrepancy to the rules, the scenario or both. It changes nothing, and passes nothing: whatever follows
from its words is checked, and the engine decides every scenario again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.questions.caller_part import caller_part
from ironcurtain.compiler.questions.schema_parts import (
    STRING,
    Schema,
    array_of,
    closed_object,
    one_of,
    read_answer,
)
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.compiler.rules.clause_routes import clause_data
from ironcurtain.compiler.scenarios.intent import AnsweredCall, call_schema
from ironcurtain.compiler.verify.report import Mismatch
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.decision import Decision
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenario, ScenarioCall
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

MAX_PROBE_ROUNDS = 3
MAX_PROBES = 10
MAX_JUDGED = 60
"""Failures in one question; what lies beyond waits for the next round."""

Blame: TypeAlias = Literal["rule", "scenario", "both", "undecided"]
DecideCalls = Callable[[Sequence[ScenarioCall]], list[Decision]]
"""Decides calls by one policy, in their order."""


class Judgement(Frozen):
    """What the judge says about one scenario.

    Attributes:
        expect: The verdict that the scenario should have.
    """

    scenario: str
    blame: Blame
    expect: Verdict
    why: str


class _JudgeAnswer(Frozen):
    """The content of an answer: judgements, or calls to be tried before there are any."""

    judgements: tuple[Judgement, ...]
    probes: tuple[AnsweredCall, ...]


class JudgedPolicy(Struct):
    """What the judge is shown: the policy, and where it differs from which scenarios."""

    clauses: tuple[PlacedClause, ...]
    annotations: Annotations
    policy: CompiledPolicy
    failed: tuple[tuple[Scenario, Mismatch], ...]


class Judge:
    """Asks a model; one judge serves a whole compile, since its probes are counted over all rounds."""

    def __init__(self, cache: AnswerCache) -> None:
        self.cache = cache
        self._asked = 0
        self._probe_rounds = 0

    def judge(self, case: JudgedPolicy, attempt: DecideCalls) -> tuple[Judgement, ...]:
        """Return a judgement of each failed scenario that fits into one question.

        `attempt` tries the calls that the judge asks for.

        Raises:
            ModelFailedError, AnswerMissingError: From the answers.
        """
        failed = case.failed[:MAX_JUDGED]
        probes: list[JsonSource] = []
        while True:
            may_probe = self._probe_rounds < MAX_PROBE_ROUNDS
            self._asked += 1
            question = _question(f"judge-{self._asked}", case, failed, probes, may_probe=may_probe)
            answer = read_answer(_JudgeAnswer, self.cache.ask([question])[0].content)
            calls = _calls(answer.probes) if may_probe else []
            if not calls:
                return tuple(
                    judgement.model_copy(update={"why": visible(judgement.why)})
                    for judgement in answer.judgements
                )
            self._probe_rounds += 1
            probes += [_outcome(call, found) for call, found in zip(calls, attempt(calls), strict=True)]


def _question(
    key: str,
    case: JudgedPolicy,
    failed: Sequence[tuple[Scenario, Mismatch]],
    probes: Sequence[JsonSource],
    *,
    may_probe: bool,
) -> Question:
    servers = sorted(name for name, annotated in case.annotations.servers.items() if annotated.tools)
    return Question(
        stage="judge",
        key=key,
        system=fill("judge.system"),
        prompt=fill(
            "judge.user",
            count=str(len(failed)),
            clauses=as_data(clause_data(case.clauses)),
            rules=as_data(rules_data(case.policy)),
            table=as_data([failure_data(scenario, mismatch) for scenario, mismatch in failed]),
            probes=as_data(probes),
            last="" if may_probe else "No more calls can be tried: leave `probes` empty.",
        )
        + caller_part(case.policy.caller),
        schema=_schema(servers, [scenario.id for scenario, _ in failed], case.annotations),
        check=lambda content: _mistakes(content, failed, may_probe=may_probe),
    )


def rules_data(policy: CompiledPolicy) -> list[JsonValue]:
    """Return rules as prompts show them, in their order."""
    return [rule.model_dump(mode="json", by_alias=True, exclude_defaults=True) for rule in policy.rules]


def failure_data(scenario: Scenario, mismatch: Mismatch) -> dict[str, JsonSource]:
    """Return a failed scenario as prompts show it."""
    return {
        "scenario": scenario.id,
        "origin": scenario.origin,
        "clause": scenario.clause,
        "why": scenario.why,
        "call": scenario.call.model_dump(mode="json", exclude_none=True),
        "expected": scenario.expect,
        "expected_rule": scenario.rule,
        "got": mismatch.got,
        "by": mismatch.rule,
        "reason": mismatch.reason,
    }


def _outcome(call: ScenarioCall, decision: Decision) -> dict[str, JsonSource]:
    return {
        "call": call.model_dump(mode="json", exclude_none=True),
        "got": decision.verdict,
        "by": decision.rule,
        "reason": decision.reason,
    }


def _schema(servers: Sequence[str], ids: Sequence[str], annotations: Annotations) -> Schema:
    judgement = {
        "scenario": one_of(ids),
        "blame": one_of(get_args(Blame)),
        "expect": one_of(verdict.value for verdict in Verdict),
        "why": STRING,
    }
    members = {
        "judgements": array_of(closed_object(judgement)),
        "probes": array_of(closed_object(call_schema(servers, annotations))),
    }
    return closed_object(members)


def _mistakes(
    content: JsonValue, failed: Sequence[tuple[Scenario, Mismatch]], *, may_probe: bool
) -> list[str]:
    answer = read_answer(_JudgeAnswer, content)
    if answer.probes and may_probe:
        return []  # it asks before it judges
    counts = Counter(judgement.scenario for judgement in answer.judgements)
    scenarios = {scenario.id: (scenario, mismatch.got) for scenario, mismatch in failed}
    mistakes = [f"scenario {quoted(name)} is not judged" for name in scenarios if not counts[name]]
    mistakes += [f"scenario {quoted(name)} is judged {n} times" for name, n in counts.items() if n > 1]
    for judgement in answer.judgements:
        mistakes += _judgement_mistakes(judgement, *scenarios[judgement.scenario])
    return mistakes


def _judgement_mistakes(judgement: Judgement, scenario: Scenario, got: Verdict) -> list[str]:
    blame = judgement.blame
    if blame in ("scenario", "both") and scenario.origin in ("handwritten", "answer"):
        return [f"scenario {quoted(scenario.id)} is the author's own word: say rule or undecided"]
    third = next((v for v in Verdict if v not in (scenario.expect, got)), scenario.expect)
    wanted = {"scenario": got, "both": third}.get(blame, scenario.expect)
    if judgement.expect != wanted:
        return [f"scenario {quoted(scenario.id)}: with blame {blame}, `expect` must be {wanted}"]
    return []


def _calls(probes: Sequence[AnsweredCall]) -> list[ScenarioCall]:
    calls = [probe.read() for probe in probes[:MAX_PROBES]]
    return [call for call in calls if isinstance(call, ScenarioCall)]
