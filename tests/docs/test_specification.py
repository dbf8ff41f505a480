"""docs/specification.md: its sections exist where they are cited, and its tables say what the code says."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from ironcurtain.decision import policy_input
from ironcurtain.decision.canonical import identifiers, paths, resources, urls
from ironcurtain.decision.roles import BUILT_IN
from ironcurtain.enforcement.calls import repeated_calls
from ironcurtain.model.reserved_rules import NO_ANSWER, ReservedRule, RuleKind
from ironcurtain.system import json_text

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "specification.md").read_text()
SECTIONS = re.findall(r"^##+ (\d+(?:\.\d+)?) ", PAGE, re.MULTILINE)
SOURCES = sorted(
    path
    for folder in ("ironcurtain", "rego", "tests")
    for pattern in ("*.py", "*.rego")
    for path in (ROOT / folder).rglob(pattern)
)
CITED = re.compile(r"\bspecification (\d+(?:\.\d+)?)")
ELSEWHERE = re.compile(r"\bsemantics \d|\bsection \d")


def part(number: str) -> str:
    """Return the text of a section."""
    return re.split(r"^##", PAGE.split(f"# {number} ", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_sections_are_numbered_once_and_in_order() -> None:
    numbers = [tuple(map(int, number.split("."))) for number in SECTIONS]
    assert numbers == sorted(set(numbers))


def test_every_cited_section_exists() -> None:
    cited = {
        (path.relative_to(ROOT), number)
        for path in SOURCES
        for number in CITED.findall(path.read_text())
        if path != Path(__file__)
    }
    assert not {(path, number) for path, number in cited if number not in SECTIONS}
    assert len({number for _, number in cited}) > 20


def test_no_text_cites_a_specification_that_is_not_here() -> None:
    assert not [path for path in SOURCES if path != Path(__file__) and ELSEWHERE.search(path.read_text())]


def test_the_page_refers_to_sections_that_exist() -> None:
    referred = re.findall(r"(?<=[( |])(\d\.\d+)(?=[) ,|]| clause)", PAGE)
    assert referred
    assert set(referred) <= set(SECTIONS)


CUSTOM = "| `custom-NAME` | 2.6 | deny, escalate | the project's own Rego | as for a rule of the policy |"
AFTERWARDS = {RuleKind.PROXY, RuleKind.SANDBOX, RuleKind.GATEWAY}


def rows_of_reserved_rules() -> list[str]:
    """Return the table's rows as the enumeration has them; rules with the same facts share one."""
    listed = [rule for rule in ReservedRule if rule.facts.kind not in AFTERWARDS]
    rows = []
    for facts, rules in itertools.groupby(listed, key=lambda rule: rule.facts):
        names = ", ".join(f"`{rule}`" for rule in rules)
        steps = ", ".join(f"2.{step}" for step in facts.steps) or "any"
        cells = (names, steps, facts.verdict.value, facts.change, facts.told)
        rows.append(re.sub(" +", " ", f"| {' | '.join(cells)} |"))
        if facts.kind is RuleKind.DEFAULT:
            rows.append(CUSTOM)
    return rows


def test_the_table_of_reserved_rules_is_the_enumeration() -> None:
    table, others = part("2.8").split("The proxy denies under further names", 1)
    rows = [re.sub(" +", " ", row) for row in table.splitlines() if row.startswith("| `")]
    assert rows == rows_of_reserved_rules()
    further = {rule.value for rule in ReservedRule if rule.facts.kind in AFTERWARDS}
    assert {*re.findall("`(.+?)`", others)} == further


def test_every_reserved_rule_says_what_the_agent_is_told_in_one_way() -> None:
    assert not [rule for rule in ReservedRule if rule.facts.public and rule.facts.shows_reason]
    assert {rule for rule in ReservedRule if rule.gives_no_answer} == {
        rule for rule in ReservedRule if rule.facts.public == NO_ANSWER
    }


def test_every_built_in_role_is_listed_with_what_it_means() -> None:
    rows = re.findall(r"^\| (`.+?) \| (\w+) \| (yes|no) \| (yes|no) \|", part("1.1"), re.MULTILINE)
    listed = {
        (name, category, resource == "yes", exempt == "yes")
        for names, category, resource, exempt in rows
        for name in re.findall("`(.+?)`", names)
    }
    assert listed == {(role.name, role.category, role.resource, role.containable) for role in BUILT_IN}


@pytest.mark.parametrize(
    ("limit", "section", "text"),
    [
        (json_text.MAX_BYTES, "1.10", "1 MiB"),
        (json_text.MAX_DEPTH, "1.10", "64 levels"),
        (paths.MAX_BYTES, "1.10", "4,096 bytes"),
        (paths.MAX_COMPONENTS, "1.10", "128 components"),
        (urls.MAX_URL_BYTES, "1.10", "8,192 bytes"),
        (urls.MAX_SEGMENTS, "1.10", "64 segments"),
        (identifiers.MAX_IDENTIFIER_BYTES, "1.10", "1,024 bytes"),
        (resources.MAX_SUBJECTS, "1.10", "10,000"),
        (resources.MAX_PLACES, "1.10", "100,000 places"),
        (policy_input.MAX_BYTES, "1.10", "8 MiB"),
        (paths.MAX_LINKS, "1.3", "40 of them"),
        (repeated_calls.MOST, "2.8", "20 times"),
    ],
)
def test_limits_are_those_of_the_code(limit: int, section: str, text: str) -> None:
    number = int(re.sub(r"\D", "", text)) * (1 << 20 if "MiB" in text else 1)
    assert number == limit
    assert text in " ".join(part(section).split())
