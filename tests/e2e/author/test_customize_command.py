"""`ironcurtain customize` as a program: shown, confirmed, written, and read by the next compile."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e.program import PROGRAM, Ended, environment, in_process, program
from fixtures.tiny_project import ANNOTATIONS, RULES, answer

EDIT = {"op": "add", "clause": "", "text": "The agent must ask before it reads notes in `~/notes/private`."}
CONTENT: dict[str, Any] = {"edits": [EDIT], "question": "", "remark": "A folder below the notes."}
WISH = ("customize", "my", "private notes are private")


@pytest.fixture(scope="module")
def waiting(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ask in a project that reads the user's own guidance."""
    place = tmp_path_factory.mktemp("customize")
    project = Path(shutil.copytree(tiny, place / "project", ignore=shutil.ignore_patterns("generated")))
    with (project / "ironcurtain.toml").open("a") as settings:
        settings.write("user_constitution = true\n")
    first = program(*WISH, "--yes", cwd=project, IRONCURTAIN_HOME=str(place / "home"))
    assert (first.code, first.codes) == (4, ["IC4001"])
    answer(project, "customize", CONTENT)
    return place


@pytest.fixture
def asked(waiting: Path, tmp_path: Path) -> Path:
    """Return a copy of the project whose question is answered."""
    return Path(shutil.copytree(waiting, tmp_path / "place")) / "project"


def own(project: Path) -> Path:
    return project.parent / "home" / "constitution-user.md"


def at_home(project: Path, *arguments: str) -> Ended:
    return in_process(*arguments, cwd=project, IRONCURTAIN_HOME=str(project.parent / "home"))


def customize(project: Path, *options: str) -> Ended:
    return at_home(project, *WISH, *options)


def test_without_a_terminal_it_says_which_flag_it_needs(asked: Path) -> None:
    ended = customize(asked)
    assert ended.code == 2
    assert "--yes" in ended.err
    assert not own(asked).exists()


def test_a_dry_run_shows_the_difference_and_writes_nothing(asked: Path) -> None:
    ended = customize(asked, "--dry-run")
    assert ended.code == 0, ended.err
    assert f"+- {EDIT['text']}" in ended.out.splitlines()
    assert not own(asked).exists()


def test_it_is_written_once_and_the_questions_are_gone(asked: Path) -> None:
    ended = customize(asked, "--yes")
    assert ended.code == 0, ended.err
    assert own(asked).read_text() == f"# My own guidance\n\n- {EDIT['text']}\n"
    assert own(asked).stat().st_mode & 0o777 == 0o600
    assert not (asked / "questions").exists()


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_a_person_confirms_on_a_terminal(asked: Path, typed: str, code: int) -> None:
    master, slave = pty.openpty()
    try:
        running = subprocess.Popen(
            [*PROGRAM, *WISH],
            cwd=asked,
            env=environment(IRONCURTAIN_HOME=str(asked.parent / "home")),
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.write(master, typed.encode())
        out, err = running.communicate(timeout=300)
    finally:
        os.close(master)
        os.close(slave)
    assert running.returncode == code, err
    assert EDIT["text"].encode() in out
    assert own(asked).exists() == (code == 0)


def test_a_question_back_waits_for_a_person(asked: Path) -> None:
    answer(asked, "customize", {"edits": [], "question": "Which notes?", "remark": ""})
    ended = customize(asked, "--yes")
    assert ended.code == 4
    assert "Which notes?" in ended.err


def test_the_next_compile_puts_it_first(asked: Path) -> None:
    compile_ = ("compile", "--saved-tools")
    assert customize(asked, "--yes").code == 0
    answers = iter((ANNOTATIONS, rules()))
    for key in ("annotate-notes-1", "rules-notes"):
        ended = at_home(asked, *compile_)
        assert ended.code == 4, ended.err
        answer(asked, key, next(answers))
    ended = at_home(asked, *compile_)
    assert ended.code == 0, ended.err
    policy = json.loads((asked / "generated" / "compiled-policy.json").read_text())
    assert policy["clauses"][0]["id"] == "U1"
    assert policy["clauses"][0]["source"] == "constitution-user.md:3"
    manifest = json.loads((asked / "generated" / "bundle" / ".manifest").read_text())
    assert manifest["metadata"]
    assert at_home(asked, *compile_, "--locked").code == 0
    assert in_process(*compile_, "--locked", cwd=asked, IRONCURTAIN_HOME=str(asked)).code == 3


def rules() -> dict[str, Any]:
    private = {
        "name": "notes-ask-private",
        "description": "",
        "clause": "U1",
        "if": {
            "tool": ["read_note"],
            "paths": [{"roles": ["read-path"], "within": ["~/notes/private"]}],
        },
        "then": "escalate",
        "reason": "A person decides about private notes.",
    }
    return {**RULES, "rules": [private, *RULES["rules"]]}
