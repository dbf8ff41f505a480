"""Whether any call of a tool could be made at all: evidence speaks of calls that get as far as the rules."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ironcurtain.analysis.engine.indexes import SourceIndex, VariableIndex, indexed
from ironcurtain.analysis.engine.proof import NOT_EXAMINED
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.model.decision import Decision
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.analysis.engine.space.call_space import CallSpace

_MAX_CALLS = 200


def unmade(space: CallSpace) -> Iterator[str]:
    """Yield why nothing is known of a tool's calls: of all that were made, none gets as far as the rules.

    Nothing where one does, or where it is known that none can, since the schema cannot be evaluated.
    """
    policy = space.policies[0].policy
    tool = policy.tool(space.server, space.tool)
    if tool is None or tool.unusable is not None or _holds_made_element(space):
        return
    calls = list(itertools.islice(_calls(space), _MAX_CALLS))
    if any(map(space.reader.accepts, calls)):
        return
    decided = prepare(Call(space.server, space.tool, calls[0]), policy) if calls else None
    cause = f": {decided.reason}" if isinstance(decided, Decision) else ""
    place = f"{visible(space.server)}/{visible(space.tool)}"
    yield f"{NOT_EXAMINED}no call of {place} could be made that gets as far as the rules{cause}"


def _holds_made_element(space: CallSpace) -> bool:
    """Tell whether some resource was met in a whole call."""
    return any(
        element.fits and element.witness is not None
        for _, by_source in space.modes.of_roles({})
        for source, roles in indexed(SourceIndex, by_source)
        for element in space.elements.of(source, roles)
    )


def _calls(space: CallSpace) -> Iterator[dict[str, JsonValue]]:
    """Yield plain calls: one for each mode of roles, then one for each class of each variable."""
    modes = [chosen for chosen, _ in space.modes.of_roles({})]
    for chosen in modes:
        yield space.arguments.of(space.modes.completed(chosen, {}))
    for index, variable in indexed(VariableIndex, space.variables):
        for chosen in modes[:1]:
            for class_ in variable.indexes:
                yield space.arguments.of(space.modes.completed({**chosen, index: class_}, {}))
