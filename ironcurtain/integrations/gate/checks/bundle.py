"""The checks of the bundle itself: what it is, what OPA says of it, and whether its scenarios come true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance import provenance_of
from ironcurtain.bundle.published import TEST_SCENARIOS
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.compiler.rules.checks.policy import name_hint
from ironcurtain.compiler.verify import report
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.compiler.verify.report import Mismatch, asked_words, clause_mend, clause_words
from ironcurtain.compiler.verify.verify import TESTED
from ironcurtain.integrations.gate.policy_under_review import scenario_place
from ironcurtain.model.scenarios import Scenario
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes

if TYPE_CHECKING:  # `diff` reports as the gate does, and needs none of what a gate judges by
    from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview

_RECORDS = "records"
_SCENARIOS = "scenarios"


def verified(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Check manifest, Rego, Rego tests, scenarios and records."""
    result = reviewed.verification
    lists = {_SCENARIOS: _of(reviewed, generated=False), _RECORDS: _of(reviewed, generated=True)}
    checks = []
    for check in result.checks:
        if check.name in lists:
            checks.append(_scenarios(reviewed, check, lists[check.name], result.mismatches))
        else:
            checks.append(
                tested(reviewed.bundle, check, reviewed.demands.tests, archived=reviewed.in_archive)
            )
    recorded = compiled_with(reviewed.bundle, _RECORDS)
    if recorded and not lists[_RECORDS]:
        summary = (
            f"the compile recorded {recorded} calls, and {reviewed.scenarios_file.shown} has none of them"
        )
        checks.append(Check(name=_RECORDS, status="unexamined", summary=summary))
    return tuple(checks)


def compiled_with(bundle: Bundle, check: str) -> int:
    """Return how many things a check looked at when a bundle was compiled; 0 where nothing is known."""
    return provenance_of(bundle).checks.get(check, 0) if bundle.manifest.metadata.provenance else 0


def rendered(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Check that the bundle's Rego is what its rules say; all further evidence speaks of the rules."""
    check_rendered(reviewed.bundle)
    return (Check(name="rules", status="passed", summary="the Rego is what the rules say"),)


def too_few(name: str, count: int, least: int, what: str) -> Problem:
    """Return the problem of evidence that is not there."""
    return Problem(
        id=f"too-few-{name}",
        message=f"{count} {what}, and at least {least} are demanded",
        suggestion=f"Write them, or change `{name}` below [verify] in ironcurtain.toml.",
    )


def _of(reviewed: PolicyUnderReview, *, generated: bool) -> Mapping[str, Scenario]:
    listed = reviewed.scenarios.calls
    return {each.id: each for each in listed if (each.origin == "generated") is generated}


def tested(bundle: Bundle, check: report.VerificationCheck, least: int, *, archived: bool) -> Check:
    """Return a check of manifest or Rego as the gate shows it."""
    problems: tuple[Problem, ...] = ()
    if check.name == TESTED and archived and not bundle.has_tests:
        summary = "the Rego compiles; an archive holds no Rego tests, and `bundle` does not lie beside it"
        return Check(name=check.name, status="unexamined", summary=summary)
    if not check.ok:
        problems = (Problem(id=check.name, message=check.detail),)
    elif check.name == TESTED and check.count < least:
        problems = (too_few("tests", check.count, least, "Rego tests"),)
    return Check(
        name=check.name,
        status="failed" if problems else "passed",
        summary=f"{check.count}, {check.detail}",
        problems=problems,
    )


def _scenarios(
    reviewed: PolicyUnderReview,
    check: report.VerificationCheck,
    listed: Mapping[str, Scenario],
    mismatches: Iterable[Mismatch],
) -> Check:
    problems = [
        _failed(reviewed, each, listed[each.scenario]) for each in mismatches if each.scenario in listed
    ]
    problems += _altered(reviewed) if check.name == _SCENARIOS else []
    least = reviewed.demands.scenarios if check.name == _SCENARIOS else 0
    if check.count < least:
        problems.append(too_few("scenarios", check.count, least, "scenarios that somebody demanded"))
    return Check(
        name=check.name,
        status="failed" if problems or not check.ok else "passed",
        summary=f"{check.count}, {check.detail}",
        cases=tuple(listed),
        problems=tuple(problems),
    )


def _altered(reviewed: PolicyUnderReview) -> list[Problem]:
    """Return the problem of a scenario file beside the bundle that is not the one which its compile wrote."""
    is_beside = reviewed.scenarios_file.path == reviewed.published / TEST_SCENARIOS
    if reviewed.known is not None or not is_beside or not reviewed.bundle.manifest.metadata.provenance:
        return []
    content = read_bytes(reviewed.scenarios_file.path).replace(b"\r\n", b"\n")
    if json_text.digest_bytes(content) == provenance_of(reviewed.bundle).scenarios:
        return []
    file = reviewed.scenarios_file.shown
    return [
        Problem(
            id=TEST_SCENARIOS,
            message=f"{file} is not the one that the bundle was compiled with",
            file=file,
            suggestion="Run `ironcurtain compile`, or take the change back.",
        )
    ]


def _failed(reviewed: PolicyUnderReview, mismatch: Mismatch, scenario: Scenario) -> Problem:
    if mismatch.wrong_clause is not None:
        return _wrong_clause(reviewed, mismatch, scenario)
    file, line = reviewed.clause_place(mismatch.clause)
    if file is None:
        file, line = scenario_place(reviewed, scenario, "expect")
    rule = f" by {mismatch.expected_rule}" if mismatch.expected_rule else ""
    return Problem(
        id=mismatch.scenario,
        message=(
            f"scenario {mismatch.scenario}: expected "
            f"{asked_words(mismatch.expected, mismatch.expected_approvers)}{rule}, "
            f"got {asked_words(mismatch.got, mismatch.shown_approvers)} by {mismatch.rule}"
        ),
        clause=mismatch.clause,
        file=file,
        line=line,
        details=(mismatch.call, f"the policy says: {mismatch.reason}"),
        suggestion="Correct the rule, or the scenario if it demands what nobody wants.",
        docs="docs/constitution.md",
    )


def _wrong_clause(reviewed: PolicyUnderReview, mismatch: Mismatch, scenario: Scenario) -> Problem:
    """Return the problem of a scenario that comes true, and not because of the clause that it names."""
    clauses, named = reviewed.content.clauses, mismatch.clause or ""
    quoted_ = [f"{id_}: {clauses[id_]}" for id_ in (named, *sorted(mismatch.deciding)) if id_ in clauses]
    if mismatch.wrong_clause == "unknown":
        suggestion = name_hint(named, clauses) or "`ironcurtain lint --clauses` lists the clauses."
    else:
        suggestion = clause_mend(mismatch)
    file, line = scenario_place(reviewed, scenario, "clause")
    return Problem(
        id=mismatch.scenario,
        message=clause_words(mismatch),
        clause=named if named in clauses else None,
        file=file,
        line=line,
        details=(mismatch.call, *quoted_),
        suggestion=suggestion,
        docs="docs/constitution.md",
    )
