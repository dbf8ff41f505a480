"""Which of the pairs that break a policy are told: the smallest of each kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ironcurtain.analysis.attack.report import Break
from ironcurtain.system import json_text

_THEN = ", then "


def smallest(found: Iterable[Break]) -> list[Break]:
    """Return the smallest pair of each kind with how many there were, the smallest first.

    Pairs are of one kind if they were respelled alike and the same rules decide calls of the same tools. What
    one respelling breaks need not be told of two.
    """
    kinds: dict[tuple[Hashable, ...], list[Break]] = {}
    for each in found:
        kinds.setdefault((_about(each), each.respelling, each.world), []).append(each)
    simple = {key[0] for key in kinds if _THEN not in str(key[1])}
    told = [
        min(own, key=_size).model_copy(update={"count": len(own)})
        for key, own in kinds.items()
        if _THEN not in str(key[1]) or key[0] not in simple
    ]
    return sorted(told, key=_size)


def _about(each: Break) -> tuple[Hashable, ...]:
    calls = tuple((call.server, call.tool, call.rule) for call in each.calls)
    return (each.base.server, each.base.tool, each.base.rule, each.kind, calls)


def _size(each: Break) -> tuple[int, int, bytes]:
    text = json_text.canonical(each.model_dump(mode="json"))
    shown = [each.base.arguments, *(call.arguments for call in each.calls)]
    return len(each.calls), len(json_text.canonical(shown)), text
