"""The compile, in one straight line: constitution and tools in, a verified and published policy out.

    load -> annotate -> compile rules -> resolve lists -> render and bundle -> scenarios -> verify -> publish

Nothing is written to the output before the last stage, and nothing is published that did not verify.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.errors import VerificationError
from ironcurtain.llm.question import Provider
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import Annotations, IdentifierRole
from ironcurtain.model.base import Frozen, Json
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.verification import Verification
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import Opa
from ironcurtain.pipeline.annotate import annotate
from ironcurtain.pipeline.answers import AnswerBook
from ironcurtain.pipeline.assemble import Release, assemble
from ironcurtain.pipeline.assumed_relations import assumed_relations
from ironcurtain.pipeline.compile_rules import RuleContext, compile_rules
from ironcurtain.pipeline.custom import check_modules, read_modules
from ironcurtain.pipeline.lists import check_lists
from ironcurtain.pipeline.load import Inputs, Sources, load_inputs
from ironcurtain.pipeline.policy_tests import with_policy_tests
from ironcurtain.pipeline.progress import Progress, Stages
from ironcurtain.pipeline.publish import only_one, publish
from ironcurtain.pipeline.verify import report_lines, verify
from ironcurtain.roles.registry import Registry
from ironcurtain.servers.listing import DEFAULT_TIMEOUT, Tools, list_tools
from ironcurtain.servers.tools import tool_digest

STAGES = 8


@dataclass(frozen=True)
class Options:
    """How to compile.

    Attributes:
        provider: Makes the provider when the first question has to be asked; None for a locked compile.
        serial: Number of the policy for "not older than" checks.
        roles: Identifier roles that the project adds.
        saved_tools: Prefer saved tool lists over live servers.
        server_timeout: Seconds for each server to list its tools.
    """

    provider: Callable[[], Provider] | None
    serial: int
    case_insensitive_hosts: frozenset[str]
    roles: tuple[IdentifierRole, ...] = ()
    saved_tools: bool = False
    server_timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True)
class Built:
    """What was published.

    Attributes:
        findings: What a person should know about the policy, one line each.
    """

    bundle: Bundle
    verification: Verification
    findings: tuple[str, ...]


@dataclass(frozen=True)
class _Documents:
    """The files for people and for the next compile, before they are written."""

    annotations: Annotations
    policy: CompiledPolicy
    lists: Lists
    scenarios: Scenarios
    verification: Verification


def build(sources: Sources, options: Options, opa: Opa, progress: Progress) -> Built:
    """Compile a constitution into a verified bundle and publish the whole result.

    Raises:
        IronCurtainError: Of the class that says what failed; the output is then as it was before.
        VerificationError: If the bundle does not do what its scenarios demand; progress shows the table.
    """
    stages = Stages(progress, STAGES)
    engine = OpaCommand(opa)
    book = AnswerBook(sources.output / "answers", sources.pending, options.provider)
    with only_one(sources.output):
        with stages.stage("load") as summary:
            inputs = load_inputs(sources)
            summary.append(f"{len(inputs.clauses)} clauses, {len(inputs.scenarios.scenarios)} scenarios")
        with stages.stage("annotate") as summary:
            tools = list_tools(inputs.servers, saved=options.saved_tools, timeout=options.server_timeout)
            annotated = annotate(tools, options.roles, inputs.confirmations, book)
            summary.append(f"{sum(map(len, tools.values()))} tools of {len(tools)} servers")
        with stages.stage("compile rules") as summary:
            context = RuleContext(
                inputs.clauses, annotated.annotations, inputs.lists, options.case_insensitive_hosts
            )
            compiled = compile_rules(context, book)
            summary.append(f"{len(compiled.policy.rules)} rules")
        with stages.stage("resolve lists") as summary:
            unused = check_lists(inputs.lists, compiled.policy)
            summary.append(f"{len(inputs.lists.lists)} lists")
        with stages.stage("render and bundle") as summary:
            release = Release(
                engine_version=opa.version,
                serial=options.serial,
                provenance=_provenance(inputs, tools, book),
                case_insensitive_hosts=options.case_insensitive_hosts,
            )
            bundle = _bundle(compiled.policy, annotated.annotations, inputs, release, sources.custom, engine)
            summary.append(f"{len(bundle.modules)} modules, revision {bundle.revision}")
        with stages.stage("scenarios") as summary:
            scenarios = inputs.scenarios
            bundle = with_policy_tests(bundle, scenarios, engine)
            summary.append(f"{len(scenarios.scenarios)} handwritten")
        with stages.stage("verify") as summary:
            verification = verify(bundle, scenarios, opa)
            _require_verified(verification, progress)
            summary.append(", ".join(f"{check.name} {check.count}" for check in verification.checks))
        with stages.stage("publish") as summary:
            documents = _Documents(
                annotated.annotations, compiled.policy, inputs.lists, scenarios, verification
            )
            files = _files(bundle, documents, book)
            publish(sources.output, files)
            book.published()
            summary.append(f"{len(files)} files")
    findings = (*inputs.servers.notes, *annotated.notes, *compiled.findings, *unused, *verification.warnings)
    return Built(bundle, verification, findings)


def _bundle(
    policy: CompiledPolicy,
    annotations: Annotations,
    inputs: Inputs,
    release: Release,
    custom: Path | None,
    engine: OpaCommand,
) -> Bundle:
    """Assemble the bundle, and record in it how its directories lie where its scenarios assume them."""
    registry = Registry(annotations.roles)
    modules = check_modules(read_modules(custom), engine) if custom else ()
    draft = assemble(policy, annotations, inputs.lists, registry=registry, release=release, custom=modules)
    assumed = replace(release, relations=assumed_relations(draft, inputs.scenarios.world))
    return assemble(policy, annotations, inputs.lists, registry=registry, release=assumed, custom=modules)


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


def _provenance(inputs: Inputs, tools: Tools, book: AnswerBook) -> dict[str, Json]:
    """Say what the bundle was made from, by digests; nothing in it depends on the machine or the time."""
    digests = {server: {tool.name: tool_digest(tool) for tool in listed} for server, listed in tools.items()}
    return {
        "constitution": jsontext.digest_bytes(inputs.constitution.encode()),
        "tools": jsontext.digest(digests),
        "questions": jsontext.digest(sorted(answer.question for answer in book.used)),
        "answered_by": sorted({f"{a.provider}:{a.model}" if a.model else a.provider for a in book.used}),
    }


def _files(bundle: Bundle, documents: _Documents, book: AnswerBook) -> dict[str, bytes]:
    """Return the content of every file of the published directory, by relative path."""
    return {
        **{f"bundle/{path}": data for path, data in bundle.files.items()},
        "bundle.tar.gz": bundle.archive(),
        "tool-annotations.json": _document(documents.annotations),
        "compiled-policy.json": _document(documents.policy),
        "dynamic-lists.json": _document(documents.lists),
        "test-scenarios.json": _document(documents.scenarios),
        "verification.json": jsontext.pretty(documents.verification.model_dump(mode="json")).encode(),
        **{f"answers/{name}": data for name, data in book.files().items()},
    }


def _document(model: Frozen) -> bytes:
    """Serialise as it was written: only what was set, so that the file stays readable."""
    return jsontext.pretty(model.model_dump(mode="json", by_alias=True, exclude_unset=True)).encode()
