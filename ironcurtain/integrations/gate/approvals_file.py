"""The file of approvals of changes: read if it is there, extended for review."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from ironcurtain.errors import UsageError
from ironcurtain.integrations.gate.change_approvals_model import DiffApproval, DiffApprovals
from ironcurtain.system.files import atomic_write, has_content, load, read_text

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
