"""Arguments that name a resource together, or by one another: composites, and what is relative to others."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from ironcurtain.analysis.engine.values.witnesses import PatternWitness
from ironcurtain.decision.canonical.pointers import steps_of
from ironcurtain.decision.roles import Role
from ironcurtain.model.annotations import Composite, ToolAnnotation
from ironcurtain.system.frozen import JsonValue

Parts: TypeAlias = tuple[str, ...]
_MAX_CUTS = 64
_FOLDED = ("recipient", "repository")
_NOT_IN_ADDRESS = frozenset(",;:\\()[]")
"""What no address holds, and no display name before one."""
_IN_REPOSITORY = re.compile(r"[A-Za-z0-9._/-]+")


class Joined:
    """What values a composite can have.

    Args:
        composite: What joins the parts.
        role: Its role.
        fresh: A word that no pattern contains: a value that holds it stands for all that begins as it does.
    """

    def __init__(self, composite: Composite, role: Role, fresh: str) -> None:
        self._mark, self._count = composite.with_, len(composite.join)
        self._named = f"a {composite.role} of {self._count} arguments"
        self._below = any(name.startswith("/") for name in composite.join)
        self._role = role
        self._fresh = fresh
        declared = role.identifier
        self._folds = declared.case == "fold" if declared is not None else role.name in _FOLDED
        # What a value holds of the separator was put in as it is, but for upper and lower case.
        self._is_literal = declared.decode == "none" if declared is not None else role.name == "repository"

        # Then it stands between the parts, and nowhere else.
        self._is_counted = len(self._mark) == 1 and (not self._folds or self._mark in string.punctuation)

    def spellings(self, value: str) -> Iterator[Parts]:
        """Yield parts that should make a value.

        Where it holds the fresh word, a longer one that lies in the same patterns does: of an address they
        name the end, of everything else the beginning.
        """
        if self._is_impossible():
            return
        is_address = self._role.name == "recipient"
        found = list(self._cuts(value, self._count))
        if self._fresh in value:
            pad = next((each for each in (self._fresh, "x", "7") if self._mark not in each), self._fresh)
            for count in range(1, self._count):
                pads = (pad,) * (self._count - count)
                cuts = self._cuts(value, count)
                found += [(*pads, *cut) if is_address else (*cut, *pads) for cut in cuts]
        if is_address:
            found.append((*[self._fresh] * (self._count - 1), f"{self._fresh} <{value}>"))
        for parts in found[:_MAX_CUTS]:
            spelt = tuple(map(self._without_mark, parts))
            if all(spelt) and not any(self._mark in part for part in spelt):
                yield spelt

    def gaps(
        self,
        regions: Sequence[tuple[PatternWitness, Sequence[dict[str, JsonValue]]]],
        is_judged: Callable[[dict[str, JsonValue]], bool],
    ) -> Iterator[str]:
        """Yield where it is not known whether there are values in a region.

        Args:
            regions: Witnesses of regions, each with arguments that should make a value there.
            is_judged: Tells whether arguments get as far as the policy.
        """
        if self._below:
            yield f"{self._named} that stand below others"
        if self._is_impossible():
            return
        for witness, placed in regions:
            is_excluded = not placed and all(map(self._is_excluded, witness.values))
            if not is_excluded and not any(map(is_judged, placed)):
                yield f"{self._named}, and whether it can be {witness.label}"

    def _is_impossible(self) -> bool:
        """Tell whether every call with the composite is refused."""
        if not self._mark:
            return True  # every part holds it
        if self._role.name == "recipient":
            return not _NOT_IN_ADDRESS.isdisjoint(self._mark)
        if self._role.name != "repository":
            return False
        return not _IN_REPOSITORY.fullmatch(self._mark) or self._mark.count("/") * (self._count - 1) > 1

    def _is_excluded(self, value: str) -> bool:
        """Tell whether it is proved that the composite cannot be this value, or begin as it does."""
        if not self._is_literal:
            return False
        named, *rest = value.split(self._fresh)
        if self._is_counted and named.count(self._mark) >= self._count:
            return True
        if rest:
            return False
        cuts = list(self._cuts(value, self._count))
        if len(cuts) >= _MAX_CUTS:
            return False
        return not cuts or (not self._folds and all(any(self._mark in part for part in cut) for cut in cuts))

    def _cuts(self, value: str, count: int) -> Iterator[Parts]:
        """Yield the ways to cut a canonical value into so many parts, none of them empty."""
        mark = self._mark.casefold() if self._folds else self._mark
        if count == 1:
            yield from ((value,) for _ in value[:1])
            return
        start = value.find(mark, 1)
        while start > 0:
            for rest in self._cuts(value[start + len(mark) :], count - 1):
                yield (value[:start], *rest)
            start = value.find(mark, start + 1)

    def _without_mark(self, part: str) -> str:
        """Return a part in another spelling where it holds the separator, as far as case does not count."""
        return part.replace(self._mark, self._mark.swapcase()) if self._folds else part


def tied_gaps(
    tool: ToolAnnotation, tested: Collection[str], defaults: Mapping[str, JsonValue]
) -> Iterator[str]:
    """Yield where a resource depends on an argument that is tested, too.

    Args:
        tool: The tool.
        tested: The top-level arguments that are tested.
        defaults: What is filled in for absent ones.
    """
    parts = {name: each.role for each in tool.composites for name in each.join}
    for argument in tool.args:
        for when in argument.conditional.when if argument.conditional else ():
            if when.arg in parts:
                yield f"{argument.name} depends on {when.arg}, which is part of a {parts[when.arg]}"
        base = argument.relative_to
        if base is not None and steps_of(base)[0] in tested and defaults.get(argument.top_level) is not None:
            yield f"{base} is tested, and the default of {argument.name} is relative to it"
