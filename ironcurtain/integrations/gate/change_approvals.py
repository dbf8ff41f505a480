"""Approvals of single changes of a policy (`diff-approvals.yaml`): reading, judging by them, drafting.

An approval covers a change if it names its id and the digest of its meaning, and has not expired. The
difference is never smaller for it: an approved change is shown, and says who approved it and why.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator
from ruamel.yaml import YAML

from ironcurtain.analysis.diff.report import Change, Difference, details, statement
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.errors import UsageError
from ironcurtain.integrations.gate.policy_under_review import shown_path
from ironcurtain.system.files import atomic_write, has_content, load, read_text
from ironcurtain.system.frozen import Digest, Frozen

_Words = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"\S")]


class DiffApproval(Frozen):
    """One approved change.

    Attributes:
        change: The change's id, as `ironcurtain diff` prints it.
        meaning: The digest that binds it to what the change means under both policies.
        says: The change in words, for whoever reviews the approval; nothing depends on it.
        reason: Why it is wanted.
        approver: Who approves.
        expires: The last day (UTC) on which it counts, as `"2027-06-30"`; None for no end.
    """

    change: str = Field(pattern=r"^[0-9a-f]{12}$")
    meaning: Digest
    says: str = ""
    reason: _Words
    approver: _Words
    expires: date | None = None


class DiffApprovals(Frozen):
    """The file of approvals."""

    format: Literal["ironcurtain/diff-approvals/v1"]
    approvals: tuple[DiffApproval, ...]

    @model_validator(mode="after")
    def _changes_are_distinct(self) -> DiffApprovals:
        named = [(approval.change, approval.meaning) for approval in self.approvals]
        if len(named) != len(set(named)):
            msg = "two approvals are of the same change"
            raise ValueError(msg)
        return self


_HEADER = """\
# Changes of the policy that people approved; `ironcurtain diff` and `ironcurtain verify --against` read it.
# An approval covers the one change that it was made for, between policies that mean the same by it.
format: ironcurtain/diff-approvals/v1
approvals: []
"""


def read_approvals(path: Path, *, must_exist: bool) -> DiffApprovals | None:
    """Return a file's approvals; None where there is no file and none is demanded.

    Raises:
        FileError: If a file that is demanded cannot be read.
        FormatError: For each mistake in it.
    """
    return load(path, DiffApprovals) if must_exist or has_content(path) else None


def require_yaml(path: Path) -> None:
    """Raise `UsageError` for a file that is not YAML by its name: approvals are written as YAML only."""
    if path.suffix not in {".yaml", ".yml"}:
        raise UsageError(
            "approvals are written as YAML", where=str(path), hint="Name a file that ends in .yaml."
        )


def add_approvals(path: Path, fresh: Sequence[DiffApproval]) -> None:
    """Add approvals to a file, which need not exist; what is of the same change is replaced.

    Raises:
        UsageError: If the file is not YAML by its name.
        OSError: If it cannot be written; it is then untouched.
    """
    require_yaml(path)
    known = read_approvals(path, must_exist=False)
    atomic_write(path, with_approvals(read_text(path) if known else "", fresh).encode())


def with_approvals(text: str, fresh: Sequence[DiffApproval]) -> str:
    """Return the text of a file of approvals with some added; an empty text is a file that is not there."""
    writer = YAML(typ="rt")
    writer.width = 4096
    writer.indent(mapping=2, sequence=4, offset=2)
    document: Any = writer.load(text or _HEADER)
    replaced = {approval.change for approval in fresh}
    entries = document["approvals"]
    # In place, so that what people wrote beside the others stays.
    for number in reversed(range(len(entries))):
        if entries[number]["change"] in replaced:
            del entries[number]
    entries.fa.set_block_style()
    entries.extend(approval.model_dump(mode="json", exclude_none=True) for approval in fresh)
    stream = io.StringIO()
    writer.dump(document, stream)
    return stream.getvalue()


DOCS = "docs/review.md"
UNPROVED = "unproved"
"""The id of the problem that a comparison is not exact."""
_SUGGESTIONS = {
    "sampled": "Write the tests so that they can be followed, or accept what was only looked for: "
    '--accept-sampled, or difference = "sampled" in [verify].',
    "not examined": "Correct these annotations or schemas (`ironcurtain error unexamined-tool`).",
}
_RULES = "Approve it with --write-approval and let it be reviewed, or correct the policy."


def difference_check(
    difference: Difference,
    approvals: DiffApprovals | None,
    file: Path | None,
    today: date,
    *,
    sampled: bool = False,
) -> Check:
    """Return the check of a difference: it fails for each loosened change that nothing covers.

    It fails, too, where it is not proved that nothing else is loosened.
    """
    listed = approvals.approvals if approvals else ()
    loosened = difference.loosened
    problems = [_judged(change, listed, file, today) for change in loosened]
    problems += _unused(difference, listed, file)
    open_ = sum(problem.severity == "error" for problem in problems)
    is_accepted = sampled and difference.exactness == "sampled"
    if difference.exactness != "exact":
        problems.append(_unproved(difference, accepted=is_accepted))
    tightened = sum(change.direction == "tightened" for change in difference.changes)
    hidden = len(difference.changes) - tightened - len(loosened)
    masked = f", {hidden} loosened but masked" if hidden else ""
    approved = f", {len(loosened) - open_} approved" if loosened and open_ < len(loosened) else ""
    exactness = {"exact": "", "sampled": "; sampled, not exact"}.get(difference.exactness, "; not examined")
    return Check(
        name="difference",
        status="failed" if any(problem.severity == "error" for problem in problems) else "passed",
        summary=f"{len(loosened)} loosened{approved}{masked}, {tightened} tightened{exactness}",
        cases=tuple(change.id for change in difference.changes),
        problems=tuple(problems),
    )


def _unproved(difference: Difference, *, accepted: bool) -> Problem:
    return Problem(
        id=UNPROVED,
        severity="note" if accepted else "error",
        message="that nothing else is loosened is not proved: not every kind of call could be compared",
        details=difference.reasons,
        suggestion="" if accepted else _SUGGESTIONS[difference.exactness],
        docs=DOCS,
    )


def uncovered(difference: Difference, approvals: DiffApprovals | None, today: date) -> tuple[Change, ...]:
    """Return the loosened changes that no approval covers."""
    listed = approvals.approvals if approvals else ()
    return tuple(c for c in difference.loosened if not any(_covers(a, c, today) for a in listed))


def draft(
    changes: Iterable[Change], *, reason: str, approver: str, expires: date | None
) -> tuple[DiffApproval, ...]:
    """Return approvals of some changes."""
    return tuple(
        DiffApproval(
            change=change.id,
            meaning=change.meaning,
            says=statement(change),
            reason=reason,
            approver=approver,
            expires=expires,
        )
        for change in changes
    )


def _covers(approval: DiffApproval, change: Change, today: date) -> bool:
    return _is_of(approval, change) and not _has_expired(approval, today)


def _is_of(approval: DiffApproval, change: Change) -> bool:
    return (approval.change, approval.meaning) == (change.id, change.meaning)


def _has_expired(approval: DiffApproval, today: date) -> bool:
    return approval.expires is not None and approval.expires < today


def _judged(change: Change, listed: Sequence[DiffApproval], file: Path | None, today: date) -> Problem:
    covering = next((a for a in listed if _covers(a, change, today)), None)
    lines = tuple(details(change))
    if covering is not None:
        end = f" until {covering.expires}" if covering.expires else ""
        said = f"approved by {covering.approver}{end}: {covering.reason}"
        return Problem(
            id=change.id,
            severity="note",
            message=f"loosened: {statement(change)}",
            details=(*lines, said),
            file=shown_path(file) if file else None,
            docs=DOCS,
        )
    why = _why_not(change, listed)
    return Problem(
        id=change.id,
        message=f"loosened without approval: {statement(change)}",
        clause=change.witness.new.clause if change.witness else None,
        details=(*lines, *why),
        suggestion=_RULES,
        docs=DOCS,
    )


def _why_not(change: Change, listed: Sequence[DiffApproval]) -> tuple[str, ...]:
    """Say why approvals of the same words do not count."""
    approvals = []
    for approval in listed:
        if _is_of(approval, change):
            approvals.append(f"its approval by {approval.approver} expired on {approval.expires}")
        elif approval.change == change.id:
            approvals.append(
                f"an approval by {approval.approver} has the same words, but the policies it was given for "
                "meant something else by them"
            )
    return tuple(approvals)


def _unused(difference: Difference, listed: Sequence[DiffApproval], file: Path | None) -> list[Problem]:
    """Name the approvals that are of nothing: nobody should believe that they still do something."""
    ids = {change.id for change in difference.changes}
    return [
        Problem(
            id=approval.change,
            severity="warning",
            message=f"the approval of {approval.change} is of no change between these two policies",
            file=shown_path(file) if file else None,
            details=(f"it says: {approval.says}",) if approval.says else (),
            suggestion="Remove it.",
            docs=DOCS,
        )
        for approval in listed
        if approval.change not in ids
    ]
