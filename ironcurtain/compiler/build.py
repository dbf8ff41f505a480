"""The compile, in one straight line: constitution and tools in, a verified and published policy out.

    load -> annotate -> compile rules -> resolve lists -> scenarios -> verify and repair -> record -> publish

What holds of `build(sources, options, opa, progress)`:

1. Nothing is published that did not verify, or with a question open; no earlier stage writes output.
2. The same inputs and kept answers give the same bytes; a model is asked only what no kept answer tells.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.annotate.annotate import Annotated, annotate
from ironcurtain.compiler.annotate.changes import published_annotations, with_named_tools
from ironcurtain.compiler.annotate.known import shipped_collection
from ironcurtain.compiler.lists.lists import resolve_lists
from ironcurtain.compiler.lists.resolve import ListContext
from ironcurtain.compiler.load.clause_record import (
    forget_noted,
    id_changes,
    note_clauses,
    published_policy,
    with_former,
)
from ironcurtain.compiler.load.ground_truth import GroundTruth
from ironcurtain.compiler.load.linter import remaining
from ironcurtain.compiler.load.listed_tools import listed_tools
from ironcurtain.compiler.load.load import Inputs, load_inputs
from ironcurtain.compiler.load.sources import ANSWERS_FILE, Sources, shown_path
from ironcurtain.compiler.options import Options
from ironcurtain.compiler.progress import Progress, Stages
from ironcurtain.compiler.publish.publish import Documents, archives, files, only_one, origin, publish
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.questions.open_questions import (
    OPEN_FILE,
    Known,
    question_lines,
    read_answers,
    with_answers,
    write_open,
)
from ironcurtain.compiler.render.assemble import Release
from ironcurtain.compiler.render.custom_modules import CustomModule, check_modules, read_modules
from ironcurtain.compiler.rules.compile_rules import compile_rules
from ironcurtain.compiler.rules.look_ups import look_up_tools
from ironcurtain.compiler.rules.rule_context import RuleContext
from ironcurtain.compiler.scenarios.generated import GenerationContext, generate_calls
from ironcurtain.compiler.scenarios.intent import Intent, IntentContext, ask_intent
from ironcurtain.compiler.verify.baseline import record_policy
from ironcurtain.compiler.verify.expected import Expected, expecting
from ironcurtain.compiler.verify.gate_judgement import apply_gate
from ironcurtain.compiler.verify.policy_builder import PolicyBuilder, without_rules
from ironcurtain.compiler.verify.repair import RepairDraft, RepairResult, repair
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.compiler.verify.stability import Compared, compare
from ironcurtain.compiler.verify.verify import report_lines
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.reserved_tools import listed_lines
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.sandbox.reach.agreement import disagreements
from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.errors import OpenQuestionError, VerificationError
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.servers.declared import declared_annotations
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.tool_lists.listing import is_started
from ironcurtain.servers.tool_lists.published import forget_lists
from ironcurtain.servers.tools import Tools
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted

STAGES = 8


class Built(Struct):
    """What was published.

    Attributes:
        findings: What a person should know about the policy, one line each.
    """

    bundle: Bundle
    verification: Verification
    findings: tuple[str, ...]


def build(sources: Sources, options: Options, opa: Opa, progress: Progress) -> Built:
    """Compile a constitution into a verified bundle and publish the whole result.

    Raises:
        IronCurtainError: Of the class that says what failed; the output is then as it was before.
        VerificationError: If the bundle does not do what people demand; progress shows the table.
        OpenQuestionError: If a person has to decide something first; progress shows the questions.
    """
    stages = Stages(progress, STAGES)
    launcher = contained_launcher(partial(_note, progress))
    cache = AnswerCache(sources.answers, sources.pending, options.provider, refresh=options.refresh)
    with only_one(sources.output):
        with stages.stage("load") as summary:
            inputs = _inputs(sources, options)
            truth = _ground_truth(inputs, sources)
            summary += [counted(len(inputs.clauses), "clause"), counted(truth.count, "scenario")]
        with _expecting(inputs, sources, options, opa) as expected:
            with stages.stage("annotate") as summary:
                annotating = _annotating(inputs, options, sources.output, cache)  # servers list meanwhile
                tools = listed_tools(inputs, options, launcher, sources, partial(_note, progress))
                annotated = annotating(tools)
                annotations = with_named_tools(annotated.annotations, inputs.clauses)
                structure = _structure(annotations, truth, options.release(opa))
                summary.append(_listed(tools))
            with stages.stage("compile rules") as summary:
                context = _rule_context(inputs, tools, annotations, options, sources.output)
                compiled = compile_rules(context, cache)
                summary.append(counted(len(compiled.policy.rules), "rule"))
            with stages.stage("resolve lists") as summary:
                sources_of_lists = _list_context(inputs, tools, launcher, annotations, options)
                may_ask = options.provider is not None and not options.offline
                resolved = resolve_lists(inputs.lists, compiled.policy, sources_of_lists, cache, ask=may_ask)
                summary.append(counted(len(resolved.lists.lists), "list"))
            with stages.stage("scenarios") as summary:
                custom, release = _custom_modules(sources, opa, annotations), options.release(opa)
                builder = PolicyBuilder(
                    annotations, resolved.lists, truth.document, custom, release, opa, expected
                )
                intent = _intent(inputs, builder, structure, cache, options)
                summary.append(f"{truth.count} of people, {len(intent.scenarios)} of a model")
            with stages.stage("verify and repair") as summary:
                adviser = cache if options.repair else cache.kept_only()
                settled = repair(RepairDraft(compiled.policy, intent.scenarios), builder, context, adviser)
                told = (f"{check.name} {check.count}" for check in settled.tried.verification.checks)
                summary.extend((*told, counted(settled.rounds, "correction")))
            with stages.stage("compare and record") as summary:
                _require_demanded(settled, truth, progress, cache)
                compared = _compare(settled.draft.policy, options, context, builder, cache)
                _require_no_questions(settled, compared, sources, _known(inputs, options), progress)
                recorded = record_policy(settled, builder, inputs.guarantees)
                verification = apply_gate(recorded, options.gate, progress, inputs.unread)
                policy = with_former(settled.draft.policy, inputs.published)
                documents = Documents(
                    builder.listed(policy), policy, resolved.lists, recorded, verification, tools
                )
                bundle = settled.tried.bundle.with_provenance(
                    origin(options.sources, inputs, cache, documents)
                )
                summary += [
                    counted(options.runs, "run"),
                    f"{counted(recorded.recorded, 'call')} recorded",
                    f"revision {bundle.revision}",
                ]
            with stages.stage("publish") as summary:
                summary.append(f"{_publish(bundle, documents, sources, options, cache)} files")
    later = (each.notes for each in (resolved, intent, settled, compared, recorded))
    notes = [*annotated.notes, *compiled.findings, *itertools.chain.from_iterable(later)]
    return Built(bundle, verification, _findings(inputs, documents, bundle, notes, cache))


def _publish(
    bundle: Bundle, documents: Documents, sources: Sources, options: Options, cache: AnswerCache
) -> int:
    """Publish the result, close all questions, and return how many files it has."""
    result = {**archives(bundle, options.sign), **files(bundle, documents, cache)}
    publish(sources.output, result)
    forget_noted(sources.pending.parent)
    forget_lists(sources.pending.parent)
    cache.published()
    write_open(_open_file(sources), ())
    return len(result)


def _findings(
    inputs: Inputs, documents: Documents, bundle: Bundle, notes: Iterable[str], cache: AnswerCache
) -> tuple[str, ...]:
    """Return what a person should know: of the inputs, of the stages, of the result."""
    return (
        *id_changes(inputs.published, [placed.clause for placed in inputs.clauses]),
        *(finding.line for finding in remaining(inputs.clauses, documents.policy)),
        *listed_lines(documents.annotations, documents.policy),
        *inputs.servers.notes,
        *notes,
        *documents.verification.warnings,
        *(each.line for each in disagreements(PolicyContent.of(bundle), inputs.servers)),
        *cache.notes,
    )


def _inputs(sources: Sources, options: Options) -> Inputs:
    """Read the project; the ids of its clauses stay from here on, whether or not a result is published."""
    inputs = load_inputs(sources)
    if options.provider is not None:
        clauses = [placed.clause for placed in inputs.clauses]
        note_clauses(sources.output, sources.pending.parent, clauses)
    return inputs


def _note(progress: Progress, text: str) -> None:
    progress.show(f"note: {text}")


def _expecting(
    inputs: Inputs, sources: Sources, options: Options, opa: Opa
) -> AbstractContextManager[Callable[[], Expected | None]]:
    servers = inputs.servers.servers.values()
    waits = not options.offline and any(is_started(each, saved=options.saved_tools) for each in servers)
    return expecting(sources.output, options.sources, inputs.guarantees, opa, waits=waits)


def _ground_truth(inputs: Inputs, sources: Sources) -> GroundTruth:
    """Return what people demand: the handwritten scenarios and their answers.

    Raises:
        ScenarioError: For each scenario of a clause that is not there.
    """
    path = sources.scenarios.with_name(ANSWERS_FILE)
    demanded = with_answers(inputs.scenarios, read_answers(path), shown_path(path, sources.root))
    truth = GroundTruth(demanded, sources.scenarios, path)
    truth.require_clauses([placed.clause for placed in inputs.clauses], inputs.published)
    return truth


def _structure(annotations: Annotations, truth: GroundTruth, release: Release) -> LoadedPolicy:
    """Return a policy without rules, in the world of the scenarios.

    Raises:
        ScenarioError: For each scenario of people that the structure alone decides otherwise.
    """
    structure = without_rules(annotations, release, truth.document.world)
    truth.require_reachable(structure)
    return structure


def _listed(tools: Tools) -> str:
    return f"{counted(sum(map(len, tools.values())), 'tool')} of {counted(len(tools), 'server')}"


def _annotating(
    inputs: Inputs, options: Options, output: Path, cache: AnswerCache
) -> Callable[[Tools], Annotated]:
    """Read what annotations are made from beside the tools; return what makes them."""
    previous, declared = published_annotations(output), declared_annotations(inputs.servers)
    known = shipped_collection()

    def annotating(tools: Tools) -> Annotated:
        roles, confirmations = options.roles, inputs.confirmations
        annotated = annotate(
            tools, roles, confirmations, cache, previous=previous, known=known, declared=declared
        )
        annotated.require_roles()
        return annotated

    return annotating


def _rule_context(
    inputs: Inputs, tools: Tools, annotations: Annotations, options: Options, output: Path
) -> RuleContext:
    return RuleContext(
        inputs.clauses,
        annotations,
        inputs.lists,
        options.case_insensitive_hosts,
        confirmations=inputs.confirmations,
        directories=options.directories,
        approvers=options.approvers,
        caller=options.caller,
        published=published_policy(output),
        look_ups=look_up_tools(annotations, tools, inputs.samples),
    )


def _list_context(
    inputs: Inputs, tools: Tools, launcher: ServerLauncher, annotations: Annotations, options: Options
) -> ListContext:
    return ListContext(
        servers=inputs.servers,
        tools=tools,
        launcher=launcher,
        annotations=annotations,
        clauses=inputs.clauses,
        registry=Registry(annotations.roles),
        confirmed=frozenset(),
        ask_again="lists" in options.refresh,
    )


def _custom_modules(sources: Sources, opa: Opa, annotations: Annotations) -> Sequence[CustomModule]:
    if sources.custom is None:
        return ()
    return check_modules(read_modules(sources.custom), OpaCommand(opa), Registry(annotations.roles))


def _intent(
    inputs: Inputs, builder: PolicyBuilder, structure: LoadedPolicy, cache: AnswerCache, options: Options
) -> Intent:
    if options.intent is False:
        return Intent((), ())
    context = IntentContext(
        inputs.clauses, builder.annotations, builder.lists, builder.fixed, structure, caller=options.caller
    )
    return ask_intent(context, cache, ask=bool(options.intent) or "intent" in options.refresh)


def _compare(
    policy: CompiledPolicy, options: Options, context: RuleContext, builder: PolicyBuilder, cache: AnswerCache
) -> Compared:
    """Compile the rules again, as often as the options say, and compare the results with the policy."""
    policies = [policy]
    for number in range(2, options.runs + 1):
        again = cache.run(number, options.second or options.provider)
        policies.append(compile_rules(context, again).policy)
    cache.refreshed()
    if len(policies) == 1:
        return Compared(0, (), ())
    assumed = GenerationContext(builder.listed(policy), tuple(policies), builder.lists, builder.world)
    calls = generate_calls(assumed).calls
    decide = [partial(builder.attempt, builder.bundle(each)) for each in policies]
    return compare(decide, calls, builder.fixed.scenarios)


def _open_file(sources: Sources) -> Path:
    return sources.pending.parent / OPEN_FILE


def _require_demanded(
    settled: RepairResult, truth: GroundTruth, progress: Progress, cache: AnswerCache
) -> None:
    """Fail if something is wrong that no answer of a person could put right."""
    verification = settled.tried.verification
    if not verification.ok:
        cache.refreshed()  # its answers are of no use: the next refresh asks anew
    wrong = [mismatch for mismatch in verification.mismatches if mismatch.origin != "intent"]
    if wrong or not verification.mismatches:
        for note in settled.notes if not verification.ok else ():
            progress.show(f"finding: {note}")
        for line in truth.wrong_clauses(wrong):
            progress.show(line)
        _require_verified(verification, progress)


def _require_verified(verification: Verification, progress: Progress) -> None:
    if verification.ok:
        return
    for line in report_lines(verification):
        progress.show(line)
    failed = ", ".join(f"{check.name} ({check.detail})" for check in verification.checks if not check.ok)
    raise VerificationError(
        f"the compiled policy does not verify: {failed}",
        hint="Nothing was published. Correct the answer, the constitution or the scenario.",
    )


def _known(inputs: Inputs, options: Options) -> Known:
    return Known({placed.clause.id: placed.clause.text for placed in inputs.clauses}, options.caller)


def _require_no_questions(
    settled: RepairResult,
    compared: Compared,
    sources: Sources,
    known: Known,
    progress: Progress,
) -> None:
    """Keep open questions for `ironcurtain answer`, and publish nothing while there are some."""
    questions = (*settled.questions, *compared.questions)
    write_open(_open_file(sources), questions)
    if not questions:
        return
    for note in (*settled.notes, *compared.notes):
        progress.show(f"finding: {note}")
    for line in (line for question in questions for line in question_lines(question, known)):
        progress.show(line)
    raise OpenQuestionError(
        f"{counted(len(questions), 'question')} for a person; nothing was published",
        hint="Answer each with `ironcurtain answer ID yes|no`, then compile again.",
    )
