"""`findings` and `coverage` as people call them, and what each says of bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, Inside
from support.projects.planted import bundle_of
from support.projects.policies import annotations_of, compiled, rule

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.system import json_text

OFFICE = ROOT / "examples" / "office"
RULES = [
    {
        "name": "deny-guests",
        "then": "deny",
        "if": {
            "roles": ["read-path"],
            "caller": [{"name": "/groups/*", "op": "equals", "value": "guests", "over": "some"}],
        },
    },
    {
        "name": "allow-read",
        "then": "allow",
        "if": {"tool": ["read_file"], "paths": {"roles": ["read-path"], "within": ["~/Documents"]}},
    },
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Write a bundle about which there is one warning."""
    return write(tmp_path / "bundle.tar.gz", bundle_of({"tools": ["read_file"], "rules": RULES}))


def write(path: Path, bundle: Bundle) -> Path:
    path.write_bytes(bundle.archive())
    return path


def waivers(directory: Path, *listed: dict[str, str]) -> Path:
    path = directory / "waivers.yaml"
    path.write_text(json_text.pretty({"format": "ironcurtain/waivers/v1", "waivers": list(listed)}))
    return path


# -- findings ---------------------------------------------------------------------------------------


def test_findings_of_the_project_that_one_stands_in(inside: Inside) -> None:
    ended = inside("findings", cwd=ROOT)
    assert (ended.code, ended.out) == (0, "0 errors, 0 warnings, 0 notes, 0 waived\n")
    assert inside("findings", "-q", cwd=OFFICE).out == ""
    assert inside("findings", cwd=OFFICE).out == "0 errors, 0 warnings, 0 notes, 0 waived\n"


def test_a_bundle_that_is_named_belongs_to_the_project_above_it(inside: Inside, tmp_path: Path) -> None:
    waived = {"id": "dead-rule-12345678", "reason": "It will live.", "expires": "9999-12-31"}
    waivers(tmp_path, waived)
    named = str(OFFICE / "generated" / "bundle")
    assert inside("findings", "--bundle", named, cwd=tmp_path).code == 0
    moved = shutil.copytree(OFFICE / "generated", tmp_path / "generated")
    waivers(tmp_path / "generated", waived)
    assert inside("findings", "--bundle", str(moved / "bundle"), cwd=OFFICE).codes == ["IC1403"]


def test_each_severity_fails_as_asked(inside: Inside, written: Path) -> None:
    named = ("findings", "--bundle", str(written))
    assert inside(*named).code == 1
    assert inside(*named, "--fail-on", "note").code == 1
    assert inside(*named, "--fail-on", "error").code == 0


def test_the_formats_tell_the_same(inside: Inside, written: Path) -> None:
    printed = {
        f: inside("findings", "--bundle", str(written), "--format", f).out
        for f in ("text", "json", "markdown")
    }
    (finding,) = json.loads(printed["json"])["findings"]
    assert finding["kind"] == "evadable-rule"
    assert finding["witness"]["verdict"] == "allow"
    for text in printed.values():
        assert finding["id"] in text
    assert "See `ironcurtain error evadable-rule`." in printed["text"]
    assert finding["docs"] in printed["markdown"]
    assert printed["markdown"].startswith("# Findings\n")


def test_a_waiver_accepts_a_finding(inside: Inside, written: Path, tmp_path: Path) -> None:
    report = json.loads(inside("findings", "--bundle", str(written), "--format", "json").out)
    (id_,) = [finding["id"] for finding in report["findings"]]
    waivers(tmp_path, {"id": id_, "reason": "Guests say so.", "expires": "9999-12-31"})
    ended = inside("findings", "--bundle", str(written))
    assert (ended.code, ended.out, ended.err) == (0, "0 errors, 0 warnings, 0 notes, 1 waived\n", "")


