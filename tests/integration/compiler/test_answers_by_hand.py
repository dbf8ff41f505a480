"""Answers that people give in files: what is asked again, what is shown of the last answer, what is kept."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, in_process
from fixtures.tiny_project import ANNOTATIONS, CONSTITUTION, RULES, answer, tree, write_project, write_server
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[3]
COUNT: dict[str, Any] = {
    "tool": "count_notes",
    "side_effects": True,
    "contained": True,
    "comment": "",
    "args": [{"name": "path", "roles": ["read-path"]}],
}
EDITED = CONSTITUTION.replace(
    "Notes in `~/notes` may be read.", "Notes in `~/notes` may be read at any time."
)


def compiled(directory: Path, *arguments: str) -> Ended:
    return in_process("compile", *arguments, cwd=directory)


def listed(directory: Path) -> dict[str, Any]:
    """Return what `ironcurtain answer` lists, held to its schema."""
    ended = in_process("answer", "--format", "json", cwd=directory)
    document = json.loads(ended.out)
    schema = json.loads((ROOT / "schemas" / "waiting-questions.json").read_text())
    Draft202012Validator(schema).validate(document)
    assert ended.code == (4 if any(not each["answered"] for each in document["files"]) else 0)
    return {each["key"]: each for each in document["files"]}


def asked_tools(directory: Path, key: str) -> set[str]:
    """Return the tools that a question about annotations asks about."""
    prompt = json.loads((directory / "questions" / f"{key}.json").read_text())["prompt"]["user"]
    return {name for name in ("read_note", "list_tags", "count_notes") if f'"{name}"' in prompt}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project whose first question waits."""
    assert compiled(write_project(tmp_path)).code == 4
    return tmp_path


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that was compiled by hand."""
    directory = write_project(tmp_path_factory.mktemp("published"))
    assert compiled(directory).code == 4
    answer(directory, "annotate-notes-1", ANNOTATIONS)
    assert compiled(directory).code == 4
    answer(directory, "rules-notes", RULES)
    ended = compiled(directory)
    assert ended.code == 0, ended.err
    return directory


@pytest.fixture
def edited(published: Path, tmp_path: Path) -> Path:
    """Return a copy of it with one clause edited, compiled as far as that goes."""
    directory = Path(shutil.copytree(published, tmp_path / "edited"))
    (directory / "constitution.md").write_text(EDITED)
    return directory


def test_adding_a_tool_asks_about_that_tool_alone(project: Path) -> None:
    answer(project, "annotate-notes-1", ANNOTATIONS)
    write_server(project, "more")
    ended = compiled(project)
    assert (ended.code, ended.codes) == (4, ["IC4001"]), ended.err
    assert "waiting[IC4001]: annotate-notes-2: what the arguments of notes/count_notes are\n" in ended.err
    assert asked_tools(project, "annotate-notes-2") == {"count_notes"}
    answer(project, "annotate-notes-2", {"tools": [COUNT]})
    rules = compiled(project)
    assert "waiting[IC4001]: rules-notes: the rules of notes, from 4 clauses\n" in rules.err
    # Until it is published, both answers stay open to corrections.
    answer(project, "annotate-notes-1", {"tools": ANNOTATIONS["tools"][1:]})
    spoilt = compiled(project)
    assert (spoilt.code, spoilt.codes) == (4, ["IC4002"])
    assert "annotate-notes-1.answer.json" in spoilt.err


def test_an_answer_that_comes_after_the_tools_were_regrouped_is_taken(project: Path) -> None:
    write_server(project, "more")
    assert compiled(project).code == 4
    assert set(listed(project)) == {"annotate-notes-2"}
    assert asked_tools(project, "annotate-notes-2") == {"read_note", "list_tags", "count_notes"}
    # The chat was still busy with the first form of the question.
    answer(project, "annotate-notes-1", ANNOTATIONS)
    assert compiled(project).code == 4
    assert set(listed(project)) == {"annotate-notes-3"}
    assert asked_tools(project, "annotate-notes-3") == {"count_notes"}


def test_a_tool_that_changed_is_asked_about_and_its_neighbour_is_not(project: Path) -> None:
    answer(project, "annotate-notes-1", ANNOTATIONS)
    write_server(project, "changed")
    assert compiled(project).code == 4
    assert asked_tools(project, "annotate-notes-2") == {"read_note"}
    answer(project, "annotate-notes-2", {"tools": ANNOTATIONS["tools"][1:]})
    assert compiled(project).codes == ["IC4001"]
    assert [key for key, each in listed(project).items() if not each["answered"]] == ["rules-notes"]
    answer(project, "rules-notes", RULES)
    ended = compiled(project)
    assert ended.code == 0, ended.err
    assert not (project / "questions").exists()


def test_an_answer_is_taken_as_a_chat_wrote_it(project: Path) -> None:
    fenced = f"Here is the annotation.\n\n```json\n{json.dumps(ANNOTATIONS, indent=1)}\n```\nAnything else?\n"
    place = project / "questions" / "annotate-notes-1.answer.json"
    place.write_text(fenced + "```json\n{}\n```\n")
    twice = compiled(project)
    assert (twice.code, twice.codes) == (4, ["IC4002"])
    assert "two different JSON documents, in lines 4-" in twice.err
    place.write_text(fenced)
    assert "rules-notes" in compiled(project).err


def test_a_first_compile_goes_on_offline_as_its_last_line_says(project: Path) -> None:
    servers = {"mcpServers": {"notes": {"command": "a-program-that-is-not-there"}}}
    (project / "mcp-servers.json").write_text(json.dumps(servers))
    answer(project, "annotate-notes-1", ANNOTATIONS)
    assert compiled(project).codes == ["IC3201"]
    assert "`--offline` starts no server" in compiled(project, "--offline").err
    answer(project, "rules-notes", RULES)
    ended = compiled(project, "--offline")
    assert ended.code == 0, ended.err
    assert not (project / "questions").exists()


def test_waiting_for_answers_is_no_error_and_the_last_line_says_what_is_next(project: Path) -> None:
    ended = compiled(project)
    assert "error[" not in ended.err
    assert ended.err.endswith(
        "waiting[IC4001]: annotate-notes-1: what the arguments of 2 tools of notes are\n"
        "    read questions/annotate-notes-1.md, put the answer into annotate-notes-1.answer.json\n"
        "next: Put each answer beside its question, then run this again (`--offline` starts no server); "
        "`ironcurtain answer` lists them.\n"
    )
    waits = in_process("answer", cwd=project)
    assert waits.code == 4
    assert waits.out == (
        "annotate-notes-1: what the arguments of 2 tools of notes are\n"
        "    read questions/annotate-notes-1.md, put the answer into annotate-notes-1.answer.json\n"
    )
    answer(project, "annotate-notes-1", ANNOTATIONS)
    done = in_process("answer", cwd=project)
    assert (done.code, done.err) == (0, "next: `ironcurtain compile`\n")
    assert "answered in questions/annotate-notes-1.answer.json" in done.out


def test_an_edited_clause_shows_the_last_answer_and_the_difference_and_it_can_be_kept(edited: Path) -> None:
    difference = [
        "- C2: Notes in `~/notes` may be read.",
        "+ C2: Notes in `~/notes` may be read at any time.",
    ]
    ended = compiled(edited)
    assert (ended.code, ended.codes) == (4, ["IC4001"])
    assert all(f"      {line}\n" in ended.err for line in difference)
    assert "ironcurtain answer rules-notes keep" in ended.err
    readable = (edited / "questions" / "rules-notes.md").read_text()
    assert "\n```diff\n" + "\n".join(difference) + "\n```\n" in readable
    waiting = listed(edited)["rules-notes"]
    assert (waiting["changes"], waiting["keeps"]) == (difference, True)
    assert json.loads((edited / "questions" / "rules-notes.previous.json").read_text()) == RULES

    kept = in_process("answer", "rules-notes", "keep", cwd=edited)
    assert (kept.code, kept.out) == (0, "rules-notes: the last answer again, in rules-notes.answer.json\n")
    assert in_process("answer", "rules-notes", "keep", cwd=edited).codes == ["IC1001"]
    done = compiled(edited)
    assert done.code == 0, done.err
    policy = json.loads((edited / "generated" / "compiled-policy.json").read_text())
    assert [rule["name"] for rule in policy["rules"]] == [rule["name"] for rule in RULES["rules"]]
    assert not (edited / "questions").exists()


def test_a_clause_that_is_inserted_is_shown_and_the_last_answer_is_there_to_start_from(edited: Path) -> None:
    (edited / "constitution.md").write_text(
        CONSTITUTION.replace("# Notes\n\n", "# Notes\n\n- Nothing may ever be deleted.\n")
    )
    ended = compiled(edited)
    (waiting,) = listed(edited).values()
    (added,) = waiting["changes"]
    assert added.startswith("+ C")
    assert added.endswith(": Nothing may ever be deleted.")
    assert f"      {added}\n" in ended.err
    # The new clause needs a rule or a reason, so the last answer is no answer as it is.
    assert "the last answer is rules-notes.previous.json; it does not fit any more as it is" in ended.err
    assert json.loads((edited / "questions" / "rules-notes.previous.json").read_text()) == RULES


def test_a_clause_edited_before_anything_was_published_shows_the_answer_in_the_file(edited: Path) -> None:
    shutil.rmtree(edited / "generated")
    (edited / "constitution.md").write_text(CONSTITUTION)
    assert compiled(edited).code == 4
    answer(edited, "annotate-notes-1", ANNOTATIONS)
    assert compiled(edited).code == 4
    mine = copy.deepcopy(RULES)
    mine["rules"][0]["reason"] = "I said so."
    answer(edited, "rules-notes", mine)
    (edited / "constitution.md").write_text(EDITED)
    for _ in range(2):  # it is told again as long as it waits
        ended = compiled(edited)
        assert "      - C2: Notes in `~/notes` may be read.\n" in ended.err
        assert listed(edited)["rules-notes"]["keeps"]
    assert in_process("answer", "rules-notes", "keep", cwd=edited).code == 0
    assert compiled(edited).code == 0
    assert "I said so." in (edited / "generated" / "compiled-policy.json").read_text()


def test_a_locked_compile_gives_the_same_bytes_and_says_what_each_answer_was_told(published: Path) -> None:
    before = tree(published / "generated")
    assert compiled(published, "--locked").code == 0
    assert tree(published / "generated") == before
    (rules,) = (published / "generated" / "answers").glob("rules-notes-*.json")
    assert json.loads(rules.read_text())["told"]["C2"] == "Notes in `~/notes` may be read."
    # An answer that was kept before that was recorded is an answer all the same.
    document = json.loads(rules.read_text())
    del document["told"]
    rules.write_text(json.dumps(document))
    assert compiled(published, "--locked").code == 0
    assert tree(published / "generated") == before
