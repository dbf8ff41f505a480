"""Approvals of single changes of a policy (`diff-approvals.yaml`): read if there, extended for review."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator
from ruamel.yaml import YAML

from ironcurtain.errors import UsageError
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
    writer = YAML(typ="rt")
    writer.width = 4096
    writer.indent(mapping=2, sequence=4, offset=2)
    document: Any = writer.load(read_text(path) if known else _HEADER)
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
    atomic_write(path, stream.getvalue().encode())
