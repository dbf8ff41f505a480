"""`ironcurtain lsp`, asked by an editor over its standard input and output."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from e2e.program import ROOT
from support.people.editor import Editor, editor

CONSTITUTION = """\
# Rules

- The agent may read the Documents folder.
- 🦊🦊 The agent may read mail that is
  recent.
"""
SCENARIOS = """\
format: ironcurtain/scenarios/v1
scenarios:
  - id: read
    call: {server: filesystem, tool: read_text_file, arguments: {path: /home/user/Documents/a}}
    expect: allow
    clause: C1
"""
POLICY = {
    "format": "ironcurtain/policy/v1",
    "rules": [
        {
            "name": "read-documents",
            "clause": "C1",
            "if": {"paths": {"roles": ["read-path"], "within": ["~/Documents"]}},
            "then": "allow",
            "reason": "Documents may be read.",
        }
    ],
}
SHIPPED = ("constitution.md", "scenarios.yaml", "ironcurtain.toml", "confirmations.yaml", "guarantees.yaml")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Path]]:
    """Start one server, without the gate, for the tests that each have a project of their own in it."""
    place = tmp_path_factory.mktemp("editor")
    with editor(place, "--no-verify") as program:
        program.initialize(place)
        yield program, place


@pytest.fixture
def session(shared: tuple[Editor, Path], request: pytest.FixtureRequest) -> tuple[Editor, Path]:
    """Return the editor and a project with a constitution, scenarios and the annotations of a compile."""
    program, place = shared
    project = place / request.node.name
    (project / "generated").mkdir(parents=True)
    (project / "ironcurtain.toml").write_text('model = "manual"\n')
    (project / "constitution.md").write_text(CONSTITUTION)
    (project / "scenarios.yaml").write_text(SCENARIOS)
    shutil.copy(ROOT / "generated" / "tool-annotations.json", project / "generated")
    (project / "generated" / "compiled-policy.json").write_text(json.dumps(POLICY))
    return program, project


def part(text: str, shown: dict[str, Any]) -> str:
    """Return the part of a text that a diagnostic underlines, in the protocol's own columns."""
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    start, end = shown["range"]["start"], shown["range"]["end"]
    if start["line"] == end["line"]:
        line: bytes = lines[start["line"]]
        return line[2 * start["character"] : 2 * end["character"]].decode("utf-16-le")
    between = lines[start["line"] : end["line"] + 1]
    between[0] = between[0][2 * start["character"] :]
    between[-1] = between[-1][: 2 * end["character"]]
    return "\n".join(line.decode("utf-16-le") for line in between)


def at(text: str, word: str, within: int = 1) -> tuple[int, int]:
    """Return line and column, in UTF-16, of a place within the first occurrence of a word."""
    before = text[: text.index(word) + within]
    return before.count("\n"), len(before.rpartition("\n")[2].encode("utf-16-le")) // 2