def test_waivers_that_expired_or_are_for_nothing_are_told_of(
    inside: Inside, written: Path, tmp_path: Path
) -> None:
    report = json.loads(inside("findings", "--bundle", str(written), "--format", "json").out)
    (id_,) = [finding["id"] for finding in report["findings"]]
    waivers(
        tmp_path,
        {"id": id_, "reason": "Guests say so.", "expires": "2020-12-31"},
        {"id": "dead-rule-12345678", "reason": "It will live.", "expires": "9999-12-31"},
    )
    ended = inside("findings", "--bundle", str(written), cwd=tmp_path)
    assert ended.code == 2
    assert ended.codes == ["IC1403", "IC1403"]
    assert f"the waiver {id_} expired on 2020-12-31\n  --> waivers.yaml:" in ended.err
    assert "the waiver dead-rule-12345678 is for a finding that is gone" in ended.err
    assert "1 warning" in ended.out


# -- coverage ---------------------------------------------------------------------------------------


def test_coverage_of_the_shipped_policy(inside: Inside) -> None:
    ended = inside("coverage", "--fail-under", "90", "--format", "json", cwd=ROOT)
    report = json.loads(ended.out)
    assert ended.code == 0
    assert report["rules"]["reached"] == report["rules"]["total"]
    assert report["records"] > report["scenarios"] > 100


def test_too_little_coverage_fails_and_says_what_is_missing(inside: Inside) -> None:
    ended = inside("coverage", "--fail-under", "80", cwd=OFFICE)
    assert ended.code == 1
    assert "not reached: office/mail_list_sent none: call" in ended.out
    assert "C7: 1 scenario, 0 guarantees, 1 of 1 rules" in ended.out
    assert "less than 80 %" in ended.err
    records = json.loads(inside("coverage", "--format", "json", cwd=OFFICE).out)["records"]
    assert f"not counted: {records} records" in ended.out


def test_coverage_needs_scenarios(inside: Inside, written: Path) -> None:
    ended = inside("coverage", "--bundle", str(written))
    assert (ended.code, ended.codes) == (2, ["IC1001"])


# -- bad input --------------------------------------------------------------------------------------

COMMANDS = (("findings", "--bundle"), ("coverage", "--bundle"), ("mutation", "--bundle"), ("matrix",))


def scenarios(directory: Path) -> Path:
    path = directory / "test-scenarios.json"
    path.write_text('{"format": "ironcurtain/scenarios/v1", "scenarios": []}')
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_bundle_without_annotations(command: tuple[str, ...], inside: Inside, tmp_path: Path) -> None:
    bundle = bundle_of({"tools": ["read_file"], "rules": RULES})
    kept = {
        p: d for p, d in bundle.files.items() if p not in (".manifest", "ironcurtain/annotations/data.json")
    }
    path = write(tmp_path / "bundle.tar.gz", Bundle.build(kept, bundle.manifest.metadata))
    ended = inside(*command, str(path), "--scenarios", str(scenarios(tmp_path)))
    assert (ended.code, ended.codes) == (3, ["IC3101"])
    assert "annotations" in ended.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_rules_from_a_newer_format(command: tuple[str, ...], inside: Inside, tmp_path: Path) -> None:
    def with_rule(**changed: Any) -> Path:
        bundle = bundle_of({"tools": ["read_file"], "rules": RULES})
        document = json.loads(bundle.files["ironcurtain/rules/data.json"])
        document["rules"]["allow-read"].update(changed)
        files = {p: d for p, d in bundle.files.items() if p != ".manifest"}
        files["ironcurtain/rules/data.json"] = json_text.pretty(document).encode()
        return write(tmp_path / "bundle.tar.gz", Bundle.build(files, bundle.manifest.metadata))

    unknown = with_rule(**{"if": {"tool": ["read_file"], "weather": ["rain"]}})
    ended = inside(*command, str(unknown), "--scenarios", str(scenarios(tmp_path)))
    assert (ended.code, ended.codes) == (3, ["IC3101"])
    assert "weather" in ended.err


