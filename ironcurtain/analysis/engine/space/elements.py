"""Elements: what one value of an argument adds to a call, as the policies can know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest, PolicyUnderTest
from ironcurtain.analysis.engine.space.placing import RawValue
from ironcurtain.analysis.engine.values.witnesses import PatternWitness
from ironcurtain.decision import structural_checks
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct


class ResourceKey(NamedTuple):
    """All that a policy and the structural checks can know of a resource.

    Attributes:
        role: Its role.
        patterns: The tokens of the patterns that cover it.
        discharged: Whether it is workspace-exempt.
        minimum: The structural rule under which it is at least escalated, or None.
        marks: The further patterns that cover it.
    """

    role: str
    patterns: frozenset[str]
    discharged: bool
    minimum: str | None
    marks: frozenset[str]


class SeenResource(NamedTuple):
    """A resource as it came out of the canonicaliser."""

    key: ResourceKey
    resource: Resource


class Element(Struct, eq=False):
    """What one value of a source, or none, adds to a call.

    Attributes:
        witness: What was tried, None where the argument is absent or empty.
        values: The raw values that make it, none where the argument is absent or empty.
        seen: By policy, its resources.
        fits: Whether a call with it is known to get as far as the policy; if not, another value that adds
            the same perhaps does.
        given: Arguments that are there although they hold no value: an empty array, a null.
        filled: Whether a default is filled in.
    """

    witness: PatternWitness | None
    values: tuple[RawValue, ...]
    seen: tuple[tuple[SeenResource, ...], ...]
    fits: bool = True
    given: tuple[tuple[str, JsonValue], ...] = ()
    filled: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it adds no resource."""
        return not any(self.seen)


Keys: TypeAlias = tuple[tuple[ResourceKey, ...], ...]
"""By policy, all that it knows of the resources of an element."""


def keys_of(element: Element) -> Keys:
    """Return all that the policies know of an element."""
    return tuple(tuple(seen.key for seen in each) for each in element.seen)


def resource_key(
    resource: Resource,
    minimum: structural_checks.MinimumVerdict,
    side: PolicyUnderTest,
    policies: PoliciesUnderTest,
    patterns: frozenset[str],
) -> ResourceKey:
    """Return all that the rules about a tool, which name `patterns`, and the checks know of a resource."""
    covered = resource.role.resource and resource.unresolved is None
    covering = side.policy.patterns.covering(resource.role, resource.resource) if covered else ()
    marks = policies.marks.covering(resource.role, resource.resource) if covered else ()
    escalated = minimum.escalated.get(resource.id)
    return ResourceKey(
        resource.role.name,
        patterns.intersection(side.tokens.get(pattern, pattern) for pattern in covering),
        resource.id in minimum.discharged,
        escalated[0] if escalated else None,
        frozenset(marks),
    )


def pairs(element: Element) -> Iterator[tuple[tuple[ResourceKey | None, ...], str]]:
    """Yield, for each resource of an element, what each policy knows of it, and its value."""
    tables: list[dict[tuple[str, str, bool], SeenResource]] = [
        {(s.key.role, s.resource.value, s.resource.unresolved is not None): s for s in seen}
        for seen in element.seen
    ]
    for name in dict.fromkeys(name for table in tables for name in table):
        yield tuple(table[name].key if name in table else None for table in tables), name[1]


def lies_there(witness: PatternWitness, keys: tuple[ResourceKey | None, ...]) -> bool:
    """Tell whether a witness of what no pattern covers is covered by none."""
    return bool(witness.chain) or not any(key is not None and key.patterns for key in keys)
