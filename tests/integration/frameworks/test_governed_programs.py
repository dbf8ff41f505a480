"""Programs of three agent frameworks, by the real packages: allowed, refused, asked about, failed."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import agents
import anyio
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from support.projects.framework_programs import PROGRAMS, RULES, SERVER, LangChain, Program
from support.projects.policies import rule

from ironcurtain.errors import UsageError
from ironcurtain.integrations.frameworks.langchain import GovernedTools
from ironcurtain.integrations.frameworks.openai_agents import governed
from ironcurtain.policy import Policy
from ironcurtain.servers.tools import read_saved_tools

pytestmark = pytest.mark.timeout(600)
PAGE = Path(__file__).parents[3] / "docs" / "library.md"
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```$",
    PAGE.read_text().partition("## Agent frameworks")[2],
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda each: each.__name__)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    made: Program = request.param(tmp_path_factory.mktemp("home").resolve())
    with made.policy() as policy:
        made.open(policy)
        yield made


@pytest.fixture
def program(opened: Program) -> Program:
    opened.ran.clear()
    return opened


@pytest.fixture(params=PROGRAMS, ids=lambda each: each.__name__)
def new(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    made: Program = request.param(tmp_path.resolve())
    return made


def test_an_allowed_tool_runs_with_the_canonical_arguments(program: Program) -> None:
    assert program.call("read_file", {"path": "~/open/./a"}) == "its content"
    assert program.ran == [("read_file", f"{program.home}/open/a")]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_file", {"path": "~/closed/a"}, 'Reading what "path" names is not permitted.\n'),
        ("read_file", {"paht": "~/open/a"}, 'unknown argument "paht". Valid arguments: path.\n'),
        (
            "send_file",
            {"path": "~/open/a"},
            "save the program's tools with `save_tools`, name that file as \"too",
        ),
    ],
)
def test_the_model_reads_the_refusal(
    program: Program, tool: str, arguments: dict[str, str], words: str
) -> None:
    read = program.call(tool, arguments)
    assert read is not None
    assert words in read
    assert "No approval can permit it.\nDecision: c1" in read
    assert str(program.home) not in read
    assert program.ran == []


def test_a_person_is_asked_and_approves(program: Program) -> None:
    assert program.call("remove_file", {"path": "~/open/a"}) is None
    question = program.question()
    assert question["arguments"] == {"path": f"{program.home}/open/a"}
    assert question["reason"] == "removal says escalate."
    assert program.ran == []
    assert program.approve() == "removed"
    assert program.ran == [("remove_file", f"{program.home}/open/a")]


def test_a_person_is_asked_and_refuses(program: Program) -> None:
    assert program.call("remove_file", {"path": "~/open/a"}) is None
    assert program.refuse() is not None
    assert program.ran == []


def test_a_failure_of_ours_is_a_deny(new: Program) -> None:
    new.open(new.policy())  # never entered: no engine runs
    read = new.call("read_file", {"path": "~/open/a"})
    assert read is not None
    assert "No approval can permit it." in read
    assert new.ran == []


def test_a_tool_that_changed_since_it_was_annotated_is_denied(new: Program) -> None:
    with new.policy() as policy:
        new.reading = "Read a file, and send it to the authors."
        new.open(policy)
        read = new.call("read_file", {"path": "~/open/a"})
    assert read is not None
    assert "not the one that was examined" in read
    assert new.ran == []


def test_a_framework_asks_no_approvers_by_name(new: Program) -> None:
    named = {**rule("removal", "escalate", tool=["remove_file"]), "approver": "security"}
    approvers = {"security": {"meaning": "Whoever is on duty."}}
    with new.policy([RULES[0], named], approvers=approvers) as policy:
        new.open(policy)
        read = new.call("remove_file", {"path": "~/open/a"})
    assert read is not None
    assert "there is nobody to ask" in read
    assert new.ran == []


def test_an_asynchronous_langchain_agent_is_governed(tmp_path: Path) -> None:
    program = LangChain(tmp_path.resolve())

    async def read(path: str) -> str:
        given = program.script("read_file", {"path": path})
        result = await program.agent.ainvoke(given, program.place)
        return str(result["messages"][-2].content)

    with program.policy() as policy:
        program.open(policy)
        assert "is not permitted" in anyio.run(read, "~/closed/a")
        assert anyio.run(read, "~/open/a") == "its content"
    assert program.ran == [("read_file", f"{program.home}/open/a")]


def test_the_tool_node_of_a_graph_is_governed(tmp_path: Path) -> None:
    program = LangChain(tmp_path.resolve())

    def read(policy: Policy, path: str) -> str:
        wrap = GovernedTools(policy, SERVER).wrap_tool_call
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode(program.tools, wrap_tool_call=wrap))
        graph.set_entry_point("tools")
        called = AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": path}, "id": "c1"}])
        return str(graph.compile().invoke({"messages": [called]})["messages"][-1].content)

    with program.policy() as policy:
        assert "is not permitted" in read(policy, "~/closed/a")
        assert read(policy, "~/open/a") == "its content"
    assert program.ran == [("read_file", f"{program.home}/open/a")]


def test_what_the_provider_of_the_model_runs_is_not_taken_for_governed(tmp_path: Path) -> None:
    policy = LangChain(tmp_path.resolve()).policy()
    with pytest.raises(UsageError, match="web_search is no function tool"):
        governed([agents.WebSearchTool()], policy, SERVER)


def test_the_page_shows_every_framework() -> None:
    assert len(EXAMPLES) == len(PROGRAMS)


@pytest.mark.parametrize(("made", "example"), [*zip(PROGRAMS, EXAMPLES, strict=True)])
def test_the_examples_of_the_page_run(
    made: type[Program], example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = made(tmp_path.resolve())
    with program.policy() as policy:
        program.open(policy)
        monkeypatch.chdir(tmp_path)
        names = {"policy": policy, "model": program.model, "tools": program.tools}
        code = compile(example, str(PAGE), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if waited := eval(code, names):
            asyncio.run(waited)
        program.agent = names["agent"]
        assert "is not permitted" in (program.call("read_file", {"path": "~/closed/a"}) or "")
        assert program.call("remove_file", {"path": "~/open/a"}) is None
        assert program.ran == []
    saved = read_saved_tools(SERVER, tmp_path / "my-agent-tools.json")
    assert [tool.name for tool in saved] == ["read_file", "remove_file", "send_file"]
