"""Stage repair: verify, let the judge attribute what fails, correct scenarios or rules, verify again.

Corrections go to the scenarios of a model first, then named-rule patches to the rules; what people wrote
is never changed. The engine alone says what passes. After three rounds, or when a state comes back that
was there before, what is still open becomes questions to a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, get_args

from pydantic import ValidationError

from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.lists.lists import used_lists
from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.questions.caller_part import caller_part
from ironcurtain.compiler.questions.open_questions import OpenQuestion, ask_about
from ironcurtain.compiler.questions.schema_parts import (
    STRING,
    Schema,
    array_of,
    closed_object,
    one_of,
    read_answer,
    with_definitions,
)
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.compiler.rules.answer_schema import rule_definitions, rule_schema
from ironcurtain.compiler.rules.clause_routes import clause_data
from ironcurtain.compiler.rules.compile_rules import model_mistakes, rule_prefix, unconfirmed_rules
from ironcurtain.compiler.rules.offered_facts import declared_facts
from ironcurtain.compiler.rules.patches import AnsweredPatches, Op, Patch, apply_patches
from ironcurtain.compiler.rules.rule_context import RuleContext
from ironcurtain.compiler.scenarios.intent import tool_data
from ironcurtain.compiler.verify.judge import Judge, JudgedPolicy, Judgement, failure_data, rules_data
from ironcurtain.compiler.verify.report import Mismatch, Verification
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import AnswerMissingError, IronCurtainError, SeveralErrors
from ironcurtain.model.decision import Decision
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.model.scenarios import Scenario, ScenarioCall, Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

MAX_REPAIRS = 3


class RepairDraft(Struct):
    """What a repair may change: the rules, and the scenarios that a model wrote."""

    policy: CompiledPolicy
    intent: tuple[Scenario, ...]


class TriedDraft(Struct):
    """A draft as the engine saw it.

    Attributes:
        decide: Returns what the bundle decides of all scenarios, which the verification is about.
    """

    bundle: Bundle
    verification: Verification
    decide: Callable[[], DecidedScenarios]


class RepairBackend(Protocol):
    """Where drafts are tried."""

    @property
    def fixed(self) -> Scenarios:
        """The scenarios that people wrote."""
        ...

    def run(self, draft: RepairDraft) -> TriedDraft:
        """Build a draft's bundle and verify it."""
        ...

    def attempt(self, bundle: Bundle, calls: Sequence[ScenarioCall]) -> list[Decision]:
        """Decide calls on a bundle, in their order."""
        ...


class RepairResult(Struct):
    """The draft after all repairs.

    Attributes:
        questions: What no model could decide, for a person.
        notes: What was corrected, one line each.
        rounds: How often something was corrected.
    """

    draft: RepairDraft
    tried: TriedDraft
    questions: tuple[OpenQuestion, ...]
    notes: tuple[str, ...]
    rounds: int


_Failure: TypeAlias = tuple[Scenario, Mismatch]


class _Blamed(Struct):
    """A failure that the rules are to blame for."""

    scenario: Scenario
    mismatch: Mismatch
    judgement: Judgement

    @property
    def data(self) -> dict[str, JsonSource]:
        shown = failure_data(self.scenario, self.mismatch)
        return {**shown, "demanded": self.judgement.expect, "judge": self.judgement.why}


_DONE = {"update": "changed", "add": "added", "prepend": "added at the beginning", "delete": "deleted"}


class _State(Struct):
    """A draft that was tried, and how many notes led to it."""

    draft: RepairDraft
    tried: TriedDraft
    notes: int

    @property
    def badness(self) -> tuple[bool, int, int]:
        """What fails, the worst first: the bundle itself, scenarios of people, all scenarios."""
        verification = self.tried.verification
        of_people = sum(mismatch.origin != "intent" for mismatch in verification.mismatches)
        is_broken = not verification.ok and not verification.mismatches
        return is_broken, of_people, len(verification.mismatches)


@dataclass
class _Progress:
    """What the rounds have found so far.

    Attributes:
        notes: What was corrected, in this order.
        remarks: What else is to be told.
        undecided: By scenario, why it is.
    """

    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    undecided: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    rounds: int = 0


