"""Whether deciding a call may look at the file system, or take long: such calls must not hold up others.

A path may lie on a disk that does not answer, and git is a process of its own. What names no path can be
prepared on the spot, which costs less than handing it to a thread.
"""

from __future__ import annotations

from ironcurtain.decide.decide import Call
from ironcurtain.decide.loaded import LoadedPolicy
from ironcurtain.decide.structural import looks_like_path
from ironcurtain.model.base import Json

_MOST_LEAVES = 100
_MOST_CHARACTERS = 10_000


def is_quick(call: Call, policy: LoadedPolicy) -> bool:
    """Tell whether `prepare` decides a call from the call and the policy alone, and soon.

    Where that cannot be told it is False.
    """
    return not policy.names_places(call.server, call.tool) and _is_small_and_pathless(call.arguments)


def _is_small_and_pathless(arguments: Json) -> bool:
    waiting, leaves, characters = [arguments], 0, 0
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
        elif isinstance(value, bytes):
            return False
        leaves += 1
        if leaves + len(waiting) > _MOST_LEAVES or characters > _MOST_CHARACTERS:
            return False
    return True
