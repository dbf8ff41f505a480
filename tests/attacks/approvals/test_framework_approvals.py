"""In an agent framework, an approval of one call is used for another, or a yes comes that names no call.

Held by: an approval is the digest of the canonical call that the person was asked about; the call is decided
again after the answer, and the digests are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import testing as scripted
from langgraph.types import Command
from pydantic import ValidationError
from pydantic_ai import ToolApproved
from support.projects.framework_programs import PROGRAMS, LangChain, OpenAiAgents, Program, PydanticAi

pytestmark = pytest.mark.timeout(600)
VOID = "so the approval is void"
FIRST, OTHER = {"path": "~/open/a"}, {"path": "~/open/b"}


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


@pytest.mark.parametrize("to", ["open/b", "closed/b"])
def test_what_the_arguments_name_is_changed_after_the_question(program: Program, to: str) -> None:
    link = program.home / "open" / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(program.home / "open" / "a")
    assert program.call("remove_file", {"path": "~/open/link"}) is None
    link.unlink()
    link.symlink_to(program.home / to)
    read = program.approve()
    assert program.ran == []
    if to.startswith("closed"):
        assert read is not None
        assert "is not permitted" in read
    elif isinstance(program, PydanticAi):
        assert read is None  # the person is asked again, about what it would be now
        assert program.question()["arguments"] == {"path": f"{program.home}/open/b"}
    else:
        assert read is not None
        assert VOID in read


def test_an_approval_is_used_for_other_arguments(program: Program) -> None:
    if isinstance(program, PydanticAi):
        program.call("remove_file", FIRST)
        assert program.approve(approvals={"c1": ToolApproved(override_args=OTHER)}) is None
        assert program.question()["arguments"] == {"path": f"{program.home}/open/b"}
    elif isinstance(program, LangChain):
        program.call("remove_file", FIRST)
        approved = program.question()["call"]
        program.call("remove_file", OTHER)
        read = program.approve(call=approved)
        assert read is not None
        assert VOID in read
    elif isinstance(program, OpenAiAgents):
        program.calls(("remove_file", FIRST, "c1"), ("remove_file", OTHER, "c2"))
        read = program.approve(always_approve=True)
        assert read is not None
        assert VOID in read
        assert program.ran == [("remove_file", f"{program.home}/open/a")]
        program.ran.clear()
    assert program.ran == []


def test_a_yes_that_names_no_call(program: Program) -> None:
    assert program.call("remove_file", FIRST) is None
    if isinstance(program, PydanticAi):
        assert program.approve(metadata={}) is None
    elif isinstance(program, LangChain):
        for answer in (True, "yes", {"type": "approve"}, {"type": "edit", "call": "x"}):
            with pytest.raises(ValidationError):
                program.invoke(Command(resume=answer))
    elif isinstance(program, OpenAiAgents):
        program.asked.clear()  # the run is resumed where nobody knows what was asked
        read = program.approve()
        assert read is not None
        assert VOID in read
    assert program.ran == []


def test_an_approval_is_used_twice(tmp_path: Path) -> None:
    program = OpenAiAgents(tmp_path.resolve())
    with program.policy() as policy:
        program.open(policy)
        program.call("remove_file", FIRST)
        asked = program.result
        assert program.approve() == "removed"
        program.result = asked
        program.agent.model = scripted.ScriptedModel([[scripted.assistant_message("done")]])
        read = program.approve()
    assert read is not None
    assert VOID in read
    assert len(program.ran) == 1
