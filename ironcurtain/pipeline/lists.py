"""Stage 4, resolve lists: every `@name` that a rule uses must be there, resolved; the next stage renders.

A compile asks nobody for members: `ironcurtain lists` fills lists by hand (`lists_edit`) or through MCP
servers (`lists_resolve`). Values of an earlier result, and what people added and removed, are kept.
"""

from __future__ import annotations

from ironcurtain.errors import ListError, raise_all
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy


def used_lists(policy: CompiledPolicy) -> dict[str, str]:
    """Return the names of the lists that rules use, with the type of list that each needs."""
    used: dict[str, str] = {}
    for rule in policy.rules:
        for condition in rule.if_.domains or ():
            used.update(dict.fromkeys(_names(condition.allowed), "domain"))
        for condition in rule.if_.lists or ():
            used.update(dict.fromkeys(_names(condition.allowed), condition.roles[0]))
    return dict(sorted(used.items()))


def check_lists(lists: Lists, policy: CompiledPolicy) -> tuple[str, ...]:
    """Return a note for each list that no rule uses.

    Raises:
        ListError: For each list that a rule uses and that is not defined, or not resolved.
    """
    used = used_lists(policy)
    errors = []
    for name, kind in used.items():
        found = lists.lists.get(name)
        if found is None or (found.resolved is None and not found.added):
            state = "is not defined" if found is None else "is not resolved"
            errors.append(
                ListError(
                    f"rules use @{name}, which {state}",
                    where="dynamic-lists.json",
                    hint=f"`ironcurtain lists add {name} --type {kind} VALUE…` fills it by hand, "
                    f"`ironcurtain lists refresh {name} --type {kind}` through a server.",
                )
            )
    raise_all([*errors])
    return tuple(f"the list @{name} is used by no rule" for name in sorted(lists.lists.keys() - used.keys()))


def _names(patterns: tuple[str, ...]) -> list[str]:
    return [pattern.removeprefix("@") for pattern in patterns if pattern.startswith("@")]