def repair(
    draft: RepairDraft, backend: RepairBackend, context: RuleContext, cache: AnswerCache
) -> RepairResult:
    """Verify a draft and repair it as far as models can.

    Args:
        draft: The rules and scenarios to begin with; they are not changed.
        backend: Where drafts are tried.
        context: What rules are judged against.
        cache: Where the judge's and the repairer's answers come from. Where it asks nobody and keeps no
            answer, what fails stays as it is.

    Raises:
        ModelFailedError, OpenQuestionError, BadAnswerError: From the answers.
        EngineFailedError, VerificationError: If the engine gives no answer.
    """
    context = replace(context, facts=draft.policy.facts)
    progress = _Progress(seen={_state(draft)})
    judge = Judge(cache)
    tried = backend.run(draft)
    history = [_State(draft, tried, 0)]
    while progress.rounds < MAX_REPAIRS:
        failed = [pair for pair in _failed(draft, tried, backend) if pair[0].id not in progress.undecided]
        if not failed:
            break
        try:
            changed = _round(draft, tried, failed, backend, context, judge, progress)
        except (AnswerMissingError, SeveralErrors) as error:
            if not _nobody_asked(error):
                raise
            break
        if changed is None:
            break
        if changed != draft:
            draft, tried = changed, backend.run(changed)
            history.append(_State(draft, tried, len(progress.notes)))
    # What did not help is not kept: of all states the one that fails least, the earliest of equals.
    best = min(history, key=lambda state: state.badness)
    questions = _questions(_failed(best.draft, best.tried, backend), progress.undecided)
    notes = [*progress.notes[: best.notes], *progress.remarks]
    return RepairResult(best.draft, best.tried, questions, tuple(notes), progress.rounds)


def _nobody_asked(error: IronCurtainError) -> bool:
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    return all(isinstance(each, AnswerMissingError) for each in errors)


def _round(
    draft: RepairDraft,
    tried: TriedDraft,
    failed: Sequence[_Failure],
    backend: RepairBackend,
    context: RuleContext,
    judge: Judge,
    progress: _Progress,
) -> RepairDraft | None:
    """Do one round; return the draft to go on with, or None if there is nothing more to do."""
    case = JudgedPolicy(context.clauses, context.annotations, draft.policy, tuple(failed))
    evaluated = {each.scenario: each for each in judge.judge(case, partial(backend.attempt, tried.bundle))}
    undecided = {name: each.why for name, each in evaluated.items() if each.blame == "undecided"}
    changed, notes = _correct_scenarios(draft, evaluated)
    blamed = [
        _Blamed(scenario, mismatch, evaluated[scenario.id])
        for scenario, mismatch in failed
        if scenario.id in evaluated and evaluated[scenario.id].blame in ("rule", "both")
    ]
    if blamed:
        policy, said = _patch_rules(changed.policy, blamed, context, judge.cache, progress.rounds + 1)
        changed, notes = replace(changed, policy=policy), [*notes, *said]
    progress.undecided.update(undecided)
    if changed == draft:
        return draft if undecided else None
    if _state(changed) in progress.seen:
        progress.remarks.append("the corrections go in circles; what they could not settle is asked")
        return None
    progress.seen.add(_state(changed))
    progress.notes += notes
    progress.rounds += 1
    return changed


def _failed(draft: RepairDraft, tried: TriedDraft, backend: RepairBackend) -> list[_Failure]:
    fixed = single_calls(backend.fixed, tried.bundle).scenarios
    scenarios = {scenario.id: scenario for scenario in (*fixed, *draft.intent)}
    # Which clause a person named no model corrects: there the verdict is as demanded.
    wrong = [m for m in tried.verification.mismatches if m.wrong_clause is None]
    return [(scenarios[mismatch.scenario], mismatch) for mismatch in wrong if mismatch.scenario in scenarios]


def _state(draft: RepairDraft) -> str:
    """Return what tells two drafts apart: the rules and what the scenarios expect."""
    expected = {scenario.id: scenario.expect for scenario in draft.intent}
    return json_text.digest([rules_data(draft.policy), expected])


def _correct_scenarios(draft: RepairDraft, evaluated: dict[str, Judgement]) -> tuple[RepairDraft, list[str]]:
    """Give scenarios of a model the verdict that the judge reads in the clauses."""
    corrected, notes = [], []
    for scenario in draft.intent:
        judgement = evaluated.get(scenario.id)
        if judgement and judgement.blame in ("scenario", "both"):
            verdicts = f"from {scenario.expect} to {judgement.expect}"
            notes.append(f"scenario {scenario.id} was corrected {verdicts}: {judgement.why}")
            corrected.append(scenario.model_copy(update={"expect": judgement.expect}))
        else:
            corrected.append(scenario)
    return replace(draft, intent=tuple(corrected)), notes


def _patch_rules(
    policy: CompiledPolicy, blamed: Sequence[_Blamed], context: RuleContext, cache: AnswerCache, number: int
) -> tuple[CompiledPolicy, list[str]]:
    """Ask for patches of the rules of each server that is to blame, and apply them."""
    servers = sorted({each.scenario.call.server for each in blamed} & context.annotations.servers.keys())
    answers = cache.ask(
        [
            _question(
                server, policy, [b for b in blamed if b.scenario.call.server == server], context, number
            )
            for server in servers
        ]
    )
    notes = []
    for server, answer in zip(servers, answers, strict=True):
        patches = _read(server, answer.content)
        policy = _patched(server, policy, patches)
        notes += [f"rule {patch.name} was {_DONE[patch.op]} to repair what failed" for patch in patches]
    return policy, notes


