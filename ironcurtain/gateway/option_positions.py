"""Which user values of a command can be taken for options: a lint of `cli_command` declarations.

The builder of arguments is asked with inputs whose texts begin with `-`. A text that comes out as the
beginning of an argument, with no `--` before it, could be an option of the program.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from ironcurtain.gateway.command import Command, CommandFailedError, arguments_for
from ironcurtain.gateway.definition import Tool

_PROBE = "-probe-"


def option_positions(tool: Tool) -> tuple[str, ...]:
    """Return the arguments of a tool whose values can land in option position of its command."""
    if not isinstance(tool.handler, Command):
        return ()
    return tuple(name for name in tool.input.model_fields if _lands(tool.handler, tool.input, name))


def _lands(command: Command, model: type[BaseModel], probed: str) -> bool:
    probe = f"{_PROBE}{probed}"
    values = {name: _example(field.annotation, _PROBE) for name, field in model.model_fields.items()}
    values[probed] = _example(model.model_fields[probed].annotation, probe)
    try:
        arguments = arguments_for(command, model.model_construct(**values))
    except CommandFailedError:
        return False
    except Exception:  # noqa: BLE001 - a builder that takes valid inputs only; those are judged when they come
        return False
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(argument.startswith(probe) for argument in before)


def _example(kind: Any, text: str) -> Any:  # noqa: ANN401 - a value of any declared type
    """Return a value of a type, with this text wherever it holds one."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _example(inner[0], text)
    if origin in (Union, types.UnionType):
        return _example(next(each for each in inner if each is not type(None)), text)
    if origin is Literal:
        return inner[0]
    if origin in (list, tuple, set, frozenset) and inner:
        return origin([_example(inner[0], text)])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_construct(**{n: _example(f.annotation, text) for n, f in kind.model_fields.items()})
    return text if kind is str else next(_plain(kind), text)


def _plain(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    if kind in (int, float, bool, dict, list):
        yield kind()
