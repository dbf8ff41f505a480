"""`verify` of a bundle beside which tool lists lie that it was not annotated for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, Inside

BUNDLE = "generated/bundle"
LIST = "generated/tools/notes.json"


def tool_lists(ended: Ended) -> dict[str, Any]:
    """Return the check of the tool lists in a report in JSON."""
    (check,) = [each for each in json.loads(ended.out)["checks"] if each["name"] == "tool lists"]
    return dict(check)


def edited(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[], None]:
    """Return what changes the recorded list."""

    def edit() -> None:
        document = json.loads(Path(LIST).read_text())
        change(document["tools"])
        Path(LIST).write_text(json.dumps(document))

    return edit


def described(tools: list[dict[str, Any]]) -> None:
    tools[0]["description"] += " It may also delete."


def wider(tools: list[dict[str, Any]]) -> None:
    tools[0]["inputSchema"]["properties"]["force"] = {"type": "boolean"}


def dropped(tools: list[dict[str, Any]]) -> None:
    tools.pop(0)


def more(tools: list[dict[str, Any]]) -> None:
    tools.append({**tools[0], "name": "zz_wipe"})


def test_many_tools_that_changed_alike_are_one_failure(waived: Path, inside: Inside) -> None:
    """Each of them was a failure of three lines, which differed in a name."""
    del waived

    def many(tools: list[dict[str, Any]]) -> None:
        tools += [{**tools[0], "name": f"zz_{number}"} for number in range(15)]

    edited(many)()
    check = tool_lists(inside("verify", BUNDLE, "--format", "json"))
    (problem,) = check["problems"]
    assert problem["message"] == "15 tools of notes are recorded, and unknown to the policy"
    assert problem["details"] == [", ".join(sorted(f"zz_{number}" for number in range(15)))]


@pytest.mark.parametrize(
    ("change", "says", "details"),
    [
        (described, "another description", []),
        (wider, "another schema", ["argument force is new"]),
        (dropped, "is not recorded any more", []),
        (more, "the policy does not know it", []),
    ],
)
def test_a_changed_list_is_a_failure_that_names_the_file_and_the_tool(
    waived: Path,
    inside: Inside,
    change: Callable[[list[dict[str, Any]]], None],
    says: str,
    details: list[str],
) -> None:
    before = inside("verify", BUNDLE, "--format", "json")
    assert (before.code, tool_lists(before)["status"]) == (0, "passed"), before
    first = json.loads((waived / LIST).read_text())["tools"][0]["name"]
    edited(change)()
    after = inside("verify", BUNDLE, "--format", "json")
    assert after.code == 1
    check = tool_lists(after)
    assert check["status"] == "failed"
    (problem,) = check["problems"]
    assert problem["file"] == LIST
    assert problem["id"] == ("notes/zz_wipe" if change is more else f"notes/{first}")
    assert says in problem["message"]
    assert problem["details"] == details
    assert problem["id"] in inside("verify", BUNDLE).out


def test_a_list_that_is_gone_or_of_no_server_is_a_failure(waived: Path, inside: Inside) -> None:
    (waived / LIST).rename(waived / "generated/tools/other.json")
    ended = inside("verify", BUNDLE, "--format", "json")
    assert ended.code == 1
    found = {each["file"]: each["id"] for each in tool_lists(ended)["problems"]}
    assert found[LIST] == "notes"
    assert found["generated/tools/other.json"].startswith("other/")


def test_all_lists_deleted_in_the_project_are_a_failure(waived: Path, inside: Inside) -> None:
    shutil.rmtree(waived / "generated/tools")
    ended = inside("verify", BUNDLE, "--format", "json")
    assert ended.code == 1, ended
    (problem,) = tool_lists(ended)["problems"]
    assert problem["file"] == "generated/tools"


def test_a_bundle_without_lists_beside_it_says_that_none_were_compared(
    waived: Path, inside: Inside, tmp_path: Path
) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(waived / "generated", alone, ignore=shutil.ignore_patterns("tools"))
    assert tool_lists(inside("verify", str(alone / "bundle"), "--format", "json"))["status"] == "unexamined"


@pytest.mark.usefixtures("waived")
def test_a_compile_from_the_right_list_makes_it_true_again(inside: Inside) -> None:
    edited(described)()
    assert inside("verify", BUNDLE).code == 1
    assert inside("compile", "--locked", "--saved-tools").code == 0
    assert inside("verify", BUNDLE).code == 0
