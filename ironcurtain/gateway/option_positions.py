"""Which user values of a command can be taken for options: a lint of `cli_command` declarations.

The builder of arguments is asked with inputs whose texts begin with `-`, once for each value that a condition
of it could ask about (truth values, choices, what is absent, empty or zero). A text that comes out as the
beginning of an argument, with no `--` before it, could be an option of the program.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from ironcurtain.gateway.command import Command, CommandFailedError, arguments_for
from ironcurtain.gateway.definition import Tool

_PROBE = "-probe-"
_MOST_INPUTS = 512


def option_positions(tool: Tool) -> tuple[str, ...]:
    """Return the arguments of a tool whose values can land in option position of its command."""
    if not isinstance(tool.handler, Command):
        return ()
    return tuple(name for name in tool.input.model_fields if _lands(tool.handler, tool.input, name))


def unexamined(tool: Tool) -> tuple[str, ...]:
    """Return the arguments of which that is not known, as args_builder failed whatever it was asked with."""
    if not isinstance(tool.handler, Command):
        return ()
    return tuple(name for name in tool.input.model_fields if not _answers(tool.handler, tool.input, name))


def _answers(command: Command, model: type[BaseModel], probed: str) -> bool:
    return any(
        _built(command, model.model_construct(**values)) is not None for values in _inputs(model, probed)
    )


def _lands(command: Command, model: type[BaseModel], probed: str) -> bool:
    probe = f"{_PROBE}{probed}"
    tried = (model.model_construct(**values) for values in _inputs(model, probed))
    return any(_is_first_in(command, given, probe) for given in tried)


def _is_first_in(command: Command, given: BaseModel, probe: str) -> bool:
    arguments = _built(command, given)
    if arguments is None:
        return False
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(argument.startswith(probe) for argument in before)


def _built(command: Command, given: BaseModel) -> list[str] | None:
    """Return the arguments for an input; None where the builder fails."""
    try:
        return arguments_for(command, given)
    except CommandFailedError:
        return None
    except Exception:  # noqa: BLE001 - a builder that takes valid inputs only; those are judged when they come
        return None


def _inputs(model: type[BaseModel], probed: str) -> Iterator[dict[str, Any]]:
    """Yield inputs with one field probed: others vary, so that what stands behind a condition is reached.

    First one field at a time, then all together, as far as that is bounded.
    """
    fields = model.model_fields
    values = {name: _examples(field.annotation, _PROBE) for name, field in fields.items()}
    for name, field in fields.items():
        if not field.is_required():
            values[name].append(field.get_default(call_default_factory=False))
    values[probed] = _examples(fields[probed].annotation, f"{_PROBE}{probed}")[:1]
    usual = {name: each[0] for name, each in values.items()}
    yield usual
    for name, each in values.items():
        yield from ({**usual, name: value} for value in each[1:])
    together = itertools.product(*values.values())
    yield from (dict(zip(values, each, strict=True)) for each in itertools.islice(together, _MOST_INPUTS))


def _examples(kind: Any, text: str) -> list[Any]:  # noqa: ANN401 - values of any declared type
    """Return values of a type that a condition could tell apart; the first holds the text wherever it can."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _examples(inner[0], text)
    if origin in (Union, types.UnionType):
        examples = [value for each in inner if each is not type(None) for value in _examples(each, text)]
        return [*examples, None] if type(None) in inner else examples
    if origin in (list, tuple, set, frozenset) and inner:
        return [origin([_examples(inner[0], text)[0]]), origin()]
    return list(inner) if origin is Literal else _plain(kind, text)


def _plain(kind: Any, text: str) -> list[Any]:  # noqa: ANN401 - as above
    if not isinstance(kind, type):
        return [text]
    if issubclass(kind, Enum):
        return list(kind)
    if issubclass(kind, BaseModel):
        below = {name: _examples(field.annotation, text)[0] for name, field in kind.model_fields.items()}
        return [kind.model_construct(**below)]
    simple: dict[type, list[Any]] = {
        bool: [False, True],
        int: [0, 1],
        float: [0.0, 1.0],
        dict: [{}],
        list: [[]],
    }
    return simple.get(kind, [text, ""])
