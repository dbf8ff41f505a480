"""`ironcurtain bundle` as people call it: good files give a bundle, anything else leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.cli.main import run

ARGUMENT = {"name": "path", "roles": ["read-path"]}
ANNOTATIONS = {
    "format": "ironcurtain/annotations/v1",
    "servers": {"fs": {"tools": [{"tool": "read_file", "side_effects": True, "args": [ARGUMENT]}]}},
}
RULE = {"name": "read", "clause": "C1", "reason": "r", "then": "allow", "if": {"tool": ["read_file"]}}
NIGHT = """package ironcurtain.custom.night

deny contains {"id": id, "reason": "Not here."} if {
	some id, _ in input.within["read-path"]["/srv/secret"]
}
"""

Build: TypeAlias = Callable[..., tuple[int, Any, Path]]


@pytest.fixture
def build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Build:
    def run_it(
        *,
        rules: Sequence[dict[str, Any]] = (RULE,),
        custom: Mapping[str, str] | None = None,
        output: str = "out",
    ) -> tuple[int, Any, Path]:
        policy = {"format": "ironcurtain/policy/v1", "rules": list(rules)}
        (tmp_path / "policy.json").write_text(json.dumps(policy))
        (tmp_path / "annotations.json").write_text(json.dumps(ANNOTATIONS))
        options = []
        if custom is not None:
            (tmp_path / "custom").mkdir(exist_ok=True)
            for name, text in custom.items():
                (tmp_path / "custom" / name).write_text(text)
            options = ["--custom", str(tmp_path / "custom")]
        files = [
            "--policy",
            str(tmp_path / "policy.json"),
            "--annotations",
            str(tmp_path / "annotations.json"),
        ]
        status = run(["bundle", *files, *options, "-o", str(tmp_path / output)])
        return status, capsys.readouterr(), tmp_path / output

    return run_it


def test_a_tool_without_a_digest_is_warned_of(build: Build) -> None:
    status, printed, _ = build()
    assert status == 0
    assert 'without a schema_digest `ironcurtain proxy` refuses "fs/read_file"' in printed.err


def test_directory_and_archive_print_the_one_revision(build: Build) -> None:
    status, printed, directory = build()
    assert status == 0
    status, again, archive = build(output="out.tar.gz")
    assert status == 0
    assert printed.out == again.out == f"{Bundle.read(directory).revision}\n"
    assert Bundle.read(archive).revision == Bundle.read(directory).revision


def test_a_custom_module_travels_with_its_schema_and_its_patterns(build: Build) -> None:
    status, _, directory = build(custom={"night.rego": NIGHT})
    assert status == 0
    bundle = Bundle.read(directory)
    assert "# schemas:\n#   - input: schema.input\n" in bundle.modules["ironcurtain/custom/night/night.rego"]
    assert PolicyContent.of(bundle).patterns["path"] == ("/srv/secret",)


BAD_MODULES = {
    "another package": ({"a.rego": NIGHT.replace("custom.night", "decision")}, "IC1204"),
    "a test package": ({"a.rego": NIGHT.replace("night", "x_test")}, "IC1204"),
    "a deny of another shape": ({"a.rego": NIGHT.replace('"reason"', '"why"')}, "IC1204"),
    "a deny that is a value": ({"a.rego": "package ironcurtain.custom.x\n\ndeny := true\n"}, "IC1204"),
    "no contribution": ({"a.rego": "package ironcurtain.custom.x\n\nallow := true\n"}, "IC1204"),
    "a data file": ({"data.json": "{}"}, "IC1204"),
    "a misspelt role": ({"a.rego": NIGHT.replace("read-path", "read-pth")}, "IC1204"),
    "no Rego": ({"a.rego": "package"}, "IC2002"),
    "a network call": (
        {"a.rego": NIGHT.replace("some id", 'http.send({"method": "get", "url": "x"})\n\tsome id')},
        "IC2002",
    ),
}


@pytest.mark.parametrize(("custom", "code"), BAD_MODULES.values(), ids=BAD_MODULES)
def test_a_custom_module_that_breaks_the_rules_is_refused(
    build: Build, custom: dict[str, str], code: str
) -> None:
    status, printed, directory = build(custom=custom)
    assert status in (1, 2)
    assert code in printed.err
    assert printed.out == ""
    assert not directory.exists()


def test_a_mistake_leaves_the_old_bundle_as_it_was(build: Build) -> None:
    _, _, directory = build()
    before = Bundle.read(directory).files
    status, printed, _ = build(rules=[{**RULE, "if": {"tool": ["no_such_tool"]}}])
    assert status == 2
    assert "no_such_tool" in printed.err
    assert Bundle.read(directory).files == before


def test_a_directory_that_is_no_bundle_is_not_replaced(build: Build, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("x")
    status, _, directory = build()
    assert status == 3
    assert (directory / "precious").read_text() == "x"
