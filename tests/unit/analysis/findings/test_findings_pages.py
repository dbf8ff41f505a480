"""Each kind of finding has a page, whose example causes it and, with the parts of its fix, does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from support.projects.planted import findings_of

from ironcurtain.analysis.findings.report import KINDS, FindingReport

PAGES = Path(__file__).parents[4] / "docs" / "findings"


def block(kind: str, heading: str) -> dict[str, Any]:
    text = (PAGES / f"{kind}.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n+```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    document: dict[str, Any] = YAML(typ="safe").load(found[1])
    return document


def of_kind(report: FindingReport, kind: str) -> list[str]:
    return [finding.message for finding in report.findings if finding.kind == kind]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "contradicted-proof"])
def test_the_example_of_a_page_causes_the_finding_and_the_fix_mends_it(kind: str) -> None:
    example = block(kind, "Example")
    assert len(of_kind(findings_of(example), kind)) == 1
    assert of_kind(findings_of({**example, **block(kind, "Fix")}), kind) == []


def test_there_is_no_page_of_another_kind_and_each_says_its_severity() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {*KINDS, "README"}
    listed = re.findall(r"^- [A-Z]\w+: (.+(?:\n  .+)*)", (PAGES / "README.md").read_text(), re.MULTILINE)
    assert {*re.findall("`(.+?)`", "".join(listed))} == {*KINDS}
    for kind in KINDS:
        text = (PAGES / f"{kind}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {kind}\n\nSeverity: ")
