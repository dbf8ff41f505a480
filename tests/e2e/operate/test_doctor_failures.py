"""Every failure that a person at home or an operator can meet, planted for real: doctor names it and its fix.

They stand in `support/machines/failures_of_policy.py` and `support/machines/failures_around.py`. The failures
of a compile are told by the compile itself, at the place in the file; those codes stand below.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from e2e.program import ROOT, Inside
from fixtures.tiny_project import tree
from jsonschema import Draft202012Validator
from support.machines import failures_around, failures_of_policy
from support.machines.contained import NEEDS_SANDBOX
from support.machines.failures_of_policy import SECRET
from support.machines.healthy_installation import House

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "doctor.json").read_text()))
PLANTS = [*failures_of_policy.PLANTS, *failures_around.PLANTS]
CONTAINED = {"a Node.js that is too old"}
OF_COMPILING = {
    "IC0001", "IC0002", "IC1007", "IC1101", "IC1102", "IC1103", "IC1104", "IC1201", "IC1202", "IC1203",
    "IC1204", "IC1205", "IC1301", "IC1401", "IC1402", "IC1403", "IC2001", "IC2002", "IC2003", "IC3302",
    "IC3303", "IC3402", "IC3405", "IC4001", "IC4002", "IC1009", "IC1010", "IC1501", "IC1601",
}  # fmt: skip
FOREIGN = (
    *("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    *("IRONCURTAIN_MODEL", "IRONCURTAIN_JUDGE_MODEL", "IRONCURTAIN_SECOND_MODEL"),
    *(name for each in ("http", "https", "all", "no") for name in (f"{each}_proxy", f"{each}_proxy".upper())),
)


@pytest.fixture
def house(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("HOME", str(project / "home"))
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    (project / "home" / ".ironcurtain").mkdir(parents=True, mode=0o700)
    # What is not about servers starts none.
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": {"tools": "tools.json"}}}))
    with ExitStack() as stack:
        yield House(project, monkeypatch, stack)


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(run, marks=[NEEDS_SANDBOX] if run in CONTAINED else [])
        for run in dict.fromkeys(each.run for each in PLANTS)
    ],
)
def test_each_is_named_with_its_fix(run: str, house: House, inside: Inside) -> None:
    signs = []
    for planted in [each for each in PLANTS if each.run == run]:
        told = planted.spoil(house)
        assert {sign.code for sign in told} - {""} == planted.codes
        signs += told
    before = tree(house.project)
    ended = inside("doctor", "--format", "json", "--timeout", "200", *house.options, cwd=house.project)
    assert ended.err == ""
    assert SECRET not in ended.out
    report = json.loads(ended.out)
    SCHEMA.validate(report)
    for sign in signs:
        found = [each for each in report["checks"] if each["name"] == sign.name]
        assert any(
            (each["status"], each["code"]) == (sign.status, sign.code)
            and sign.what in each["what"]
            and sign.fix in each["fix"]
            for each in found
        ), (sign, found)
    failing = [each for each in report["checks"] if each["status"] == "fail"]
    assert all(each["fix"] for each in failing), failing
    assert (ended.code, report["ok"]) == ((1, False) if failing else (0, True))
    assert bool(failing) is any(sign.status == "fail" for sign in signs)
    assert tree(house.project) == before, "it changes nothing"


def test_no_code_is_forgotten() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "errors").glob("IC*.md")}
    planted = set().union(*(each.codes for each in PLANTS))
    assert pages == planted | OF_COMPILING
    assert not planted & OF_COMPILING
