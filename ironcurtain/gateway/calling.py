"""Running a handler: validated input in, validated answer out, and an end in any case.

An asynchronous handler runs on an event loop of the gateway's own, a plain one in a thread of its own, so
that neither keeps the server from deciding other calls. A call that takes too long, or is called off, ends
its handler and the programs that it started.
"""

from __future__ import annotations

import contextvars
import inspect
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import anyio
from pydantic import BaseModel, JsonValue, ValidationError

from ironcurtain.gateway.admission import Stage
from ironcurtain.gateway.command import Command, CommandFailedError
from ironcurtain.gateway.definition import HandlerContext, Tool
from ironcurtain.gateway.judged_values import changed_argument
from ironcurtain.gateway.workers import TooManyHandlersError, Workers
from ironcurtain.system.text import counted, quoted

TIMED_OUT = "operation timed out"
INTERNAL = "internal error"


@dataclass
class CallNotes:
    """What is to be recorded of a call's execution, beside its result.

    Attributes:
        trace_id: The call's id.
        stage: Where it failed; None where it did not.
        detail: What went wrong, without any value of the call or text of the handler.
        masked: By rule of the output policy how many strings were masked.
        redacted: By rule how many places were taken out.
        stripped: How many places no rule covers.
    """

    trace_id: str
    stage: Stage | None = None
    detail: str = ""
    masked: Mapping[str, int] = field(default_factory=dict)
    redacted: Mapping[str, int] = field(default_factory=dict)
    stripped: int = 0


NOTES: contextvars.ContextVar[CallNotes] = contextvars.ContextVar("ironcurtain_call")
"""The notes of the call that is being carried out."""


class ToolFailedError(Exception):
    """A tool gave no answer.

    Attributes:
        told: What the agent is told.
        detail: What is recorded.
    """

    def __init__(self, stage: Stage, detail: str, told: str = INTERNAL) -> None:
        super().__init__(detail)
        self.stage, self.detail, self.told = stage, detail, told


async def call_tool(
    tool: Tool, arguments: Mapping[str, JsonValue], trace_id: str, workers: Workers
) -> JsonValue:
    """Call a tool with the arguments that were judged; return its whole answer.

    Raises:
        ToolFailedError: If it gives none.
    """
    try:
        given = tool.shape.given(arguments)
    except ValidationError as error:
        raise ToolFailedError(
            Stage.VALIDATION, f"{error.error_count()} canonical arguments are not valid"
        ) from None
    except BaseException as error:  # noqa: BLE001 - a team's validator may raise anything, SystemExit too
        raise ToolFailedError(Stage.VALIDATION, f"a validator raised {type(error).__name__}") from None
    if changed := changed_argument(arguments, given):
        raise ToolFailedError(
            Stage.VALIDATION,
            "validation changes what was judged",
            f"The arguments are not valid. The tool would take {quoted(changed)} for another value than the "
            "one that was judged: write it as the tool spells it, without blanks around it.",
        )
    answer = await _run(tool, given, trace_id, workers)
    return validated(tool, answer)


async def _run(tool: Tool, given: BaseModel, trace_id: str, workers: Workers) -> object:
    handler = tool.handler
    seconds = min(tool.timeout, handler.timeout) if isinstance(handler, Command) else tool.timeout
    taken = (given, HandlerContext(trace_id, seconds)) if tool.takes_context else (given,)
    try:
        with anyio.fail_after(seconds):
            if isinstance(handler, Command):
                return await workers.around_program(handler, given)
            if inspect.iscoroutinefunction(handler):
                return await workers.on_loop(handler, taken)
            return await workers.in_thread(handler, taken)
    except TimeoutError:
        raise ToolFailedError(Stage.EXECUTION, f"no answer within {seconds:g} seconds", TIMED_OUT) from None
    except CommandFailedError as error:
        raise ToolFailedError(Stage.EXECUTION, str(error)) from None
    except TooManyHandlersError as error:
        raise ToolFailedError(Stage.EXECUTION, str(error)) from None
    except Exception as error:  # noqa: BLE001 - a handler may raise anything, and its text is never told
        raise ToolFailedError(Stage.EXECUTION, f"the handler raised {type(error).__name__}") from None


def validated(tool: Tool, answer: object) -> JsonValue:
    """Return an answer as JSON, as its declaration describes it.

    Raises:
        ToolFailedError: If it is none of that.
    """
    try:
        plain = answer.model_dump(mode="json", by_alias=True) if isinstance(answer, BaseModel) else answer
        whole, made = tool.shape.answered(plain)
        json.dumps(made, allow_nan=False).encode()
    except ValidationError as error:
        raise ToolFailedError(
            Stage.OUTPUT, f"the answer is not as declared in {counted(error.error_count(), 'place')}"
        ) from None
    except BaseException as error:  # noqa: BLE001 - what cannot be written, and whatever a team's code raises
        raise ToolFailedError(Stage.OUTPUT, f"the answer is no JSON ({type(error).__name__})") from None
    # Written as JSON, NaN has become null.
    if not all(math.isfinite(each) for each in _floats(whole)):
        raise ToolFailedError(Stage.OUTPUT, "the answer holds NaN or Infinity")
    return made


def _floats(value: object) -> Iterator[float]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float):
            yield each
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple | set | frozenset):
            waiting.extend(each)
