"""Verifying a bundle: what it is, whether OPA accepts it, and whether it does what its scenarios say.

    verification = verify(bundle, scenarios, opa)
    verification.ok, verification.mismatches

1. It needs neither a model nor a network; `ironcurtain verify` runs it alone.
2. Every scenario is prepared by `decision.decide.prepare`, which prepares calls at run time.
3. The engine alone decides what passes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from ironcurtain.analysis.clauses.cited import deciding_clauses, demands_its_clause, wrong_clause
from ironcurtain.analysis.findings.decided_scenarios import RECORD, DecidedScenarios, decide_all
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.verify.rego_check import check_rego
from ironcurtain.compiler.verify.report import Mismatch, Verification, VerificationCheck, asked_words
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.errors import RegoRejectedError, SeveralErrors, VerificationError
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.background import in_background
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted, marked, visible

_MAX_CALL = 160
REJECTED = "opa check"
TESTED = "opa check, opa test"


def verify(
    bundle: Bundle,
    scenarios: Scenarios,
    opa: Opa,
    decide: Callable[[], DecidedScenarios] | None = None,
) -> Verification:
    """Verify a bundle against scenarios.

    Args:
        bundle: The bundle.
        scenarios: The scenarios.
        opa: The engine.
        decide: Returns what the bundle decides of all the scenarios, where others need that, too.

    Returns:
        The result, whether good or bad; `ok` says which.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If a decision is undefined, so that nothing can be said.
    """
    engine = OpaCommand(opa)
    with in_background(decide or partial(decide_all, bundle, scenarios, engine)) as deciding:
        checks = [_revision(bundle), _opa_check(bundle, engine)]
        # A failing scenario fails as a Rego test too; only what OPA rejects outright cannot be evaluated.
        outcome = _judged(deciding.result(), bundle) if checks[-1].name != REJECTED else _Judged()
    checks += outcome.checks
    return Verification(
        ok=all(check.ok for check in checks),
        revision=bundle.revision,
        engine_version=opa.version,
        checks=tuple(checks),
        mismatches=outcome.mismatches,
        assumptions=scenarios.world,
    )


def verify_itself(bundle: Bundle, opa: Opa) -> tuple[VerificationCheck, ...]:
    """Check what needs no scenarios: the content's revision, and that OPA accepts and tests the Rego.

    Args:
        bundle: The bundle.
        opa: The engine.

    Raises:
        EngineFailedError: If OPA does not run.
    """
    return _revision(bundle), _opa_check(bundle, OpaCommand(opa))


def with_records(verification: Verification, records: Sequence[Scenario]) -> Verification:
    """Return a verification with what its bundle was seen to decide, which so comes true by itself."""
    if not records:
        return verification
    check = _check("records", [scenario.id for scenario in records], ())
    return verification.model_copy(update={"checks": (*verification.checks, check)})


class _Judged(Struct):
    checks: tuple[VerificationCheck, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()


def _revision(bundle: Bundle) -> VerificationCheck:
    # Reading a bundle has already held its content against the revision.
    return VerificationCheck(
        name="manifest", ok=True, count=len(bundle.files), detail=f"content is that of {bundle.revision}"
    )


def _opa_check(bundle: Bundle, engine: OpaCommand) -> VerificationCheck:
    """Return whether OPA compiles the modules strictly and their tests pass."""
    try:
        report = check_rego(bundle, engine)
    except (RegoRejectedError, VerificationError, SeveralErrors) as error:
        errors = error.errors if isinstance(error, SeveralErrors) else [error]
        said = "; ".join(f"{each.where}: {each.what}" if each.where else each.what for each in errors[:5])
        name = REJECTED if any(isinstance(each, RegoRejectedError) for each in errors) else TESTED
        return VerificationCheck(name=name, ok=False, count=len(bundle.modules), detail=visible(said))
    detail = f"{counted(len(bundle.modules), 'module compiles', 'modules compile')}, all tests passed"
    return VerificationCheck(name=TESTED, ok=True, count=len(report.tests), detail=detail)


def _judged(decided: DecidedScenarios, bundle: Bundle) -> _Judged:
    listed, content = decided.scenarios, PolicyContent.of(bundle)
    mismatches = ((s.id, _mismatch(s, decided.decisions[s.id], content)) for s in listed)
    failed = {id_: mismatch for id_, mismatch in mismatches if mismatch is not None}
    # A record repeats what a policy did; only what somebody demanded can show that it is right.
    demanded = [s.id for s in listed if s.origin != RECORD]
    records = [s.id for s in listed if s.origin == RECORD]
    checks = [
        _check("scenarios", demanded, failed),
        *([_check("records", records, failed)] if records else []),
    ]
    return _Judged(tuple(checks), tuple(failed.values()))


def _check(name: str, ids: Sequence[str], failed: Collection[str]) -> VerificationCheck:
    if not ids:
        return VerificationCheck(name=name, ok=False, count=0, detail="no scenarios, which proves nothing")
    count = sum(id_ in failed for id_ in ids)
    detail = f"{count} of {len(ids)} fail" if count else "all come true"
    return VerificationCheck(name=name, ok=not count, count=len(ids), detail=detail)


def _is_met(scenario: Scenario, decision: Decision) -> bool:
    return scenario.is_met(decision.verdict, decision.rule, decision.approvers)


def _mismatch(scenario: Scenario, decision: Decision, content: PolicyContent) -> Mismatch | None:
    """Return how a scenario did not come true, None if it did."""
    wrong = wrong_clause(scenario, decision, content) if _is_met(scenario, decision) else None
    if _is_met(scenario, decision) and (wrong is None or not demands_its_clause(scenario, wrong)):
        return None
    call = scenario.call
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return Mismatch(
        scenario=scenario.id,
        call=f"{visible(call.server)}/{visible(call.tool)} {marked(arguments)[:_MAX_CALL]}",
        expected=scenario.expect,
        expected_rule=scenario.rule,
        expected_approvers=scenario.approvers,
        got=decision.verdict,
        approvers=decision.approvers,
        rule=decision.rule,
        reason=decision.reason,
        clause=scenario.clause,
        origin=scenario.origin,
        wrong_clause=wrong,
        deciding=dict(deciding_clauses(content, decision)) if wrong is not None else {},
    )


def report_lines(result: Verification) -> list[str]:
    """Return the result as lines of plain text, the failures as a table."""
    lines = [
        f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.count}, {check.detail}"
        for check in result.checks
    ]
    lines += [f"warning  {warning}" for warning in result.warnings]
    if result.mismatches:
        lines += ["", *_table([_row(mismatch) for mismatch in result.mismatches])]
    lines.append(f"{'verified' if result.ok else 'NOT verified'}  {result.revision}")
    return lines


def _row(mismatch: Mismatch) -> Mapping[str, str]:
    expected = asked_words(mismatch.expected, mismatch.expected_approvers)
    got = asked_words(mismatch.got, mismatch.shown_approvers)
    if mismatch.expected_rule:
        expected += f" by {mismatch.expected_rule}"
    if mismatch.wrong_clause is not None:
        expected += f" of {visible(mismatch.clause or '')}"
        got += f" of {', '.join(map(visible, sorted(mismatch.deciding)))}" if mismatch.deciding else ""
    return {
        "scenario": mismatch.scenario,
        "expected": expected,
        "got": got,
        "by rule": mismatch.rule,
        "call": mismatch.call,
    }


def _table(rows: list[Mapping[str, str]]) -> list[str]:
    columns = list(rows[0])
    widths = {column: max(len(column), *(len(row[column]) for row in rows)) for column in columns}
    header = {column: column for column in columns}
    return ["  ".join(row[c].ljust(widths[c]) for c in columns).rstrip() for row in [header, *rows]]
