"""`ironcurtain compile`: the manual flow against a real MCP server and a real OPA.

It runs in this process where it is not the program that is tested. What is wrong with constitutions and
servers stands in tests/e2e/author/test_bad_input.py.
"""

from __future__ import annotations

import copy
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from e2e.program import PROGRAM, ROOT, Ended, environment, in_process, program
from fixtures.tiny_project import ANNOTATIONS, RULES, answer, tree, write_project, write_server
from support.deployments.proxied import is_alive

from ironcurtain.compiler.publish.publish import only_one


def run(directory: Path, *arguments: str, **more: str) -> Ended:
    return in_process("compile", *arguments, cwd=directory, **more)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the tiny project by hand, step by step, as a person does."""
    directory = write_project(tmp_path_factory.mktemp("project"))
    first = run(directory)
    assert (first.code, first.out) == (4, "")
    assert "questions/annotate-notes-1.md" in first.err
    answer(directory, "annotate-notes-1", ANNOTATIONS)
    second = run(directory)
    assert second.code == 4
    assert "questions/rules-notes.md" in second.err
    answer(directory, "rules-notes", RULES)
    third = run(directory)
    assert (third.code, third.out) == (0, ""), third.err
    assert (
        "C4 is not enforceable, and nothing is asked because of it; reason given: it needs a clock"
        in third.err
    )
    return directory


@pytest.fixture
def project(compiled: Path, tmp_path: Path) -> Path:
    """Return a copy of the compiled project, to be spoilt."""
    return Path(shutil.copytree(compiled, tmp_path / "project"))


def test_the_whole_set_is_published(compiled: Path) -> None:
    published = {path.name for path in (compiled / "generated").iterdir()}
    assert published == {
        "answers",
        "bundle",
        "bundle.tar.gz",
        "compiled-policy.json",
        "decision-matrix.json",
        "dynamic-lists.json",
        "provenance.json",
        "test-scenarios.json",
        "tool-annotations.json",
        "tools",
        "verification.json",
    }
    for path in (compiled / "generated" / "answers").iterdir():
        kept = json.loads(path.read_text())
        assert (kept["format"], kept["provider"], kept["model"]) == ("ironcurtain/answer/v1", "manual", None)
    assert not (compiled / "questions").exists()


def test_no_machine_path_is_in_the_result(compiled: Path) -> None:
    for name, data in tree(compiled / "generated").items():
        assert str(compiled).encode() not in data, name
        assert str(ROOT).encode() not in data, name


def test_a_locked_compile_elsewhere_gives_the_same_bytes(project: Path, compiled: Path) -> None:
    result = program("compile", "--locked", cwd=project, LC_ALL="C", TZ="Asia/Tokyo")
    assert result.code == 0, result.err
    assert tree(project / "generated") == tree(compiled / "generated")


def test_a_locked_compile_names_the_missing_question(project: Path) -> None:
    before = tree(project / "generated")
    write_server(project, "changed")
    result = run(project, "--locked")
    assert result.code == 3
    assert "no answer is kept for annotate-notes__read_note" in result.err
    assert tree(project / "generated") == before


def test_an_answer_that_loosens_the_policy_publishes_nothing(project: Path) -> None:
    path = next((project / "generated" / "answers").glob("rules-*.json"))
    kept = json.loads(path.read_text())
    kept["content"]["rules"][0]["if"]["paths"][0]["within"] = ["/"]
    path.write_text(json.dumps(kept))
    before = tree(project)
    result = run(project, "--locked")
    assert result.code == 1
    assert "read-other" in result.err
    assert tree(project) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"roles": ["read-pth"]}, "'read-pth' is not one of"),
        ({"within": ["notes"]}, "notes"),
        ({"within": []}, "paths"),
    ],
)
def test_a_bad_answer_is_told_with_its_file(project: Path, change: dict[str, object], said: str) -> None:
    rules = copy.deepcopy(RULES)
    rules["rules"][0]["if"]["paths"][0].update(change)
    next((project / "generated" / "answers").glob("rules-*.json")).unlink()
    run(project)
    answer(project, "rules-notes", rules)
    before = tree(project / "generated")
    result = run(project)
    assert result.code == 4
    assert "rules-notes.answer.json" in result.err
    assert said in result.err
    assert tree(project / "generated") == before


def test_two_compiles_at_once_in_one_directory(project: Path) -> None:
    with only_one(project / "generated"):
        result = run(project, "--locked")
    assert result.code == 3
    assert "IC3402" in result.err
    assert run(project, "--locked").code == 0


def test_flag_beats_environment_beats_file(project: Path) -> None:
    assert run(project, "--locked", "-q", IRONCURTAIN_CONSTITUTION="nowhere.md").code == 2
    both = {"IRONCURTAIN_CONSTITUTION": "nowhere.md", "IRONCURTAIN_COMPILE_CONSTITUTION": "constitution.md"}
    quiet = run(project, "--locked", "-q", **both)
    assert quiet == Ended(0, "", "")
    flag = run(
        project, "--locked", "--constitution", "constitution.md", IRONCURTAIN_CONSTITUTION="nowhere.md"
    )
    assert flag.code == 0


def test_settings_are_found_upwards_and_their_paths_are_relative_to_them(project: Path) -> None:
    before = tree(project / "generated")
    (project / "deep" / "er").mkdir(parents=True)
    result = run(project / "deep" / "er", "--locked")
    assert result.code == 0, result.err
    assert tree(project / "generated") == before
    assert tree(project / "deep") == {}


def test_interrupted_in_mid_run_leaves_nothing_behind(project: Path) -> None:
    before = tree(project)
    write_server(project, "hangs")
    server_file = (project / "mcp-servers.json").read_bytes()
    process = subprocess.Popen(
        [*PROGRAM, "compile"],
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr
    assert "1/8 load" in process.stderr.readline()
    deadline = time.monotonic() + 300
    while not (children := descendants(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert not [pid for pid in children if is_alive(pid)]
    assert tree(project) == {**before, "mcp-servers.json": server_file}


def descendants(pid: int) -> list[int]:
    texts = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in texts for child in text.split()]
