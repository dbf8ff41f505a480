"""The questions of a compile of the shipped policy, as reviewed: read them to know what a model is told.

After a wanted change: `python tests/golden/test_prompts_golden.py` rewrites them; review the diff. The tool
lists beside them are those that the shipped annotations were made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.compiler.annotate.questions import all_listed, batches
from ironcurtain.compiler.llm.question import Answer, EarlierAnswer, Keep, Question, answer_to, schema_text
from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.rules.compile_rules import compile_rules
from ironcurtain.compiler.rules.rule_context import RuleContext
from ironcurtain.decision.reserved_tools import without_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.servers.tools import Tools, read_saved_tools, tool_digest
from ironcurtain.system.files import load

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "prompts"
BOTH = ["filesystem", "git"]
ROUTES = {
    "C6": ["filesystem"],
    **{f"C{number}": BOTH for number in (4, 5, *range(7, 13))},
    **{f"C{number}": ["git"] for number in range(13, 24)},
}


class AskedError(Exception):
    """All questions are there."""


class Recorder:
    """A provider that answers where clauses belong, and otherwise only writes questions down."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        self.questions += questions
        if [question.key for question in questions] != ["clauses"]:
            raise AskedError
        routes: list[Any] = [{"clause": clause, "servers": servers} for clause, servers in ROUTES.items()]
        answer = answer_to(questions[0], {"clauses": routes}, provider="recorder")
        keep(answer)
        return [answer]

    def given(self) -> Sequence[EarlierAnswer]:
        return ()

    def published(self) -> None:
        """Do nothing."""


def tools() -> Tools:
    return {server: read_saved_tools(server, GOLDEN / f"{server}.tools.json") for server in BOTH}


def shipped_annotations() -> Annotations:
    """Return what servers list: what the rules open beside it is listed after the questions were asked."""
    return without_reserved(load(ROOT / "generated" / "tool-annotations.json", Annotations))


def rules_questions(directory: Path) -> list[Question]:
    clauses = read_clauses((ROOT / "constitution.md").read_text(encoding="utf-8"), "constitution.md")
    lists = Lists(format="ironcurtain/lists/v1", lists={})
    context = RuleContext(clauses, shipped_annotations(), lists, frozenset())
    recorder = Recorder()
    with pytest.raises(AskedError):
        compile_rules(context, AnswerCache(directory / "none", directory / "kept", lambda: recorder))
    return recorder.questions


def questions(directory: Path) -> list[Question]:
    asked = [joint.question for joint in batches(all_listed(tools()), Registry())]
    return [*asked, *rules_questions(directory)]


def rendered(directory: Path) -> dict[str, str]:
    return {f"{each.key}.md": f"{each.system}\n\n---\n\n{each.text}\n" for each in questions(directory)}


def test_the_tool_lists_are_those_of_the_shipped_annotations() -> None:
    shipped = {
        (server, tool.tool): tool.schema_digest
        for server, annotated in shipped_annotations().servers.items()
        for tool in annotated.tools
    }
    assert {(one.server, one.tool.name): tool_digest(one.tool) for one in all_listed(tools())} == shipped


def test_questions_are_as_reviewed(tmp_path: Path) -> None:
    found = rendered(tmp_path)
    kept = {
        path.name
        for pattern in ("annotate-*.md", "clauses.md", "rules-*.md")
        for path in GOLDEN.glob(pattern)
    }
    assert found.keys() == kept
    for name, text in found.items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


def test_the_schema_of_an_answer_is_a_small_part_of_its_question(tmp_path: Path) -> None:
    for each in questions(tmp_path):
        schema, text = len(schema_text(each.schema)), len(each.system) + len(each.text)
        assert schema < 0.2 * (schema + text), each.key


def test_what_strangers_wrote_stays_inside_its_delimiters(tmp_path: Path) -> None:
    for name, text in rendered(tmp_path).items():
        _, _, request = text.partition("\n---\n")
        for opening in (
            "<tools-data>",
            "<clauses-data>",
            "<servers-data>",
            "<directories-data>",
            "<lists-data>",
        ):
            closing = opening.replace("<", "</")
            assert request.count(opening) == request.count(closing) <= 1, name


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        for each, content in rendered(Path(scratch)).items():
            (GOLDEN / each).write_text(content, encoding="utf-8")
