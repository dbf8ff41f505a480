"""The mutation score: how many small changes of a policy its scenarios, guarantees and tests notice.

    report = mutation_score(bundle, scenarios, guarantees, opa)

1. Scenarios are decided for all mutants in one run of OPA (`schemata.py`).
2. A mutant that no scenario notices is compared with the policy over all calls. Only one that is shown to
   decide some call otherwise counts; one that is proved to decide none is `equivalent`.
3. Guarantees and tests of custom modules are tried on those that are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Change, DifferentCall
from ironcurtain.analysis.engine.policies_under_test import SharedCaches
from ironcurtain.analysis.engine.proof import Exactness
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.analysis.mutation.operators import Mutant, mutants
from ironcurtain.analysis.mutation.report import MutantOutcome, MutantResult, MutationReport
from ironcurtain.analysis.mutation.schemata import killers, tools_of
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.bundle.archive import Bundle
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall, Scenarios
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.structs import Struct


class _Evidence(Struct):
    source: PolicySource
    guarantees: Guarantees | None
    world: DescribedWorld
    opa: OpaCommand
    remembered: SharedCaches


def mutation_score(
    bundle: Bundle, scenarios: Scenarios, guarantees: Guarantees | None, opa: OpaCommand
) -> MutationReport:
    """Try every mutant of a policy against its own evidence.

    A mutant that decides some call otherwise must fail a scenario, a guarantee or a test of a custom
    module. Scenarios whose expectation was taken from the policy itself do not count.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If a scenario fails without any mutant.
    """
    source = PolicySource.of(bundle)
    listed = single_calls(scenarios, bundle).scenarios
    counted = [scenario for scenario in listed if scenario.origin != "generated"]
    evidence = _Evidence(source, guarantees, scenarios.world, opa, SharedCaches())
    made = mutants(source)
    killed = killers(source, made, counted, scenarios.world, opa) if made else {}
    results = [
        _result(mutant, "killed", by=f"scenario {killed[mutant.id]}")
        if mutant.id in killed
        else _unnoticed(mutant, evidence)
        for mutant in made
    ]
    counts = Counter(result.outcome for result in results)
    different = counts["killed"] + counts["survived"]
    return MutationReport(
        revision=bundle.revision,
        scenarios=len(counted),
        guarantees=len(guarantees.entries) if guarantees else 0,
        killed=counts["killed"],
        survived=counts["survived"],
        equivalent=counts["equivalent"],
        unproved=counts["not found"] + counts["not examined"],
        score=round(100 * counts["killed"] / different, 1) if different else None,
        mutants=tuple(results),
    )


_UNSHOWN: Mapping[Exactness, MutantOutcome] = {
    "exact": "equivalent",
    "sampled": "not found",
    "not examined": "not examined",
}


def _unnoticed(mutant: Mutant, evidence: _Evidence) -> MutantResult:
    """Return what becomes of a mutant that no scenario notices."""
    source = evidence.source
    changed = source.bundle_of(mutant.rules(source.policy.rules), mutant.lists)
    differing = difference(
        source.bundle,
        changed,
        evidence.world,
        evidence.opa,
        only=tools_of(mutant, source),
        caches=evidence.remembered,
    )
    shown = [change for change in differing.changes if change.witness is not None]
    if not shown:
        opens = source.opens_tools(mutant.rules(source.policy.rules))
        outcome = _UNSHOWN[differing.exactness]
        return _result(mutant, "not found" if opens and outcome == "equivalent" else outcome)
    by = _broken_guarantee(changed, evidence) or _failed_test(changed, evidence.opa)
    if by is not None:
        return _result(mutant, "killed", by=by)
    return _result(mutant, "survived", scenario=_missing(mutant, min(shown, key=_size)))


def _broken_guarantee(changed: Bundle, evidence: _Evidence) -> str | None:
    if evidence.guarantees is None:
        return None
    report = check_guarantees(changed, evidence.guarantees, evidence.world, evidence.opa)
    wrong = ("broken", "says nothing")
    return next((f"guarantee {result.id}" for result in report.results if result.status in wrong), None)


def _failed_test(changed: Bundle, opa: OpaCommand) -> str | None:
    """Run the tests of the project's own modules: those of the rules were made from the rules."""
    by_people = [path for path in changed.custom_modules if path.endswith("_test.rego")]
    if not by_people:
        return None
    made_from_rules = {p for p in changed.modules if p.endswith("_test.rego") and p not in by_people}
    with private_directory("work") as directory:
        for path, data in changed.files.items():
            if path not in made_from_rules:
                file = directory / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        failures = opa.test(directory).failures
    return f"opa test {failures[0].name}" if failures else None


def _missing(mutant: Mutant, change: Change) -> Scenario:
    """Return the scenario that notices a survivor: its expectation is for a person to review."""
    witness: DifferentCall | None = change.witness
    assert witness is not None  # noqa: S101 - only changes with a witness are passed in
    return Scenario(
        id=f"mutant.{mutant.id}",
        call=ScenarioCall(
            server=witness.server,
            tool=witness.tool,
            arguments=witness.arguments,
            caller=witness.caller or None,
            facts=witness.facts or None,
        ),
        expect=witness.old.verdict,
        approvers=witness.old.approvers if witness.new.verdict is witness.old.verdict else None,
        clause=witness.old.clause,
        why=f"Notices {mutant.kind}: {mutant.change}.",
    )


def _size(change: Change) -> tuple[int, str]:
    text = change.witness.model_dump_json() if change.witness is not None else ""
    return len(text), text


def _result(
    mutant: Mutant, outcome: MutantOutcome, *, by: str | None = None, scenario: Scenario | None = None
) -> MutantResult:
    return MutantResult(
        id=mutant.id,
        kind=mutant.kind,
        rule=mutant.rule.name,
        clause=mutant.rule.clause,
        change=mutant.change,
        outcome=outcome,
        by=by,
        scenario=scenario,
    )


def survivors(report: MutationReport) -> Sequence[Scenario]:
    """Return the missing scenarios, one for each survivor, each call once."""
    missing: dict[str, Scenario] = {}
    for result in report.mutants:
        if result.scenario is not None:
            missing.setdefault(result.scenario.call.model_dump_json(), result.scenario)
    return tuple(missing.values())
