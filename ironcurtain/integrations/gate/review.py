"""Comparing a policy with an older one: the difference, and what the older one demanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import Difference
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import EvidenceError, VerificationError
from ironcurtain.integrations.gate.document import Document
from ironcurtain.integrations.gate.git import Commit
from ironcurtain.model.guarantees import Guarantee, Guarantees
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.files import parse_document
from ironcurtain.system.text import visible

if TYPE_CHECKING:  # `diff` reports as the gate does, and needs none of what a gate judges by
    from ironcurtain.integrations.gate.subject import PolicyUnderReview


def compared(old: Bundle, new: Bundle, world: DescribedWorld, engine: OpaCommand) -> Difference:
    """Compare two bundles whose Rego is what their rules say.

    Raises:
        VerificationError: If the Rego of one is not; the error says which.
        EvidenceError: If one cannot be examined.
        EngineFailedError: If OPA does not run.
    """
    for name, bundle in (("old", old), ("new", new)):
        try:
            check_rendered(bundle)
        except (VerificationError, EvidenceError) as error:
            raise type(error)(
                f"the {name} bundle: {error.what}", where=error.where, hint=error.hint
            ) from None
    return difference(old, new, world, engine)


def dropped_guarantees(subject: PolicyUnderReview, commit: Commit) -> Check:
    """Name the guarantees of a commit that are gone or say something else now."""
    name = f"guarantees of {visible(commit.name)}"
    before = _guarantees_of(commit, subject.guarantees_file)
    now = {each.id: each for each in subject.guarantees.guarantees} if subject.guarantees else {}
    problems = [
        Problem(
            id=each.id,
            severity="warning",
            message=f"guarantee {each.id} ({each.words}) {'changed' if each.id in now else 'is gone'}",
            clause=each.clause,
            file=subject.guarantees_file.shown,
            suggestion="Let whoever answers for the guarantees review this.",
        )
        for each in before
        if now.get(each.id) != each
    ]
    summary = f"{len(before)}, {f'{len(problems)} gone or changed' if problems else 'all still demanded'}"
    return Check(
        name=name, status="passed" if before else "skipped", summary=summary, problems=tuple(problems)
    )


def _guarantees_of(commit: Commit, document: Document) -> tuple[Guarantee, ...]:
    content = commit.file(document.path)
    if content is None:
        return ()
    source = f"{commit.name}:{document.path.name}"
    return parse_document(content.decode("utf-8", "replace"), source, Guarantees).guarantees
