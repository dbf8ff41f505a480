"""The files of a contained start, and what is told of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from support.contained import NEEDS_SANDBOX, Scene

from ironcurtain.sandbox.contain import contained
from ironcurtain.sandbox.programs import Programs
from ironcurtain.sandbox.report import Report

PROGRAMS = Programs(
    node="/usr/bin/node", library="/lib/index.js", bwrap="/usr/bin/bwrap", socat="/s", rg="/r"
)


def rules(*denied: Path) -> dict[str, Any]:
    held = [{"path": str(path), "literal": True} for path in denied]
    files = {"denyRead": [], "allowRead": [], "allowWrite": [], "denyWrite": held}
    return {"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": files}


def test_its_files_are_private_and_removed_at_the_end(tmp_path: Path) -> None:
    start = StdioServerParameters(command="server", args=["a b"], env={"ONE": "1"}, cwd=tmp_path)
    with contained(start, rules(), PROGRAMS) as inside:
        place = inside.report.parent
        for path in (place, *place.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path.name
        assert inside.start.args[-3:] == [str(tmp_path), "server", "a b"]
        assert inside.start.env is not None
        assert inside.start.env["ONE"] == "1"
    assert not place.exists()


def test_settings_hold_no_environment_and_close_themselves(tmp_path: Path) -> None:
    start = StdioServerParameters(command="server", env={"TOKEN": "very-secret"}, cwd=tmp_path)
    with contained(start, rules(), PROGRAMS) as inside:
        text = (inside.report.parent / "settings.json").read_text()
        hidden = [entry["path"] for entry in json.loads(text)["filesystem"]["denyRead"]]
        assert "very-secret" not in " ".join([text, *inside.start.args])
        assert {str(inside.report), str(inside.report.with_name("settings.json"))} <= {*hidden}


def test_what_a_killed_runtime_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    there, file, directory, full, made = (
        tmp_path / name for name in ("there", "file", "dir", "full", "made")
    )
    there.write_text("")
    with contained(StdioServerParameters(command="x"), rules(there, file, directory, full, made), PROGRAMS):
        file.touch()
        directory.mkdir()
        full.write_text("the user's own")
        made.mkdir()
        (made / "hook").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "made", "there"]


def test_a_report_is_read_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text(
        '{"observed": {"write": true, "read": true, "network": false}}\n{"violation": "deny \\u001b[2J'
    )
    report = Report(path)
    (first,) = report.new()
    assert (first.kind, first.text) == ("open", "a probe in the sandbox could connect to this machine")
    with path.open("a") as file:
        file.write('x"}\n{"refused": "no"}\n')
    second, third = report.new()
    assert second.kind == "violation"
    assert "\x1b" not in second.text
    assert (third.kind, third.text) == ("refused", "no")
    assert report.new() == []
    path.unlink()
    assert report.new() == []


@NEEDS_SANDBOX
def test_a_server_that_cannot_be_contained_is_not_started(tmp_path: Path) -> None:
    scene = Scene(tmp_path.resolve() / "scene")
    with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever the SDK says when a server ends
        scene.visit("quick", sandbox={"network": {"allowedDomains": ["*"]}})
    (ended,) = [said for said in scene.said if said.startswith("its sandbox could not be made: ")]
    assert "allowedDomains" in ended
