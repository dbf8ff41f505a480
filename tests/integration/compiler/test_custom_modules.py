"""A project's own Rego: what is misspelt is told at build time, at the author's file and line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from e2e.program import ROOT, Ended, in_process

HEAD = "package ironcurtain.custom.programs\n\n# A comment.\n"
ANNOTATIONS = {
    "format": "ironcurtain/annotations/v1",
    "roles": [{"name": "ticket", "description": "A ticket.", "guidance": "Its key.", "case": "exact"}],
    "servers": {
        "fs": {
            "tools": [
                {
                    "tool": "read_file",
                    "side_effects": True,
                    "contained": True,
                    "comment": "",
                    "args": [{"name": "path", "roles": ["read-path"]}],
                    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
                }
            ]
        }
    },
}
RULE = {
    "name": "fs-allow",
    "clause": "C1",
    "reason": ".",
    "then": "allow",
    "if": {"server": ["fs"], "paths": {"roles": ["read-path"], "within": ["/srv"]}},
}


def built(directory: Path, body: str, head: str = HEAD) -> Ended:
    """Build a bundle with one module: its head, and this body from line 4 on."""
    policy = {"format": "ironcurtain/policy/v1", "rules": [RULE]}
    (directory / "policy.json").write_text(json.dumps(policy))
    (directory / "annotations.json").write_text(json.dumps(ANNOTATIONS))
    (directory / "mine").mkdir(exist_ok=True)
    (directory / "mine" / "programs.rego").write_text(head + body)
    files = ("--policy", "policy.json", "--annotations", "annotations.json", "--custom", "mine")
    return in_process("bundle", *files, "-o", "out", cwd=directory)


def over(condition: str, bound: str = "some id, resource in input.subjects") -> str:
    """Return a rule whose condition stands in line 6."""
    return f'deny contains {{"id": id, "reason": "No."}} if {{\n\t{bound}\n\t{condition}\n}}\n'


MISTAKES = {
    "a role in a comparison": (over('resource.role == "read-pth"'), 6, "read-path"),
    "a role on the left": (over('"write-pathh" == resource.role'), 6, "write-path"),
    "a role that must not be": (over('resource.role != "delet-path"'), 6, "delete-path"),
    "a role that is unified": (over('resource.role = "read_path"'), 6, "read-path"),
    "a role in a set": (over('resource.role in {"read-path", "fetch-urls"}'), 6, "fetch-url"),
    "a role of the project": (over('resource.role == "tickets"'), 6, "ticket"),
    "a role in a variable": (over('role := resource.role; role == "read-pth"'), 6, "read-path"),
    "a role without a variable": (
        over('input.subjects[id].role == "read-pth"', "some id"),
        6,
        "read-path",
    ),
    "a role in a constant": (over("resource.role in bad") + 'bad := {"read-pth"}\n', 8, "read-path"),
    "a role in a function": (
        over("is_program(resource)") + 'is_program(r) if r.role == "write-pth"\n',
        8,
        "write-path",
    ),
    "a role in a loop": (
        over('every r in input.subjects { r.role == "read-pth" }', "some id, _ in input.subjects"),
        6,
        "read-path",
    ),
    "a role as a key": (over('input.roles["read-pth"][id]'), 6, "read-path"),
    "a role as a key of patterns": (over('"/srv" in input.patterns["read-pth"]'), 6, "read-path"),
    "a role of what the sandbox has": (over('input.sandboxed.roles["read-pth"][id]'), 6, "read-path"),
    "a key of a resource": (over('endswith(resource.vale, ".exe")'), 6, "value"),
    "a key of a resource that must not be": (over("not resource.discharge"), 6, "discharged"),
    "a key without a variable": (over("input.subjects[id].valu", "some id"), 6, "value"),
    "a key of an assigned resource": (
        over("other := input.subjects[id]; other.att", "some id"),
        6,
        "at",
    ),
    "a key of the input": (over("input.side_effect"), 6, "side_effects"),
}


@pytest.mark.parametrize(("body", "line", "meant"), MISTAKES.values(), ids=MISTAKES)
def test_a_misspelt_name_is_told_with_its_place_and_what_was_meant(
    tmp_path: Path, body: str, line: int, meant: str
) -> None:
    ended = built(tmp_path, body)
    assert (ended.code, ended.codes) == (2, ["IC1204"]), ended.err
    assert f"  --> mine/programs.rego:{line}:" in ended.err
    assert f'  hint: Did you mean "{meant}"?\n' in ended.err
    written = (HEAD + body).splitlines()[line - 1]
    assert f"   | {written.strip()}" in ended.err.replace("\\t", "")
    assert not (tmp_path / "out").exists()


ANY_OF = """
any_of if { some r in input.subjects; r.at != "" }
any_of if { some r in input.args.list; r.vale }
"""
FINE = {
    "every role and key": over(
        'resource.role in {"read-path", "ticket", "none"}; resource.value != resource.at; '
        "not resource.discharged"
    ),
    "an argument of that name": over('input.args.role == "admin"'),
    "a fact of that name": over('input.caller.resource.vale == "x"'),
    "another thing of that name": over(
        'resource.role == "admin"; resource.vale', "some id, resource in input.args.list"
    ),
    "a variable that is two things": over("any_of", "some id, _ in input.subjects") + ANY_OF,
    "a function of anything": over("f(resource)") + 'f(x) if x.vale == 1\n\ng if f({"vale": 1})\n',
    "the helpers of bundles": over("data.ironcurtain.matching"),
}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_what_may_be_something_else_is_left_alone(tmp_path: Path, body: str) -> None:
    # The shipped tests of a bundle have calls of their own, which this rule must leave alone.
    ended = built(tmp_path, body.replace("\tsome id", '\tinput.tool == "read_file"\n\tsome id', 1))
    assert "there is no" not in ended.err
    assert ended.code == 0, ended.err


def test_what_opa_finds_is_told_at_the_authors_line_too(tmp_path: Path) -> None:
    unsafe = built(tmp_path, over("x > 1"))
    assert (unsafe.code, unsafe.codes) == (1, ["IC2002"])
    assert "  --> mine/programs.rego:6:2\n" in unsafe.err
    parsed = built(tmp_path, over("resource.role == "))
    assert (parsed.code, parsed.codes) == (1, ["IC2002"])
    assert "  --> mine/programs.rego:7:1\n" in parsed.err
    typed = built(tmp_path, over("input.tool > 3; count(input.side_effects) > 1"))
    assert "  --> mine/programs.rego:6:" in typed.err
    assert str(tmp_path) not in typed.err


def test_all_mistakes_of_a_module_are_told_together(tmp_path: Path) -> None:
    ended = built(tmp_path, over('resource.role == "read-pth"') + over('resource.vale == "x"'))
    assert ended.codes == ["IC1204", "IC1204"]


def test_the_module_of_the_page_is_built_and_its_mistake_is_told_as_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "policy-authors.md").read_text()
    module = next(text for text in re.findall(r"(?ms)^```rego\n(.*?)^```$", page) if "custom" in text)
    said = next(text for text in re.findall(r"(?ms)^```text\n(.*?)^```$", page) if "IC1204" in text)
    assert built(tmp_path, module, head="").code == 0
    wrong = built(tmp_path, module.replace("write-path", "write-pth"), head="")
    assert said.replace("custom/", "mine/") in wrong.err.replace("\\t", "\t")
