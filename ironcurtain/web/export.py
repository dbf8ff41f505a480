"""The pages of the policy and of the comparison as files that need no server, for the artifacts of CI."""

from __future__ import annotations

import sys
from pathlib import Path

from ironcurtain.analysis.matrix.html import html_page
from ironcurtain.system.files import atomic_write
from ironcurtain.web.compare import HERE as COMPARE
from ironcurtain.web.compare import Comparison
from ironcurtain.web.policy import HERE as POLICY
from ironcurtain.web.policy_heat import heat_map
from ironcurtain.web.policy_report import PolicyReport
from ironcurtain.web.rendering import exported


def export(directory: Path, report: PolicyReport, comparison: Comparison | None) -> tuple[Path, ...]:
    """Write the pages, and the decision matrix as a page with filters; return the files.

    Args:
        directory: Where they are written; it is made where it does not exist.
        report: The policy.
        comparison: What changed since an older policy; None where none was named.

    Raises:
        OSError: If a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    matrix, has_compare = report.matrix, comparison is not None
    files = {
        "policy.html": exported(
            "policy.html",
            POLICY,
            has_compare=has_compare,
            report=report,
            chosen="",
            use=None,
            decides=True,
            effects={each.id: report.effects(each.id) for each in report.sentences},
            servers=sorted(matrix.servers),
            maps=[heat_map(matrix, server, most=sys.maxsize) for server in sorted(matrix.servers)],
        ),
        "matrix.html": html_page(matrix, report.clauses),
    }
    if comparison is not None:
        files["compare.html"] = exported("compare.html", COMPARE, has_compare=True, compared=comparison)
    for name, text in files.items():
        atomic_write(directory / name, text.encode())
    return tuple(directory / name for name in files)
