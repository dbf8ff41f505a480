"""Programs of three agent frameworks: governed tools of their own, and a model that is scripted."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import agents
from agents import testing as scripted
from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ironcurtain.integrations.frameworks import langchain, openai_agents, pydantic_ai
from ironcurtain.policy import Policy
from ironcurtain.servers.tools import read_saved_tools, tool_digest
from support.projects.policies import rule, tool, write_bundle

SERVER = "my-agent"
ROLES = {"read_file": "read-path", "remove_file": "delete-path"}
RULES = [
    rule("reading", "allow", paths={"roles": ["read-path"], "within": ["~/open"]}),
    rule("removal", "escalate", paths={"roles": ["delete-path"], "within": ["~/open"]}),
]


class Program(ABC):
    """An agent with `read_file`, `remove_file` and, unknown to the policy, `send_file`.

    Attributes:
        ran: The tools that ran, with the argument that each got.
        reading: The description of `read_file`.
        other: What stands beside ours and touches calls: a capability, or middleware.
        agent: The framework's agent.
    """

    model: Any
    agent: Any

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ran: list[tuple[str, str]] = []
        self.reading = "Read a file."
        self.other: list[Any] = []

    @property
    def functions(self) -> list[Callable[[str], str]]:
        def read_file(path: str) -> str:
            self.ran.append(("read_file", path))
            return "its content"

        def remove_file(path: str) -> str:
            """Remove a file."""
            self.ran.append(("remove_file", path))
            return "removed"

        def send_file(path: str) -> str:
            """Send a file."""
            self.ran.append(("send_file", path))
            return "sent"

        read_file.__doc__ = self.reading
        return [read_file, remove_file, send_file]

    @property
    @abstractmethod
    def tools(self) -> list[Any]:
        """The program's tools, as the framework has them."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Save the list of the program's tools."""

    @abstractmethod
    def open(self, policy: Policy) -> None:
        """Govern the program."""

    @abstractmethod
    def call(self, tool: str, arguments: Mapping[str, Any], id_: str = "c1") -> str | None:
        """Have the model call a tool; return what it reads of it, or None where a person is asked."""

    @abstractmethod
    def question(self) -> Mapping[str, Any]:
        """Return what a person is shown who is asked: `arguments`, `reason`, and the digest of the `call`."""

    @abstractmethod
    def approve(self, **instead: Any) -> str | None:
        """Say yes as the framework has it, with what stands in its place; return as `call` does."""

    @abstractmethod
    def refuse(self) -> str | None:
        """Say no."""

    def policy(self, rules: list[dict[str, Any]] | None = None, **more: Any) -> Policy:
        """Return the policy that annotates the tools as the program saves them, but for `send_file`."""
        self.home.joinpath("open").mkdir(exist_ok=True)
        self.save(self.home / "tools.json")
        annotated = [
            {
                **tool(listed.name, contained=False, path=[ROLES[listed.name]]),
                "schema_digest": tool_digest(listed),
                "input_schema": listed.input_schema,
            }
            for listed in read_saved_tools(SERVER, self.home / "tools.json")
            if listed.name in ROLES
        ]
        bundle = write_bundle(self.home, {SERVER: annotated}, rules or RULES, policy=more)
        return Policy.load(bundle, home=self.home)


class PydanticAi(Program):
    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.model = FunctionModel(self._answer)

    @property
    def tools(self) -> list[Callable[[str], str]]:
        return self.functions

    def save(self, path: Path) -> None:
        asyncio.run(pydantic_ai.save_tools(path, Agent(self.model, tools=self.tools)))

    def open(self, policy: Policy) -> None:
        self.agent = Agent(
            self.model,
            output_type=[str, DeferredToolRequests],
            tools=self.tools,
            capabilities=[pydantic_ai.GovernedTools(policy, SERVER), *self.other],
        )

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG002
        parts = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if parts:
            return ModelResponse([TextPart(str(parts[-1].content))])
        return ModelResponse([self.made])

    def call(self, tool: str, arguments: Mapping[str, Any], id_: str = "c1") -> str | None:
        self.made = ToolCallPart(tool, json.dumps(arguments), id_)
        self.result = self.agent.run_sync("go")
        return self._read()

    def _read(self) -> str | None:
        return None if isinstance(self.result.output, DeferredToolRequests) else str(self.result.output)

    def question(self) -> Mapping[str, Any]:
        metadata: dict[str, Any] = self.result.output.metadata[self.made.tool_call_id]
        return metadata

    def approve(self, **instead: Any) -> str | None:
        return self._resume(**{"approvals": {self.made.tool_call_id: True}, **instead})

    def refuse(self) -> str | None:
        return self._resume(approvals={self.made.tool_call_id: False})

    def _resume(self, **results: Any) -> str | None:
        handed_back = DeferredToolResults(**{"metadata": self.result.output.metadata, **results})
        self.result = self.agent.run_sync(
            message_history=self.result.all_messages(), deferred_tool_results=handed_back
        )
        return self._read()


class _Model(FakeMessagesListChatModel):
    def bind_tools(self, *given: Any, **more: Any) -> Any:  # noqa: ARG002
        return self


class LangChain(Program):
    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.model = _Model(responses=[])
        self.threads = 0

    @property
    def tools(self) -> list[BaseTool]:
        return [StructuredTool.from_function(each) for each in self.functions]

    def save(self, path: Path) -> None:
        langchain.save_tools(path, self.tools)

    def open(self, policy: Policy) -> None:
        self.agent = create_agent(
            self.model,
            self.tools,
            middleware=[*self.other, langchain.GovernedTools(policy, SERVER)],
            checkpointer=InMemorySaver(),
        )

    def call(self, tool: str, arguments: Mapping[str, Any], id_: str = "c1") -> str | None:
        return self.invoke(self.script(tool, arguments, id_))

    def script(self, tool: str, arguments: Mapping[str, Any], id_: str = "c1") -> dict[str, Any]:
        """Have the model call a tool next, in a new thread; return what the agent is given."""
        called = AIMessage("", tool_calls=[{"name": tool, "args": dict(arguments), "id": id_}])
        self.model.responses, self.model.i = [called, AIMessage("done")], 0
        self.threads += 1
        return {"messages": [{"role": "user", "content": "go"}]}

    @property
    def place(self) -> Any:
        """The thread of the last call."""
        return {"configurable": {"thread_id": str(self.threads)}}

    def invoke(self, given: Any) -> str | None:
        self.result = self.agent.invoke(given, self.place)
        if "__interrupt__" in self.result:
            return None
        return str(self.result["messages"][-2].content)

    def question(self) -> Mapping[str, Any]:
        value = self.result["__interrupt__"][0].value
        return {**value, "arguments": value["args"], "reason": value["description"]}

    def approve(self, **instead: Any) -> str | None:
        call = self.question()["call"]
        return self.invoke(Command(resume={"type": "approve", "call": call, **instead}))

    def refuse(self) -> str | None:
        return self.invoke(Command(resume={"type": "reject", "message": "Not today."}))


class OpenAiAgents(Program):
    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.model = scripted.ScriptedModel([])
        self.asked: dict[str, Any] = {}

    @property
    def tools(self) -> list[agents.Tool]:
        return [agents.function_tool(each) for each in self.functions]

    def save(self, path: Path) -> None:
        openai_agents.save_tools(path, self.tools)

    def open(self, policy: Policy) -> None:
        tools = openai_agents.governed(self.tools, policy, SERVER, asked=self.asked)
        self.agent = agents.Agent("a", tools=tools, model=self.model)

    def call(self, tool: str, arguments: Mapping[str, Any], id_: str = "c1") -> str | None:
        return self.calls((tool, arguments, id_))

    def calls(self, *made: tuple[str, Mapping[str, Any], str]) -> str | None:
        """Have the model make calls one after another."""
        calls = [[scripted.function_call(tool, dict(given), call_id=id_)] for tool, given, id_ in made]
        steps = [*calls, [scripted.assistant_message("done")]]
        self.agent.model = scripted.ScriptedModel(steps)
        return self.run("go")

    def run(self, given: Any) -> str | None:
        settings = agents.RunConfig(tracing_disabled=True)
        self.result = agents.Runner.run_sync(self.agent, given, run_config=settings)
        outputs = [each for each in self.result.new_items if isinstance(each, agents.ToolCallOutputItem)]
        return None if self.result.interruptions else str(outputs[-1].output)

    def question(self) -> Mapping[str, Any]:
        asked: dict[str, Any] = self.asked[self.result.interruptions[0].call_id or ""]
        return asked

    def approve(self, **instead: Any) -> str | None:
        state = self.result.to_state()
        state.approve(self.result.interruptions[0], **instead)
        return self.run(state)

    def refuse(self) -> str | None:
        state = self.result.to_state()
        state.reject(self.result.interruptions[0])
        return self.run(state)


PROGRAMS: list[type[Program]] = [PydanticAi, LangChain, OpenAiAgents]
