"""Subjects: one for every equal pair, numbered in document order, bounded."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.decision.canonical.resources import (
    MAX_PLACES,
    MAX_SUBJECTS,
    Resource,
    ResourceCollector,
    ResourceLimit,
)
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.roles import Registry

REGISTRY = Registry()


def subject(value: str, at: str, role: str = "read-path", **more: Any) -> Resource:
    return Resource("", REGISTRY[role], value, at, **more)


def collect(*found: Resource) -> tuple[Resource, ...]:
    collector = ResourceCollector()
    for each in found:
        collector.add(each)
    return collector.finish(REGISTRY)


def test_equal_pairs_are_one_subject_at_several_places() -> None:
    first, second = collect(
        subject("/a", "/p/0"),
        subject("/b", "/p/1"),
        subject("/a", "/p/2"),
        subject("/a", "/p/2"),
        subject("/a", "/q", also_at=("/r",)),
    )
    assert (first.id, first.at, first.also_at) == ("0000", "/p/0", ("/p/2", "/q", "/r"))
    assert (second.id, second.value, second.also_at) == ("0001", "/b", ())


def test_one_value_under_two_roles_is_two_subjects() -> None:
    assert len(collect(subject("/a", "/p"), subject("/a", "/p", "write-path"))) == 2


def test_merging_keeps_the_stricter_of_two_flags() -> None:
    (found,) = collect(subject("/a", "/p", git_directory=True), subject("/a", "/q", recursive=True))
    assert (found.recursive, found.git_directory) == (True, False)


def test_an_unresolved_subject_is_no_other_ones_twin() -> None:
    assert len(collect(subject("x", "/p"), subject("x", "/q", unresolved="unknown"))) == 2


def test_a_call_without_resources_has_one_subject() -> None:
    (found,) = collect()
    assert (found.id, found.role.name, found.value) == ("call", "none", "call")


def test_ids_sort_as_they_are_numbered() -> None:
    ids = [found.id for found in collect(*(subject(f"/{n}", "/p") for n in range(1200)))]
    assert ids == sorted(ids)


def test_the_limits() -> None:
    limit = ResourceLimit()
    for number in range(MAX_SUBJECTS):
        limit.add(subject(f"/{number}", "/p"))
    with pytest.raises(UnrepresentableError, match="more than 10,000 resources"):
        limit.add(subject("/one-more", "/p"))
    limit = ResourceLimit()
    for _ in range(MAX_PLACES):
        limit.add(subject("/a", "/p"))
    with pytest.raises(UnrepresentableError, match="places"):
        limit.add(subject("/a", "/p"))
