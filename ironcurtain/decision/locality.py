"""Whether deciding a call may look at the file system, or take long: such calls must not hold up others.

A path may lie on a disk that does not answer, and git is a process of its own. A schema that a server wrote
may demand much work for a short argument, and the first call of a tool prepares its schema. What is none of
these is prepared on the spot, which costs less than handing it to a thread.
"""

from __future__ import annotations

from ironcurtain.decision.canonical.paths_in_text import looks_like_path
from ironcurtain.decision.decide import Call
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.system.json_text import JsonSource

_MOST_VALUES = 100
_MOST_CHARACTERS = 10_000
_MOST_WORK = 5_000
"""Values of a call times what one of them can cost; a few milliseconds."""


def is_quick(call: Call, policy: LoadedPolicy) -> bool:
    """Tell whether `prepare` decides a call from the call and the policy alone, and soon.

    Where that cannot be told it is False, as for the first call of a tool.
    """
    cost = policy.cost(call.server, call.tool)
    if cost is None or isinstance(call.arguments, str | bytes):  # a text may hold anything
        return False
    return _is_small_and_pathless(call.arguments, min(_MOST_VALUES, _MOST_WORK // max(cost, 1)))


def _is_small_and_pathless(arguments: JsonSource | bytes, most: int) -> bool:
    waiting: list[JsonSource | bytes] = [arguments]
    values = characters = 0
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            characters += len(value)
            if looks_like_path(value):
                return False
        values += 1
        if values + len(waiting) > most or characters > _MOST_CHARACTERS:
            return False
    return True
