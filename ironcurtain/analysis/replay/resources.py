"""The resources of a recorded call as another policy sees them, from their values or from keyed digests.

Both kinds of record are brought into one form: a resource is the set of prefixes of its chain, plain or as
digests, and a pattern covers it exactly if the pattern's own chain, in the same form, is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeAlias

from ironcurtain.analysis.replay.pseudonymization import resource_chain
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.paths import is_within
from ironcurtain.decision.canonical.patterns import (
    Chain,
    canonical_member,
    canonical_pattern,
    path_chain,
    pattern_chain,
)
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import Url, parse_fetch_url, parse_remote_url
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.roles import GIT_REMOTE, Registry, Role
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.structs import Struct, replace

Form: TypeAlias = Callable[[str, Chain], tuple[Hashable, ...]]
"""From a kind of patterns and a chain to the beginnings of the chain, the whole one last."""


class UnknownError(Exception):
    """The record does not hold enough to tell; the message says what is missing."""


class RecordedResource(Struct):
    """One resource of a recorded call.

    Attributes:
        at: The JSON pointer at which it stands; `also_at` the others, where it stands several times.
        beginnings: The prefixes of its chain; empty where no pattern can cover it.
        discharged: Whether it was workspace-exempt.
        minimum_rule: The structural check that demands approval for it, None if none does.
        recursive: Whether the call acts on everything below it.
    """

    role: Role
    at: str
    also_at: tuple[str, ...]
    value: str
    beginnings: tuple[Hashable, ...]
    discharged: bool
    minimum_rule: str | None
    recursive: bool

    @property
    def places(self) -> frozenset[str]:
        """Every JSON pointer at which it stands."""
        return frozenset({self.at, *self.also_at})


def as_it_is(kind: str, chain: Chain) -> tuple[Hashable, ...]:
    """Return the beginnings of a chain themselves."""
    return tuple((kind, *chain[: length + 1]) for length in range(len(chain)))


class PatternTable:
    """The patterns of one policy, looked up by the beginnings of chains."""

    def __init__(self, content: PolicyContent, loaded: LoadedPolicy, form: Form, registry: Registry) -> None:
        self._names: dict[Hashable, set[str]] = {}
        self._form, self._registry = form, registry
        directories = loaded.patterns.directories
        self.directories = tuple(sorted(set(directories.values())))
        for kind, patterns in content.patterns.items():
            for pattern in patterns:
                hosts = content.case_insensitive_hosts
                canonical = (
                    directories[pattern]
                    if kind == "path"
                    else canonical_pattern(kind, pattern, registry, case_insensitive_hosts=hosts)
                )
                self._add(kind, canonical, pattern)
        for name, (kind, values) in content.lists.items():
            for value in values:
                self._add(kind, canonical_member(kind, value, registry), f"@{name}")

    def covering(self, beginnings: tuple[Hashable, ...]) -> tuple[str, ...]:
        """Return the patterns and `@lists` that cover a resource, sorted."""
        patterns: set[str] = set()
        for beginning in beginnings:
            patterns |= self._names.get(beginning, set())
        return tuple(sorted(patterns))

    def _add(self, kind: str, canonical: str, name: str) -> None:
        whole = self._form(kind, pattern_chain(kind, canonical, self._registry))[-1]
        self._names.setdefault(whole, set()).add(name)


def resources_of(
    record: DecisionRecord,
    tool: ToolAnnotation,
    *,
    form: Form,
    directories: tuple[str, ...],
    sandbox: str | None,
    registry: Registry,
    hosts: frozenset[str],
) -> list[RecordedResource]:
    """Return the resources that a recorded call has under another policy, in document order.

    A call on a whole tree has a resource for every directory that the policy names inside the tree, so those
    of the recorded policy are removed, and those of the other one are added.

    Args:
        record: The record.
        tool: The tool's annotation, the same as when the call was recorded.
        form: How beginnings are written.
        directories: The real directories that the policy names.
        sandbox: The sandbox's real directory.
        registry: The roles.
        hosts: Hosts whose path segments compare case-folded.

    Raises:
        UnknownError: If the record does not hold enough.
    """
    recorded = [_recorded(resource, form, registry, hosts) for resource in record.subjects]
    trees = [resource for resource in recorded if resource.recursive]
    inside = {id(tree): _directories_inside(tree, directories, form) for tree in trees}
    seen: dict[tuple[str, Hashable], bool] = {
        (resource.role.name, resource.beginnings[-1]): resource.discharged
        for resource in recorded
        if resource.beginnings
    }
    merged: dict[Hashable, RecordedResource] = {}
    for resource in recorded:
        if _is_named_inside(resource, trees):
            continue
        _merge(merged, resource)
        for directory, beginnings in inside.get(id(resource), ()):
            known = seen.get((resource.role.name, beginnings[-1]))
            named = replace(
                resource,
                value=directory,
                beginnings=beginnings,
                recursive=False,
                discharged=_is_contained(tool, resource.role, directory, sandbox) if known is None else known,
            )
            _merge(merged, named)
    return list(merged.values())


def _recorded(
    resource: ResourceRecord, form: Form, registry: Registry, hosts: frozenset[str]
) -> RecordedResource:
    role = registry[resource.role]
    has_chain = role.resource and not resource.unresolved
    if resource.abstract is not None:
        beginnings: tuple[Hashable, ...] = resource.abstract.chain if has_chain else ()
    elif resource.value is None or resource.redacted:
        raise UnknownError("a value of the call is redacted")
    else:
        chain = resource_chain(role, _resource(role, resource.value), hosts) if has_chain else ()
        beginnings = form(role.pattern_kind, chain) if has_chain else ()
    return RecordedResource(
        role=role,
        at=resource.at,
        also_at=resource.also_at,
        value=resource.value or "",
        beginnings=beginnings,
        discharged=resource.discharged,
        minimum_rule=resource.floor,
        recursive=resource.recursive,
    )


def _resource(role: Role, value: str) -> str | Url:
    if role.category != "url":
        return value
    try:
        return parse_remote_url(value) if role.name == GIT_REMOTE else parse_fetch_url(value)
    except UnrepresentableError:
        raise UnknownError("an address of the call is not one as it was recorded") from None


def _is_named_inside(resource: RecordedResource, trees: list[RecordedResource]) -> bool:
    """Tell whether a resource is there only since the recorded policy names a directory inside a tree."""
    if resource.recursive or not resource.beginnings:
        return False
    around = [
        tree
        for tree in trees
        if tree.role == resource.role and tree.beginnings and tree.beginnings[-1] in resource.beginnings[:-1]
    ]
    return bool(around) and resource.places <= frozenset().union(*(tree.places for tree in around))


def _directories_inside(
    tree: RecordedResource, directories: tuple[str, ...], form: Form
) -> list[tuple[str, tuple[Hashable, ...]]]:
    resources = []
    for directory in directories:
        beginnings = form(tree.role.pattern_kind, path_chain(directory))
        if tree.beginnings and tree.beginnings[-1] in beginnings[:-1]:
            resources.append((directory, beginnings))
    return resources


def _is_contained(tool: ToolAnnotation, role: Role, directory: str, sandbox: str | None) -> bool:
    if not (tool.contained and role.containable and sandbox is not None and is_within(directory, sandbox)):
        return False
    if role.writes:
        # A file with a second name is not workspace-exempt, and whether it is one was not recorded.
        raise UnknownError("the policy names a place inside the call's tree that was not looked at")
    return True


def _merge(merged: dict[Hashable, RecordedResource], resource: RecordedResource) -> None:
    """Add a resource, or the places of one that is known: equal resources of one call are one."""
    whole = resource.beginnings[-1] if resource.beginnings else (resource.at, resource.value, len(merged))
    key = (resource.role.name, whole)
    known = merged.get(key)
    if known is None:
        merged[key] = resource
        return
    places = dict.fromkeys((known.at, *known.also_at, resource.at, *resource.also_at))
    merged[key] = replace(
        known,
        also_at=tuple(places)[1:],
        discharged=known.discharged and resource.discharged,
        minimum_rule=known.minimum_rule or resource.minimum_rule,
    )