def _question(
    server: str, policy: CompiledPolicy, blamed: Sequence[_Blamed], context: RuleContext, number: int
) -> Question:
    annotated = context.annotations.servers[server]
    own = policy.model_copy(update={"rules": tuple(_of_server(server, policy))})
    prompt = fill(
        "repair.user",
        server=server,
        prefix=rule_prefix(server),
        clauses=as_data(clause_data(context.clauses)),
        rules=as_data(rules_data(own)),
        tools=as_data([tool_data(server, tool) for tool in annotated.tools]),
        table=as_data([each.data for each in blamed]),
    )
    if context.facts:
        prompt += "\n\n" + fill("repair.facts", facts=as_data(declared_facts(context.facts)))
    prompt += caller_part(context.caller)
    return Question(
        stage="repair",
        key=f"repair-{server}-{number}",
        system=fill("repair.system", conditions=fill("conditions")),
        prompt=prompt,
        schema=_schema(server, context),
        check=lambda content: _mistakes(server, content, policy, context),
    )


def _schema(server: str, context: RuleContext) -> Schema:
    registry = Registry(context.annotations.roles)
    annotated = context.annotations.servers[server]
    with_facts = bool(context.facts)
    patch = closed_object(
        {"op": one_of(get_args(Op)), "name": STRING},
        {
            "after": STRING,
            "rule": rule_schema(annotated, registry, context.approvers, with_facts=with_facts),
        },
    )
    patches = closed_object({"patches": array_of(patch)})
    return with_definitions(patches, rule_definitions(annotated, context.clauses, with_facts=with_facts))


def _read(server: str, content: JsonValue) -> list[Patch]:
    return [patch.read(server) for patch in read_answer(AnsweredPatches, content).patches]


def _patched(server: str, policy: CompiledPolicy, patches: Sequence[Patch]) -> CompiledPolicy:
    """Apply patches to one server's rules; the servers stay in alphabetical order."""
    rules = {server: apply_patches(_of_server(server, policy), patches)}
    for rule in policy.rules:
        owner = _owner(rule)
        if owner != server:
            rules[owner] = (*rules.get(owner, ()), rule)
    merged = [rule for _, owned in sorted(rules.items()) for rule in owned]
    return policy.model_copy(update={"rules": tuple(merged)})


def _of_server(server: str, policy: CompiledPolicy) -> list[Rule]:
    return [rule for rule in policy.rules if _owner(rule) == server]


def _owner(rule: Rule) -> str:
    """Return the one server that a compiled rule is confined to."""
    return rule.if_.server[0] if rule.if_.server else ""


def _mistakes(server: str, content: JsonValue, policy: CompiledPolicy, context: RuleContext) -> list[str]:
    """Return what is wrong with patches that fit their schema: each, and the rules that they make."""
    try:
        patches = _read(server, content)
        changed = _patched(server, policy, patches)
    except ValidationError as error:
        return [visible(f"{'/'.join(map(str, e['loc']))}: {e['msg']}") for e in error.errors()]
    except SeveralErrors as error:
        return [each.what for each in error.errors]
    except IronCurtainError as error:
        return [f"{error.what} ({error.hint})" if error.hint else error.what]
    prefix = rule_prefix(server)
    wrong = [p.name for p in patches if p.op in ("add", "prepend") and not p.name.startswith(prefix)]
    if wrong:
        return [f"rule {visible(name)}: its name does not begin with {prefix}" for name in wrong]
    lists = used_lists(changed).keys() - context.lists.lists.keys() - used_lists(policy).keys()
    if lists:
        return [f"there is no list {quoted('@' + name)}" for name in sorted(lists)]
    written = [patch.rule for patch in patches if patch.rule is not None]
    return [
        *model_mistakes(_of_server(server, changed), context),
        # Nobody has confirmed what was written just now, so a repair opens nothing without a limit.
        *(error.what for error in unconfirmed_rules(written, {}, context)),
    ]


def _questions(failed: Iterable[_Failure], undecided: dict[str, str]) -> tuple[OpenQuestion, ...]:
    """Return a question for each scenario of a model that still fails."""
    return tuple(
        ask_about(
            scenario.call,
            (scenario.expect, mismatch.got),
            clause=scenario.clause,
            why=undecided.get(scenario.id)
            or f"a model expects {scenario.expect}, the rules say {mismatch.got}",
        )
        for scenario, mismatch in failed
        if scenario.origin == "intent" and scenario.expect is not mismatch.got
    )