@pytest.mark.parametrize("command", ["findings", "coverage"])
def test_scenarios_from_a_newer_format(command: str, inside: Inside, written: Path) -> None:
    newer = written.parent / "newer.json"
    newer.write_text('{"format": "ironcurtain/scenarios/v2", "scenarios": []}')
    ended = inside(command, "--bundle", str(written), "--scenarios", str(newer))
    assert (ended.code, ended.codes) == (2, ["IC1004"])


def exploding() -> Bundle:
    """Return a policy with few rules and more than 100,000 ways to a verdict."""
    names = [f"a{number:02}{part}" for number in range(20) for part in "xy"]
    tool = {
        "tool": "t",
        "side_effects": True,
        "input_schema": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in names},
            "additionalProperties": False,
        },
        "args": [{"name": name, "roles": ["none"]} for name in names],
    }
    rules = [
        rule(
            f"r{number}",
            "deny" if number % 2 else "escalate",
            tool=["t"],
            args=[{"name": f"a{number:02}{part}", "op": "equals", "value": "v"} for part in "xy"],
        )
        for number in range(20)
    ]
    return assemble(
        compiled(rules),
        annotations_of({"s": [tool]}),
        None,
        registry=Registry(()),
        release=Release(engine_version="test"),
    )


@pytest.mark.parametrize("command", [*COMMANDS[:2], ("matrix",)], ids=" ".join)
def test_a_tool_whose_conditions_explode_is_refused_with_what_causes_it(
    command: tuple[str, ...], inside: Inside, tmp_path: Path
) -> None:
    path = write(tmp_path / "bundle.tar.gz", exploding())
    ended = inside(*command, str(path), "--scenarios", str(scenarios(tmp_path)))
    assert (ended.code, ended.codes) == (2, ["IC1402"])
    assert "the rules of s/t have more than 100,000 ways to a verdict" in ended.err
    assert "a00x (2 classes) in 1 rules" in ended.err


def test_a_guarantee_about_requests_that_no_rule_opens(inside: Inside, written: Path) -> None:
    """It was an error, though every such request is denied: `never` is kept, and `always` cannot be."""
    path = written.parent / "guarantees.yaml"
    listed = str(scenarios(written.parent))
    command = ("guarantees", str(written), "--file", str(path), "--scenarios", listed)

    def demand(**what: str) -> None:
        guarantee: dict[str, Any] = {"id": "G1", "when": {"tool": ["mcp/sampling"]}, **what}
        path.write_text(json_text.pretty({"format": "ironcurtain/guarantees/v1", "guarantees": [guarantee]}))

    demand(never="escalate")
    ended = inside(*command)
    assert ended.code == 0, ended.err
    assert "ok    G1: never escalate, proved" in ended.out
    assert "      no rule opens mcp/sampling, so every such request is denied\n" in ended.out
    demand(always="allow")
    refused = inside(*command)
    assert (refused.code, "No rule opens these requests" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("when", "complaint"),
    [
        ({"tool": ["raed_file"]}, "there is no tool"),
        ({"roles": ["raed-path"]}, "there is no role"),
        ({"roles": ["read-path"], "within": ["~/a/b"], "outside": ["~/a"]}, "nothing lies within"),
    ],
    ids=["tool", "role", "patterns"],
)
def test_guarantees_that_name_nothing_or_contradict_themselves(
    when: dict[str, Any], complaint: str, inside: Inside, written: Path
) -> None:
    demanded: dict[str, Any] = {
        "format": "ironcurtain/guarantees/v1",
        "guarantees": [{"id": "G1", "never": "allow", "when": when}],
    }
    path = written.parent / "guarantees.yaml"
    path.write_text(json_text.pretty(demanded))
    listed = str(scenarios(written.parent))
    for command in (
        ["guarantees", str(written), "--file", str(path), "--scenarios", listed],
        ["coverage", "--bundle", str(written), "--guarantees", str(path), "--scenarios", listed],
    ):
        ended = inside(*command)
        assert (ended.code, ended.codes) == (2, ["IC1401"])
        assert complaint in ended.err
