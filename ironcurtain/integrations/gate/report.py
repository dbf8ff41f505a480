"""Putting checks together to one report.

Comparing a policy with an older one: the difference, and what the older one demanded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ironcurtain.analysis.diff.report import Difference
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem, Status
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.errors import EvidenceError, Exit, VerificationError
from ironcurtain.integrations.gate.policy_under_review import Document
from ironcurtain.model.guarantees import AnyGuarantee, Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.files import parse_document
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.integrations.gate.git import Commit
    from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview


_NEEDED = {"scenarios", "opa check, opa test"}
"""Evidence without which nothing is verified."""


def exit_of(report: GateReport) -> Exit:
    """Return how a command with this report ends: a check that was not examined is no check that failed."""
    if report.ok:
        return Exit.YES
    return Exit.NO if any(check.status == "failed" for check in report.checks) else Exit.NO_ANSWER


def signature(bundle: Bundle, trust: Trust) -> Check:
    """Return the check of whose a bundle is: passed where a key was demanded, and so has been checked."""
    status: Status = "passed" if trust.key is not None else "skipped"
    return Check(name="signature", status=status, summary=trust.signature_words(bundle))


def gate_report(
    command: Literal["verify", "diff"],
    bundle: Bundle,
    opa: Opa,
    checks: Sequence[Check],
    difference: Difference | None = None,
) -> GateReport:
    """Return the report of a gate's checks, with the words of the clauses that problems name."""
    named = {problem.clause for check in checks for problem in check.problems}
    unexamined = tuple(check.name for check in checks if check.status == "unexamined")
    clauses = {id_: text for id_, text in PolicyContent.of(bundle).clauses.items() if id_ in named}
    return GateReport(
        command=command,
        ok=all(check.status != "failed" for check in checks)
        and all(not check.failing for check in checks if check.status == "unexamined")
        and _NEEDED.isdisjoint(unexamined),
        unexamined=unexamined,
        revision=bundle.revision,
        against=difference.old_revision if difference else None,
        engine_version=opa.version,
        checks=tuple(checks),
        clauses=clauses,
        difference=difference,
    )


def compared(old: Bundle, new: Bundle, world: DescribedWorld, engine: OpaCommand) -> Difference:
    """Compare two bundles whose Rego is what their rules say.

    Raises:
        VerificationError: If the Rego of one is not; the error says which.
        EvidenceError: If one cannot be examined.
        EngineFailedError: If OPA does not run.
    """
    from ironcurtain.analysis.diff.difference import difference  # noqa: PLC0415 - few gates compare

    for name, bundle in (("old", old), ("new", new)):
        try:
            check_rendered(bundle)
        except (VerificationError, EvidenceError) as error:
            raise type(error)(
                f"the {name} bundle: {error.what}", where=error.where, hint=error.hint
            ) from None
    return difference(old, new, world, engine)


def dropped_guarantees(reviewed: PolicyUnderReview, commit: Commit) -> Check:
    """Name the guarantees of a commit that are gone or say something else now."""
    name = f"guarantees of {visible(commit.name)}"
    before = _guarantees_of(commit, reviewed.guarantees_file)
    now = {each.id: each for each in reviewed.guarantees.entries} if reviewed.guarantees else {}
    problems = [
        Problem(
            id=each.id,
            severity="warning",
            message=f"guarantee {each.id} ({each.words}) {'changed' if each.id in now else 'is gone'}",
            clause=each.clause,
            file=reviewed.guarantees_file.shown,
            suggestion="Let whoever answers for the guarantees review this.",
        )
        for each in before
        if now.get(each.id) != each
    ]
    summary = f"{len(before)}, {f'{len(problems)} gone or changed' if problems else 'all still demanded'}"
    return Check(
        name=name, status="passed" if before else "skipped", summary=summary, problems=tuple(problems)
    )


def _guarantees_of(commit: Commit, document: Document) -> tuple[AnyGuarantee, ...]:
    content = commit.file(document.path)
    if content is None:
        return ()
    source = f"{commit.name}:{document.path.name}"
    return parse_document(content.decode("utf-8", "replace"), source, Guarantees).entries
