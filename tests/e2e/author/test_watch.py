"""`compile --watch` and `decide --watch`: edit, see the decisions change; Ctrl-C ends both."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.program import PROGRAM, environment
from fixtures.tiny_project import RULES, answer

CLAUSE = "- Notes in `~/notes` may be read."
NEW_CLAUSE = "- Notes in `~/notes` and in `~/archive` may be read."


class Watching:
    """A command that watches, and what it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self._process = process
        self._lines = process.stdout

    def until(self, text: str) -> str:
        """Return what is printed up to the line that holds a text; the whole test has its time limit."""
        printed = ""
        for line in self._lines:
            printed += line
            if text in line:
                return printed
        raise AssertionError(printed)

    def interrupted(self) -> tuple[int, str]:
        """Press Ctrl-C; return the exit code, and what was printed last."""
        os.killpg(self._process.pid, signal.SIGINT)
        rest, _ = self._process.communicate()
        return self._process.returncode, rest


@contextmanager
def watching(directory: Path, *arguments: str) -> Iterator[Watching]:
    process = subprocess.Popen(
        [*PROGRAM, *arguments, "--watch"],
        cwd=directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield Watching(process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def project(tiny: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "project"))


def replace(file: Path, old: str, new: str) -> None:
    """Change a file as most editors do: write another one, and put it in its place."""
    text = file.read_text()
    assert old in text
    other = file.with_suffix(".tmp")
    other.write_text(text.replace(old, new))
    other.replace(file)


def test_an_edit_is_compiled_and_the_decisions_that_change_are_told(project: Path) -> None:
    call = ("notes", "read_note", json.dumps({"path": "/home/user/archive/a"}))
    options = ("--bundle", "generated/bundle", "--home", "/home/user")
    with (
        watching(project, "compile", "--saved-tools") as compile_,
        watching(project, "decide", *options, *call) as decide,
    ):
        assert decide.until("to change it").startswith("note: the bundle is unsigned")
        compile_.until("watching: published generated; nothing is decided otherwise\n")
        scenarios = project / "scenarios.yaml"
        before = scenarios.read_text()
        replace(scenarios, "expect: allow", "expect: deny")
        failed = compile_.until("watching: not published; the last published policy stays\n")
        assert "\nchanged: scenarios.yaml\n" in failed
        assert "read-note" in failed
        assert "error[IC2001]" in failed
        scenarios.write_text(before)
        compile_.until("watching: published generated; nothing is decided otherwise\n")

        replace(project / "constitution.md", CLAUSE, NEW_CLAUSE)
        waits = compile_.until("watching: not published")
        assert "waiting[IC4001]: rules-notes: " in waits
        assert "error[" not in waits
        rules = json.loads(json.dumps(RULES).replace('["~/notes"]', '["~/notes", "~/archive"]'))
        answer(project, "rules-notes", rules)
        told = compile_.until("read-path in ~/archive")
        assert "enforced by" not in told  # in short
        assert "changed: questions/rules-notes.answer.json\n" in told
        assert "watching: published generated; decided otherwise:\n" in told
        assert "  notes read_note: read-path in ~/archive: not named -> allow" in told
        assert "watching: deny -> allow\n" in decide.until("watching: deny -> ")
        assert "ALLOW  notes/read_note\n" in decide.until("ALLOW")
        # The answer that the compile took away is no change of its author's.
        scenarios.write_text(f"# once more\n{before}")
        assert compile_.until("changed: ").splitlines()[-1] == "changed: scenarios.yaml"
        code, last = compile_.interrupted()
        assert (code, "Traceback" in last) == (130, False)
        code, last = decide.interrupted()
        assert (code, "Traceback" in last) == (130, False)


def test_settings_and_custom_modules_are_watched_and_a_mistake_ends_nothing(project: Path) -> None:
    settings = project / "ironcurtain.toml"
    with watching(project, "compile", "--saved-tools") as compile_:
        compile_.until("nothing is decided otherwise\n")
        before = settings.read_text()
        settings.write_text(before + 'custom = "mine"\n')
        assert "changed: ironcurtain.toml\n" in compile_.until("watching: not published")
        (project / "mine").mkdir()
        (project / "mine" / "tags.rego").write_text("package ironcurtain.custom.tags\n\ndeny contains 1\n")
        assert "tags.rego:3" in compile_.until("watching: not published")
        (project / "mine" / "tags.rego").write_text(
            "package ironcurtain.custom.tags\n\n"
            'deny contains {"id": "*", "reason": "Not now."} if input.tool == "list_tags"\n'
        )
        shutil.copy(project / "scenarios.yaml", project / "whole.yaml")
        replace(project / "scenarios.yaml", "arguments: {}}, expect: allow", "arguments: {}}, expect: deny")
        told = compile_.until("scenario tags: ")
        assert "  scenario tags: allow -> deny\n" in told
        settings.write_text("nonsense\n")
        assert "error[IC1003]" in compile_.until("watching: not published")
        (code, _) = compile_.interrupted()
        assert code == 130