def test_what_lint_finds_is_underlined_in_utf_16(session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "constitution.md"
    program.open(path)
    (found,) = program.until(path, bool)
    assert part(CONSTITUTION, found) == "🦊🦊 The agent may read mail that is\n  recent."
    assert (found["source"], found["code"], found["severity"]) == ("ironcurtain lint", "needs-clock", 2)
    page = urlsplit(found["codeDescription"]["href"])
    assert "needs-clock" in Path(unquote(page.path)).read_text()
    assert found["message"].startswith('C2 says "recent"')


def test_what_is_typed_counts_before_it_is_saved(session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "constitution.md"
    program.open(path)
    program.until(path, bool)
    program.type(path, CONSTITUTION.replace("recent", "unread"))
    assert program.until(path, lambda shown: not shown) == []
    program.type(path, f"{CONSTITUTION.replace('recent', 'unread')}\n## Nothing\n")
    (found,) = program.until(path, bool)
    assert found["code"] == "no-clause"
    assert found["range"]["start"] == {"line": 6, "character": 0}


def test_a_scenario_of_no_clause_and_of_no_tool(session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "scenarios.yaml"
    text = SCENARIOS.replace("C1", "C9").replace("read_text_file", "read_txt_file")
    program.open(path, text)
    tool, clause = program.until(path, lambda shown: len(shown) == 2)
    assert [part(text, each) for each in (tool, clause)] == ["allow", "C9"]
    assert '"read_txt_file"' in tool["message"]
    assert 'clause "C9"' in clause["message"]
    assert {tool["code"], clause["code"]} == {"IC1301"}
    assert Path(unquote(urlsplit(clause["codeDescription"]["href"]).path)).name == "IC1301.md"
    program.type(path, SCENARIOS)
    program.until(path, lambda shown: not shown)


def test_a_clause_that_is_deleted_is_missed_by_its_scenario(session: tuple[Editor, Path]) -> None:
    program, project = session
    constitution, scenarios = project / "constitution.md", project / "scenarios.yaml"
    program.open(scenarios, SCENARIOS.replace("C1", "C2"))
    program.open(constitution)
    assert program.until(scenarios, lambda _: True) == []
    program.type(constitution, CONSTITUTION.partition("- 🦊")[0])
    (found,) = program.until(scenarios, bool)
    assert 'clause "C2"' in found["message"]


def test_columns_behind_characters_of_two_units(session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "scenarios.yaml"
    text = f'{SCENARIOS}  - {{id: b, why: "🦊🦊", call: {{server: a, tool: b}}, expect: perhaps}}\n'
    program.open(path, text)
    (found,) = program.until(path, bool)
    assert part(text, found) == "perhaps"
    before = text.partition("perhaps")[0].rpartition("\n")[2]
    units = len(before.encode("utf-16-le")) // 2
    assert (found["code"], found["range"]["start"]) == ("IC1003", {"line": 6, "character": units})
    assert units == len(before) + 2


@pytest.mark.parametrize(
    ("broken", "line", "said"),
    [
        ("format: [\nscenarios: }\n", 1, "not valid YAML"),
        ("format: ironcurtain/scenarios/v1\nscenarios: []\nscenarios: []\n", 2, "not valid YAML"),
        ("format: ironcurtain/scenarios/v2\nscenarios: []\n", 0, "Update IronCurtain"),
        ("\n\n", 0, "the file is empty"),
        ("\x00", 0, "not valid YAML"),
    ],
    ids=["syntax", "twice", "newer", "blank", "no text"],
)
def test_broken_yaml(broken: str, line: int, said: str, session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "scenarios.yaml"
    program.open(path, broken)
    (found,) = program.until(path, bool)
    assert said in found["message"]
    assert found["range"]["start"]["line"] == line


def test_answers_of_people(session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "answers.yaml"
    text = SCENARIOS.replace("id: read", "id: answer.q1").replace("expect: allow", "expect: deny")
    program.open(path, text)
    (found,) = program.until(path, bool)
    assert "says deny, the scenario" in found["message"]
    program.type(path, text.replace("C1", "C7").replace("Documents/a", "Documents/b"))
    (found,) = program.until(path, lambda shown: "clause" in shown[0]["message"] if shown else False)
    assert part(text.replace("C1", "C7"), found) == "C7"


def test_an_answer_to_a_question(session: tuple[Editor, Path]) -> None:
    program, project = session
    (project / "questions").mkdir()
    schema = {"type": "object", "properties": {"rules": {"type": "array"}}, "required": ["rules"]}
    (project / "questions" / "rules-a.json").write_text(json.dumps({"answer_schema": schema}))
    path = project / "questions" / "rules-a.answer.json"
    program.open(path, '{\n  "rules": "none"\n}\n')
    (found,) = program.until(path, bool)
    assert (found["code"], found["range"]["start"]) == ("IC4002", {"line": 1, "character": 11})
    program.type(path, '{\n  "rules": [,]\n}\n')
    (found,) = program.until(path, lambda shown: "not valid JSON" in shown[0]["message"])
    assert found["range"]["start"] == {"line": 1, "character": 12}
    # What a chat wrote is read as a compile reads it.
    program.type(path, 'Here it is:\n```json\n{\n  "rules": "none"\n}\n```\n')
    (found,) = program.until(path, lambda shown: bool(shown) and "is not of type" in shown[0]["message"])
    assert found["range"]["start"] == {"line": 3, "character": 11}
    program.type(path, 'Here it is:\n```json\n{"rules": []}\n```\n')
    assert program.until(path, lambda shown: not shown) == []


def test_settings_servers_and_what_says_what_it_is(session: tuple[Editor, Path]) -> None:
    program, project = session
    settings, servers, lists = (
        project / name for name in ("ironcurtain.toml", "mcp-servers.json", "mine.json")
    )
    program.open(settings, 'model = "manual"\n\nserail = 2\n')
    (found,) = program.until(settings, bool)
    assert found["range"]["start"]["line"] == 2
    assert 'Did you mean "serial"?' in found["message"]
    program.open(servers, '{"mcpServers": {"a": {"comand": "x", "command": "y"}}}')
    (found,) = program.until(servers, bool)
    assert '"comand", which is nearly "command"' in found["message"]
    program.open(lists, '{"format": "ironcurtain/lists/v1",\n "lists": 3}')
    (found,) = program.until(lists, bool)
    assert found["range"]["start"] == {"line": 1, "character": 10}


def test_a_document_of_no_project_and_one_that_is_none_of_ours(
    session: tuple[Editor, Path], tmp_path: Path
) -> None:
    program, _ = session
    alone, other = tmp_path / "constitution.md", tmp_path / "README.md"
    program.open(other, CONSTITUTION)
    program.open(tmp_path / "nothing", "no file", uri="untitled:Untitled-1")
    program.open(alone, CONSTITUTION)
    assert len(program.until(alone, bool)) == 1
    assert program.until(other, lambda _: True) == []
    lonely = tmp_path / "scenarios.yaml"
    program.open(lonely, SCENARIOS.replace("C1", "C7"))
    program.close(alone)
    assert program.until(alone, lambda shown: not shown) == []
    (tmp_path / "constitution.md").unlink(missing_ok=True)
    assert program.until(lonely, lambda shown: not shown) == []


def test_a_clause_a_rule_and_a_tool_are_shown(session: tuple[Editor, Path]) -> None:
    program, project = session
    constitution, scenarios = project / "constitution.md", project / "scenarios.yaml"
    text = f"{SCENARIOS}    rule: read-documents\n"
    program.open(scenarios, text)
    program.open(constitution)
    shown = program.at("hover", scenarios, *at(text, "C1"))["contents"]["value"]
    assert shown.startswith("C1  The agent may read the Documents folder.")
    where = program.at("definition", scenarios, *at(text, "C1"))
    assert where["uri"] == constitution.as_uri()
    assert part(CONSTITUTION, where) == "The agent may read the Documents folder."
    tool = program.at("hover", scenarios, *at(text, "read_text_file"))["contents"]["value"]
    assert tool.startswith("filesystem read_text_file\n")
    assert "path: read-path" in tool
    rule = program.at("hover", scenarios, *at(text, "read-documents"))["contents"]["value"]
    assert rule == "read-documents (C1): Documents may be read."
    assert program.at("hover", scenarios, 0, 0) is None
    found = program.at("hover", constitution, *at(CONSTITUTION, "recent"))
    assert part(CONSTITUTION, found) == "🦊🦊 The agent may read mail that is\n  recent."


def test_clauses_tools_and_verdicts_are_offered(session: tuple[Editor, Path]) -> None:
    program, project = session
    path = project / "scenarios.yaml"
    program.open(path)

    def offered(key: str) -> list[str]:
        return [each["label"] for each in program.at("completion", path, *at(SCENARIOS, key, len(key)))]

    assert offered("clause: ") == ["C1", "C2"]
    assert offered("expect: ") == ["allow", "escalate", "deny"]
    assert offered("server: ") == ["filesystem", "git"]
    assert "read_text_file" in offered("tool: ")
    assert "git_commit" not in offered("tool: ")
    assert offered("format: ") == []


def test_an_editor_that_counts_in_bytes(tmp_path: Path) -> None:
    with editor(tmp_path, "--no-verify") as program:
        program.initialize(tmp_path, ["utf-8"])
        assert program.capabilities["positionEncoding"] == "utf-8"
        path = tmp_path / "constitution.md"
        program.open(path, "- 🦊 The agent may read a. The agent may read recent mail.\n")
        (found,) = program.until(path, bool)
        assert found["range"]["start"]["character"] == len("- 🦊 The agent may read a. ".encode())
        assert program.end() == 0


def test_an_editor_that_is_gone(tmp_path: Path) -> None:
    with editor(tmp_path) as program:
        program.initialize(tmp_path)
        assert program.vanish() == 0


def test_what_verify_says_stands_at_its_scenario_and_moves_with_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "generated", tmp_path / "generated")
    for name in SHIPPED:
        shutil.copy(ROOT / name, tmp_path)
    tests = tmp_path / "generated" / "test-scenarios.json"
    document = json.loads(tests.read_text())
    wrong = next(each for each in document["scenarios"] if each["id"] == "read-in-sandbox")
    wrong["expect"] = "deny"
    tests.write_text(json.dumps(document))
    path = tmp_path / "scenarios.yaml"
    text = path.read_text()
    with editor(tmp_path) as program:
        program.initialize(tmp_path)
        program.open(path)
        (found,) = program.until(path, bool)
        assert (found["source"], found["code"]) == ("ironcurtain verify", "verify/scenarios")
        assert part(text, found) == "id: read-in-sandbox"
        assert "expected deny" in found["message"]
        (related,) = found["relatedInformation"]
        assert related["location"]["uri"] == (tmp_path / "constitution.md").as_uri()
        line = found["range"]["start"]["line"]
        program.type(path, f"# one line more\n{text}")
        (found,) = program.until(path, lambda shown: shown[0]["range"]["start"]["line"] != line)
        assert found["range"]["start"]["line"] == line + 1
        program.save(path, f"# one line more\n{text}")
        shown = program.until(path, lambda shown: len(shown) == 2)
        assert {each["code"]: each["severity"] for each in shown} == {
            "verify/sources": 2,
            "verify/scenarios": 1,
        }
        assert program.end() == 0
