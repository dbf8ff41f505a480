"""All mutants of a policy in one bundle, told apart by a caller fact, so that OPA tries them in one run.

Each rule that some mutant changes holds for all callers but those mutants, and each changed rule for its
own mutant only. Both are ordinary conditions of ordinary rules: what is tried is rendered and evaluated
like any policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described, prepare_scenarios
from ironcurtain.analysis.mutation.operators import Mutant
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Prepared
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import VerificationError
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.conditions import ArgCondition
from ironcurtain.model.decision import Decision
from ironcurtain.model.policy import Rule
from ironcurtain.model.scenarios import DescribedWorld, Scenario
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import visible

_FACT = "ironcurtain-mutant"
_WHICH = CallerFact.model_validate(
    {"type": "string", "meaning": "Which mutant decides.", "example": "none", "from": "the mutation run"}
)
_NONE = "none"
_MARK = "--"
_LONGEST = 100


def schemata(source: PolicySource, mutants: Sequence[Mutant]) -> Bundle:
    """Return the bundle that holds a policy and all its mutants."""
    rules: list[Rule] = []
    for position, rule in enumerate(source.policy.rules):
        gone = [m.id for m in mutants if position in m.replaced]
        rules.append(_for_others(rule, gone) if gone else rule)
        rules += [_for_one(new, m.id) for m in mutants if (new := m.replaced.get(position)) is not None]
        rules += [_for_one(new, m.id) for m in mutants if (new := m.inserted.get(position)) is not None]
    lists = {name: named for m in mutants for name, named in m.lists.items()}
    return source.asking(_FACT, _WHICH).bundle_of(rules, lists)


def _for_others(rule: Rule, mutants: list[str]) -> Rule:
    test = ArgCondition(name=f"/{_FACT}", op="not_in", value=list[JsonValue](mutants))
    return _with_test(rule, rule.name, test)


def _for_one(rule: Rule, mutant: str) -> Rule:
    test = ArgCondition(name=f"/{_FACT}", op="equals", value=mutant)
    return _with_test(rule, f"{rule.name[:_LONGEST]}{_MARK}{mutant}", test)


def _with_test(rule: Rule, name: str, test: ArgCondition) -> Rule:
    condition = rule.if_.model_copy(update={"caller": (*(rule.if_.caller or ()), test)})
    return rule.model_copy(update={"name": name, "if_": condition})


def killers(
    source: PolicySource,
    mutants: Sequence[Mutant],
    scenarios: Sequence[Scenario],
    world: DescribedWorld,
    opa: OpaCommand,
) -> dict[str, str]:
    """Return, by mutant, the first scenario that fails under it; mutants that none notices are missing.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a scenario fails without any mutant, or OPA gives no answer.
    """
    bundle = schemata(source, mutants)
    policy = load_described(bundle, world)
    prepared = prepare_scenarios(scenarios, policy)
    asked: dict[str, Prepared | Decision] = {}
    for scenario in scenarios:
        ready = prepared[scenario.id]
        if not isinstance(ready, Prepared):
            continue  # no rule can change what the structural checks deny
        asked[_id(scenario, _NONE)] = _as(ready, _NONE)
        asked |= {_id(scenario, m.id): _as(ready, m.id) for m in mutants if _concerns(m, source, scenario)}
    decisions = decide_prepared(asked, bundle, policy, opa)
    _hold_without_mutants(scenarios, decisions)
    killed_by: dict[str, str] = {}
    for scenario in scenarios:
        for mutant in mutants:
            decided = decisions.get(_id(scenario, mutant.id))
            if decided is not None and not _passes(scenario, decided):
                killed_by.setdefault(mutant.id, scenario.id)
    return killed_by


def _hold_without_mutants(scenarios: Iterable[Scenario], decisions: Mapping[str, Decision]) -> None:
    for scenario in scenarios:
        decided = decisions.get(_id(scenario, _NONE))
        if decided is not None and not _passes(scenario, decided):
            raise VerificationError(
                f"the scenario {visible(scenario.id)} expects {scenario.expect}, but the policy says "
                f"{decided.verdict} by {visible(decided.rule)}",
                hint="Let `ironcurtain verify` pass first.",
            )


def _passes(scenario: Scenario, decided: Decision) -> bool:
    rule = decided.rule.partition(_MARK)[0]
    named = scenario.rule is not None and rule == scenario.rule[:_LONGEST]
    said = scenario.rule if named and scenario.rule is not None else decided.rule
    return scenario.is_met(decided.verdict, said, decided.approvers)


def _as(prepared: Prepared, mutant: str) -> Prepared:
    question = prepared.input.copy()
    question["caller"] = {**question["caller"], _FACT: mutant}
    return replace(prepared, input=question)


def _id(scenario: Scenario, mutant: str) -> str:
    return f"{mutant}/{scenario.id}"


def _concerns(mutant: Mutant, source: PolicySource, scenario: Scenario) -> bool:
    """Tell whether some rule that a mutant changes can decide about a scenario's tool."""
    call = scenario.call
    rules = [source.policy.rules[position] for position in (*mutant.replaced, *mutant.inserted)]
    return any(rule.if_.is_about(call.server, call.tool) for rule in rules)


def tools_of(mutant: Mutant, source: PolicySource) -> frozenset[tuple[str, str]]:
    """Return the tools whose calls a mutant can decide otherwise."""
    rules = [source.policy.rules[position] for position in (*mutant.replaced, *mutant.inserted)]
    return frozenset(
        place for place in source.content.tools if any(rule.if_.is_about(*place) for rule in rules)
    )
