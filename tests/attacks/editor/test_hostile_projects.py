"""Attack: a project from a stranger is opened in an editor whose language server reads all of its files.

It has the server ask somebody for a schema, work without end, or fail, so that of no document anything is
told.

Held by: references that lead nowhere outside the document, patterns in RE2, a count of what a schema makes us
do, and errors of our own for what is nested too deeply.
"""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.people.editor import Editor, editor

pytestmark = pytest.mark.timeout(300)
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
SCHEMAS: dict[str, tuple[Any, Any]] = {
    "a file": ({"$ref": "file:///etc/hostname"}, 1),
    "itself": ({"$ref": "#"}, 1),
    "nothing": ({"$ref": "#/nowhere"}, 1),
    "a slow pattern": ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
    "a pattern that is none": ({"pattern": "("}, "a"),
    "look-around": ({"pattern": "(?=a)a"}, "a"),
    "no type": ({"type": "nonsense"}, "a"),
    "no schema": ({"properties": 3, "required": 3}, {}),
    "exponential": (
        {"$defs": {"a": {"allOf": [{"items": {"$ref": "#/$defs/a"}}] * 3}}, "$ref": "#/$defs/a"},
        [[[[[[[[[[[[1]]]]]]]]]]]],
    ),
    "unique elements": ({"uniqueItems": True}, [{"a": number} for number in range(6000)]),
    "thousands of mistakes": ({"items": {"type": "string"}}, [*range(2_000)]),
}
TEXTS = {
    "aliases": ("scenarios.yaml", BOMB),
    "nested sequences": ("scenarios.yaml", "scenarios: " + "[" * 5000),
    "nested mappings": ("scenarios.yaml", "scenarios: " + "{a: " * 5000),
    "nested lists": ("dynamic-lists.json", '{"format": "ironcurtain/lists/v1", "lists": ' + "[" * 5000),
    "nested quotes": ("constitution.md", ">" * 50_000 + " x\n"),
    "nested arrays of settings": ("ironcurtain.toml", "x = " + "[" * 5000 + "]" * 5000),
    "nested tables of settings": ("ironcurtain.toml", ".".join("a" * 5000) + " = 1"),
    "a date in settings": ("ironcurtain.toml", "x = 1979-05-27"),
    "no number in settings": ("ironcurtain.toml", "x = inf"),
    "a name with NUL": ("ironcurtain.toml", 'constitution = "a\\u0000b"'),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "questions").mkdir()
    (tmp_path / "ironcurtain.toml").write_text("\n")
    return tmp_path


@pytest.fixture(scope="module")
def asked_for() -> Iterator[tuple[str, list[str]]]:
    """Run a service of the stranger's; yield its address and what it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def question(project: Path, name: str, schema: Any, content: Any) -> Path:
    """Write a question as if a compile had asked it, and an answer; return the answer's file."""
    (project / "questions" / f"{name}.json").write_text(json.dumps({"answer_schema": schema}))
    answer = project / "questions" / f"{name}.answer.json"
    answer.write_text(json.dumps(content))
    return answer


def still_tells(one: Editor, project: Path, key: str) -> None:
    """See that a mistake in another document of the project is told."""
    one.type(project / "ironcurtain.toml", f"{key} = 1\n")
    one.until(project / "ironcurtain.toml", lambda told: any(f'"{key}"' in each["message"] for each in told))


def test_an_answers_schema_that_leads_elsewhere_works_without_end_or_is_none(
    project: Path, asked_for: tuple[str, list[str]]
) -> None:
    address, asked = asked_for
    with editor(project, "--no-verify") as one:
        one.initialize(project)
        one.open(project / "ironcurtain.toml")
        hostile = {**SCHEMAS, "another machine": ({"$ref": f"{address}/schema"}, 1)}
        hostile["another dialect"] = ({"$schema": f"{address}/dialect", "type": "string"}, 1)
        answers = [question(project, str(number), *each) for number, each in enumerate(hostile.values())]
        for answer in answers:
            one.open(answer)
        still_tells(one, project, "typed")
        assert all(len(one.shown.get(answer.as_uri(), [])) <= 20 for answer in answers)
        answer = question(project, "honest", {"type": "string"}, 1)
        one.open(answer)
        one.until(answer, lambda told: any("not of type 'string'" in each["message"] for each in told))
    assert asked == []


def test_a_document_that_is_nested_or_written_to_fail_hides_no_mistake_of_another(project: Path) -> None:
    with editor(project, "--no-verify") as one:
        one.initialize(project)
        one.open(project / "ironcurtain.toml")
        for number, (where, text) in enumerate(TEXTS.values()):
            one.open(project / f"project-{number}" / where, text)
        still_tells(one, project, "typed")


def test_links_and_pipes_in_a_project_hold_up_nothing_and_show_nothing(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text("hunter2: [")
    (project / "constitution.md").symlink_to("/dev/zero")
    (project / "scenarios.yaml").symlink_to(secret)
    os.mkfifo(project / "scenario-answers.yaml")
    mark = project / "ran"
    (project / "tools.py").write_text(f"open({str(mark)!r}, 'w')\n")
    servers = {"mcpServers": {"own": {"tools": "tools.py"}, "run": {"command": "touch", "args": [str(mark)]}}}
    (project / "mcp-servers.json").write_text(json.dumps(servers))
    with editor(project) as one:
        one.initialize(project)
        one.open(project / "ironcurtain.toml")
        one.open(project / "mcp-servers.json")
        still_tells(one, project, "typed")
    assert "hunter2" not in json.dumps(one.shown)
    assert not mark.exists()
