"""The scripts of docs/approvals.md, run: the programs that they start write down what they were given."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from support.deployments.proxied import wait_for
from support.records.approvals import written

from ironcurtain.enforcement.approvals.hook import Hook, HookCommand

ROOT = Path(__file__).parents[4]
SECTION = (ROOT / "docs" / "approvals.md").read_text().split("## Notifications")[1].split("\n## ")[0]
SCRIPTS = re.findall(r"^```sh\n(#!/bin/sh\n.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
PROGRAMS = {"notify-send": "$2", "osascript": "$IRONCURTAIN_APPROVAL_SUMMARY", "curl": "$(cat)"}
HOSTILE = '/srv/"; do shell script "touch OWNED'


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(stat.S_IRWXU)
    return path


def test_each_program_has_an_example() -> None:
    assert [next(name for name in PROGRAMS if f"exec {name} " in text) for text in SCRIPTS] == [*PROGRAMS]


@pytest.mark.parametrize("script", SCRIPTS, ids=[*PROGRAMS])
def test_an_example_hands_on_the_message_as_it_is(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = next(each for each in PROGRAMS if f"exec {each} " in script)
    out, said = tmp_path / "out", list[str]()
    show = (
        f'printf "%s\\n" "$@" > {out}.words\nprintf "%s" "{PROGRAMS[name]}" > {out}.new\nmv {out}.new {out}\n'
    )
    executable(tmp_path / name, f"#!/bin/sh\n{show}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    command = HookCommand.parse(str(executable(tmp_path / "on-approval", script)))
    subjects = tuple(each.model_copy(update={"value": HOSTILE}) for each in written().subjects)
    hook = Hook(command, lambda request: request, said.append)
    try:
        hook.tell(written().model_copy(update={"subjects": subjects}))
        wait_for(out.exists)
    finally:
        hook.close()
    assert said == []
    assert "touch OWNED" in out.read_text()
    words = (tmp_path / "out.words").read_text()
    assert ("touch OWNED" in words) is (name == "notify-send"), "text of a call is part of a program"
