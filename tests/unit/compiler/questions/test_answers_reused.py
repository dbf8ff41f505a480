"""How many questions a compile asks: five servers, 200 tools, answers by rote."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.documents import object_at

from ironcurtain.compiler.annotate.annotate import annotate
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.llm.question import Answer, EarlierAnswer, Keep, Question, answer_to
from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.rules.compile_rules import compile_rules
from ironcurtain.compiler.rules.rule_context import RuleContext
from ironcurtain.model.lists import Lists
from ironcurtain.servers.tools import ListedServer, ToolListing

SERVERS = ("calendar", "drive", "files", "git", "mail")
TOOLS_EACH = 40
CONSTITUTION = "# Principles\n\nBe careful.\n\n# Rules\n\n" + "".join(
    f"- Using {server} needs approval.\n" for server in SERVERS
)


def listing(server: str, number: int) -> ToolListing:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    }
    return ToolListing(name=f"{server}_{number:02}", description="Does something.", input_schema=schema)


class Rote:
    """Answers every question with the least that is valid; clause C2 concerns calendar, C3 drive, ….

    Attributes:
        asked: The keys of all questions.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        answers = []
        for question in questions:
            self.asked.append(question.key)
            content = self._content(question)
            assert question.mistakes(content) == []
            answers.append(answer_to(question, content, provider="rote"))
            keep(answers[-1])
        return answers

    def given(self) -> Sequence[EarlierAnswer]:
        return ()

    def published(self) -> None:
        """Do nothing."""

    def _content(self, question: Question) -> Any:
        if question.key == "clauses":
            routes = zip(range(2, 7), SERVERS, strict=True)
            return {"clauses": [{"clause": f"C{number}", "servers": [name]} for number, name in routes]}
        if question.stage == "annotate":
            return {"tools": [self._annotation(question, item) for item in data(question, "tools")]}
        server = question.key.removeprefix("rules-")
        (clause,) = (item["id"] for item in data(question, "clauses") if not item["principle"])
        rule = {"name": f"{server}-ask", "description": "", "clause": clause, "if": {"side_effects": True}}
        return {"rules": [{**rule, "then": "escalate", "reason": "Ask."}], "not_enforceable": []}

    def _annotation(self, question: Question, item: Any) -> Any:
        mixed = "server" in object_at(question.schema, "properties", "tools", "items", "properties")
        args = [{"name": name, "roles": ["none"]} for name in item["input_schema"]["properties"]]
        entry = {"tool": item["tool"], "side_effects": True, "contained": False, "comment": "", "args": args}
        return {**entry, "server": item["server"]} if mixed else entry


def data(question: Question, name: str) -> Any:
    """Return what a prompt holds between its delimiters."""
    return json.loads(question.prompt.split(f"<{name}-data>")[1].split(f"</{name}-data>")[0])


class Project:
    """A project of five servers, compiled up to its rules again and again with the same kept answers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.constitution = CONSTITUTION
        self.tools = {
            server: ListedServer(tuple(listing(server, number) for number in range(TOOLS_EACH)))
            for server in SERVERS
        }

    def asked(self, *refresh: str) -> list[str]:
        """Compile; return the keys of the questions that were really asked."""
        rote = Rote()
        kept = self._directory / "kept"
        cache = AnswerCache(self._directory / "answers", kept, lambda: rote, refresh=refresh)
        annotated = annotate(self.tools, (), Confirmations(), cache)
        lists = Lists(format="ironcurtain/lists/v1", lists={})
        clauses = read_clauses(self.constitution, "c.md")
        compiled = compile_rules(RuleContext(clauses, annotated.annotations, lists, frozenset()), cache)
        assert len(compiled.policy.rules) == len(SERVERS)
        return rote.asked


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Compile once; return where the answers are kept, and what was asked."""
    directory = tmp_path_factory.mktemp("first")
    return directory, Project(directory).asked()


@pytest.fixture
def project(first: tuple[Path, list[str]], tmp_path: Path) -> Project:
    """Return a project that was compiled."""
    return Project(Path(shutil.copytree(first[0], tmp_path / "project")))


def test_the_first_compile_asks_at_most_15_questions(first: tuple[Path, list[str]]) -> None:
    _, asked = first
    assert sum(key.startswith("annotate-") for key in asked) == 8
    assert asked[8:] == ["clauses", *(f"rules-{server}" for server in SERVERS)]
    assert len(asked) <= 15


def test_a_compile_without_changes_asks_nothing(project: Project) -> None:
    assert project.asked() == []


def test_editing_one_clause_of_one_server_asks_at_most_3(project: Project) -> None:
    project.constitution = CONSTITUTION.replace("Using git needs", "Using git always needs")
    assert project.asked() == ["clauses", "rules-git"]


def test_a_changed_tool_asks_about_itself_and_its_server(project: Project) -> None:
    first, *others = project.tools["mail"]
    more = first.model_copy(update={"description": "Does more."})
    project.tools["mail"] = ListedServer((more, *others))
    assert project.asked() == ["annotate-mail-1"]  # its annotation is the same, so the rules stand
    schema: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
    other = first.model_copy(update={"input_schema": schema})
    project.tools["mail"] = ListedServer((other, *others))
    assert project.asked() == ["annotate-mail-1", "rules-mail"]


def test_refreshing_a_stage_asks_its_questions_and_no_others(project: Project) -> None:
    assert project.asked("clauses") == ["clauses"]
    assert project.asked("rules") == [f"rules-{server}" for server in SERVERS]
