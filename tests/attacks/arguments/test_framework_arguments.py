"""In an agent framework, the arguments of a call are changed between its decision and its run.

Held by: we stand next to the tools, so what others make of the arguments is decided on; the tool gets the
canonical arguments, in which links are followed already.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from pydantic_ai.capabilities import AbstractCapability
from support.projects.framework_programs import PROGRAMS, LangChain, Program, PydanticAi

pytestmark = pytest.mark.timeout(600)
CHANGED = {"path": "~/closed/a"}


class ChangingCapability(AbstractCapability[Any]):
    async def before_tool_execute(self, ctx: Any, **more: Any) -> Any:  # noqa: ARG002
        return CHANGED


class ChangingMiddleware(AgentMiddleware[Any, Any, Any]):
    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "args": CHANGED}))


@pytest.mark.parametrize(
    ("made", "other"), [(PydanticAi, ChangingCapability()), (LangChain, ChangingMiddleware())]
)
def test_another_middleware_changes_the_arguments(made: type[Program], other: Any, tmp_path: Path) -> None:
    program = made(tmp_path.resolve())
    with program.policy() as policy:
        program.other = [other]
        program.open(policy)
        read = program.call("read_file", {"path": "~/open/a"})
    assert read is not None
    assert "is not permitted" in read
    assert program.ran == []


@pytest.mark.parametrize("made", PROGRAMS)
def test_a_link_is_changed_after_the_decision(made: type[Program], tmp_path: Path) -> None:
    program = made(tmp_path.resolve())
    with program.policy() as policy:
        program.open(policy)
        (program.home / "open" / "link").symlink_to(program.home / "open" / "a")
        assert program.call("read_file", {"path": "~/open/link"}) == "its content"
    assert program.ran == [("read_file", f"{program.home}/open/a")]  # no link is left that could be changed
