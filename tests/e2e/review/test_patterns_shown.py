"""Reports show a rule's pattern as it was written: `\\d`, never with another backslash."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.program import Inside
from support.projects.planted import bundle_of

PATTERN = r"\d{4}-\w+\.(?:md|rst)"
RULES = [
    {
        "name": "ask-dated",
        "then": "escalate",
        "if": {"tool": ["run_query"], "args": [{"name": "sql", "op": "matches", "value": PATTERN}]},
    },
    {
        "name": "allow-search",
        "then": "allow",
        "if": {"tool": ["run_query"], "args": [{"name": "sql", "op": "not_equals", "value": "x"}]},
    },
]
BUNDLE = "bundle.tar.gz"
CALL = ["--home", "/home/user", "files", "run_query", '{"sql": "x"}']


@pytest.mark.parametrize(
    "command",
    [
        ["matrix", BUNDLE],
        ["matrix", BUNDLE, "--format", "html"],
        ["explain", "--bundle", BUNDLE, *CALL],
        ["explain", "--bundle", BUNDLE, "--clause", "C1"],
        ["findings", "--bundle", BUNDLE],
    ],
    ids=" ".join,
)
def test_a_pattern_stands_in_reports_as_in_its_rule(
    command: list[str], tmp_path: Path, inside: Inside
) -> None:
    (tmp_path / BUNDLE).write_bytes(bundle_of({"tools": ["run_query"], "rules": RULES}).archive())
    ended = inside(*command, cwd=tmp_path)
    assert ended.code in (0, 1), ended.err
    assert PATTERN in ended.out
    assert r"\\d" not in ended.out
