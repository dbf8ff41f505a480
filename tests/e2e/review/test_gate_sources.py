"""`verify` and `publish` of a bundle that was compiled from other files than those in the project."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, Inside
from ruamel.yaml import YAML

BUNDLE = "generated/bundle"


def sources(ended: Ended) -> dict[str, Any]:
    """Return the check of the sources in a report in JSON."""
    (check,) = [each for each in json.loads(ended.out)["checks"] if each["name"] == "sources"]
    return dict(check)


def opposite(project: Path) -> None:
    file = project / "constitution.md"
    file.write_text(file.read_text().replace("may be read", "may never be read", 1))


def flipped(project: Path) -> None:
    file = project / "scenarios.yaml"
    file.write_text(file.read_text().replace("expect: deny", "expect: allow", 1))


def removed(project: Path) -> None:
    (project / "scenarios.yaml").unlink()


def answered(project: Path) -> None:
    (project / "answers.yaml").write_text("format: ironcurtain/scenarios/v1\nscenarios: []\n")


def other_hosts(project: Path) -> None:
    file = project / "ironcurtain.toml"
    file.write_text('case_insensitive_hosts = ["example.com"]\n' + file.read_text())


@pytest.mark.parametrize(
    ("edit", "file"),
    [
        (opposite, "constitution.md"),
        (flipped, "scenarios.yaml"),
        (removed, "scenarios.yaml"),
        (answered, "answers.yaml"),
        (other_hosts, "ironcurtain.toml"),
    ],
)
def test_an_edited_source_is_a_failure_that_names_the_file(
    waived: Path, inside: Inside, edit: Callable[[Path], None], file: str
) -> None:
    before = inside("verify", BUNDLE, "--format", "json")
    assert (before.code, sources(before)["status"]) == (0, "passed"), before
    edit(waived)
    after = inside("verify", BUNDLE, "--format", "json")
    assert after.code == 1
    check = sources(after)
    assert check["status"] == "failed"
    assert [(each["id"], each["file"]) for each in check["problems"]] == [(file, file)]


def test_the_clause_that_reads_otherwise_is_named_with_its_line(waived: Path, inside: Inside) -> None:
    opposite(waived)
    (problem,) = sources(inside("verify", BUNDLE, "--format", "json"))["problems"]
    line = (waived / "constitution.md").read_text().splitlines()[problem["line"] - 1]
    assert "may never be read" in line
    assert problem["clause"]
    assert problem["details"][0].startswith("now: ")
    assert problem["details"][1].startswith("compiled: ")
    result = json.loads(inside("verify", BUNDLE, "--format", "sarif").out)["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], place["region"]["startLine"]) == (problem["clause"], problem["line"])


def test_a_checkout_with_other_line_ends_and_what_no_compile_reads_change_nothing(
    waived: Path, inside: Inside
) -> None:
    constitution = waived / "constitution.md"
    constitution.write_bytes(constitution.read_bytes().replace(b"\n", b"\r\n"))
    with (waived / "ironcurtain.toml").open("a") as settings:
        settings.write("[verify]\ntests = 1\n")
    ended = inside("verify", BUNDLE, "--format", "json")
    assert (ended.code, sources(ended)["status"]) == (0, "passed"), ended


def test_a_copy_without_its_project_says_what_was_not_compared(
    waived: Path, inside: Inside, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(waived / "generated", elsewhere)
    ended = inside("verify", str(elsewhere / "bundle"), "--format", "json")
    check = sources(ended)
    assert check["status"] == "unexamined"
    assert "constitution.md" in check["summary"]


def test_a_compile_makes_it_true_again(waived: Path, inside: Inside) -> None:
    constitution = waived / "constitution.md"
    constitution.write_text(constitution.read_text() + "\n<!-- nothing -->\n")
    assert inside("verify", BUNDLE).code == 1
    assert inside("compile", "--locked", "--saved-tools").code == 0
    assert inside("verify", BUNDLE).code == 0


def test_publish_releases_nothing_that_verify_refuses(waived: Path, inside: Inside, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    assert inside("key", "new", "--output", str(key)).code == 0
    assert inside("compile", "--locked", "--saved-tools", "--sign", "--key", str(key)).code == 0
    publish = ("publish", str(tmp_path / "shelf"), "--verify-key", f"{key.with_suffix('')}.pub.pem")
    opposite(waived)
    refused = inside(*publish)
    assert refused.code == 1
    assert "IC2001" in refused.err
    assert "constitution.md" in refused.err
    assert not (tmp_path / "shelf").exists()


def test_the_hook_runs_on_whatever_verify_compares(waived: Path) -> None:
    hooks = YAML(typ="safe").load(Path(__file__).parents[3] / ".pre-commit-hooks.yaml")
    (hook,) = [each for each in hooks if each["id"] == "ironcurtain-verify"]
    manifest = json.loads((waived / BUNDLE / ".manifest").read_text())
    read = [each["path"] for each in manifest["metadata"]["provenance"]["sources"]]
    demanded = [*(f"{name}.yaml" for name in ("guarantees", "waivers", "diff-approvals", "answers"))]
    for file in (*read, *demanded, "generated/bundle/.manifest", "policies/ours.rego"):
        assert re.search(hook["files"], file), file
