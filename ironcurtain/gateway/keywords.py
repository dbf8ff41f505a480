"""Keywords of a declaration that do not fit: told with everything else that is wrong, with file and line.

A misspelt or forgotten keyword would otherwise end the module where it stands, and nothing behind it would be
looked at.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec

from ironcurtain.errors import GatewayError
from ironcurtain.system.structs import replace
from ironcurtain.system.text import did_you_mean, quoted

if TYPE_CHECKING:
    from ironcurtain.gateway.definition import Tool

P = ParamSpec("P")


def told_with_the_rest(
    stand_ins: Mapping[str, object],
) -> Callable[[Callable[P, Tool]], Callable[P, Tool]]:
    """Make keywords that a declaration lacks, or does not have, problems of the tool that it returns.

    Args:
        stand_ins: By required keyword a value with which nothing is wrong, so that one that is missing is
            told once.
    """

    def wrap(declare: Callable[P, Tool]) -> Callable[P, Tool]:
        known = tuple(inspect.signature(declare).parameters)

        @functools.wraps(declare)
        def declared(*values: P.args, **given: P.kwargs) -> Tool:
            taken: dict[str, Any] = {name: value for name, value in given.items() if name in known}
            missing = [name for name in stand_ins if name not in taken]
            tool = declare(**{**stand_ins, **taken})  # type: ignore[call-arg] # what is missing stands in
            told = [(f"it has no {name}", f"Give {name}=…") for name in missing]
            unknown = [name for name in given if name not in known]
            told += [(f"there is no keyword {quoted(name)}", near(name, known)) for name in unknown]
            if values:
                told.append(("a value stands without its keyword", 'Write name="get_ticket", and so on.'))
            problems = [
                GatewayError(f"tool {quoted(tool.name)}: {what}", where=tool.place, hint=hint)
                for what, hint in told
            ]
            return replace(tool, problems=(*problems, *tool.problems)) if problems else tool

        return declared

    return wrap


def near(name: str, known: tuple[str, ...]) -> str:
    """Return a hint about a name that does not exist: the one perhaps meant, or all that there are."""
    return did_you_mean(name, known, f"There is {', '.join(known)}.")
