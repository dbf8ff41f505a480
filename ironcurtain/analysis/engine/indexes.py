"""Indexes of variables, classes, sources and policies: four types, so that none passes for another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NewType, TypeAlias, TypeVar

VariableIndex = NewType("VariableIndex", int)
"""A variable of a call space."""
ClassIndex = NewType("ClassIndex", int)
"""A class of a variable."""
SourceIndex = NewType("SourceIndex", int)
"""A source of a call space."""
PolicyIndex = NewType("PolicyIndex", int)
"""One of the policies under test."""
Assignment: TypeAlias = Mapping[VariableIndex, ClassIndex]
"""A class for each of some variables."""
ClassSets: TypeAlias = Mapping[VariableIndex, frozenset[ClassIndex]]
"""The classes that some variables may have."""

Index = TypeVar("Index")
T = TypeVar("T")


def indexed(kind: Callable[[int], Index], items: Iterable[T]) -> Iterator[tuple[Index, T]]:
    """Yield items with their indexes, as `enumerate` does, of the given type."""
    return ((kind(number), item) for number, item in enumerate(items))
