"""What the arguments of a tool are to security, said where they are declared.

    class Input(BaseModel):
        path: ReadPath
        target: Annotated[str, Is("ticket-id")]
        note: str

A marker stands on a field, on the element of a list, or in a model inside; a field without one is nothing to
security. Policies judge the values of marked fields as resources, so no model has to guess what they are.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from ironcurtain.model.annotations import Argument
from ironcurtain.system.structs import Struct

_LISTS = (list, tuple, set, frozenset)
_MOST_LEVELS = 8


class Is(Struct):
    """Says what an argument is: a role of the registry, or one that the gateway declares.

    Attributes:
        role: As `read-path`; `none` says that it only looks like a resource.
        more: Further roles of the same argument (the source of a move is read and deleted).
    """

    role: str
    more: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        """All of its roles."""
        return (self.role, *self.more)


_Text: TypeAlias = Annotated[str, StringConstraints(strict=True)]
ReadPath: TypeAlias = Annotated[_Text, Is("read-path")]
WritePath: TypeAlias = Annotated[_Text, Is("write-path")]
DeletePath: TypeAlias = Annotated[_Text, Is("delete-path")]
FetchUrl: TypeAlias = Annotated[_Text, Is("fetch-url")]
Recipient: TypeAlias = Annotated[_Text, Is("recipient")]


class _Leaf(Struct):
    pointer: tuple[str, ...]
    marks: tuple[Is, ...]


class UnclearRolesError(ValueError):
    """Markers stand where no pointer leads."""


def arguments_of(model: type[BaseModel], personal: frozenset[str]) -> tuple[Argument, ...]:
    """Return what the arguments of a tool are.

    Raises:
        UnclearRolesError: If a marker stands where it cannot be followed.
    """
    annotated = []
    for name, field in model.model_fields.items():
        told = told_name(name, field)
        leaves = list(_leaves(field.annotation, (told,), _marks(field.metadata), 0))
        pii = name in personal or told in personal
        if (len(leaves) == 1 and leaves[0].pointer == (told,)) or not any(leaf.marks for leaf in leaves):
            marks = leaves[0].marks if leaves else ()
            annotated.append(Argument(name=told, roles=_roles(marks), pii=pii))
            continue
        annotated += [
            Argument(name=_pointer(leaf.pointer), roles=_roles(leaf.marks), pii=pii) for leaf in leaves
        ]
    return tuple(annotated)


def marked_none(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the top-level arguments of which the definition says that they are nothing to security."""
    return tuple(
        told_name(name, field)
        for name, field in model.model_fields.items()
        for leaf in _leaves(field.annotation, (name,), _marks(field.metadata), 0)
        if any(mark.role == "none" for mark in leaf.marks)
    )


def told_name(name: str, field: FieldInfo) -> str:
    """Return the name that an argument has in a call.

    Raises:
        UnclearRolesError: If it has several.
    """
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    if alias is not None and not isinstance(alias, str):
        raise UnclearRolesError(f"the field {name} can be given in several places; use one alias")
    return alias or name


def _roles(marks: tuple[Is, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role for mark in marks for role in mark.roles)) or ("none",)


def _marks(metadata: Any) -> tuple[Is, ...]:  # noqa: ANN401 - whatever a field carries
    return tuple(each for each in metadata if isinstance(each, Is))


def _leaves(kind: Any, at: tuple[str, ...], marks: tuple[Is, ...], level: int) -> Iterator[_Leaf]:  # noqa: ANN401
    """Yield what stands below an argument, with the markers that lead there."""
    if level > _MOST_LEVELS:
        raise UnclearRolesError(f"{_pointer(at)} holds itself; declare how deep it may go")
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from _leaves(inner[0], at, (*marks, *_marks(inner[1:])), level)
    elif origin in (Union, types.UnionType):
        leaves = [
            leaf for each in inner if each is not type(None) for leaf in _leaves(each, at, marks, level)
        ]
        yield from _joined(leaves)
    elif origin in _LISTS:
        below = [each for each in inner if each is not Ellipsis]
        elements = [leaf for each in below for leaf in _leaves(each, (*at, "*"), (), level + 1)]
        if any(leaf.marks for leaf in elements):
            yield from _joined(elements)
        else:
            yield _Leaf(at, marks)
    elif isinstance(kind, type) and issubclass(kind, BaseModel) and not marks:
        for name, field in kind.model_fields.items():
            below_it = (*at, told_name(name, field))
            yield from _leaves(field.annotation, below_it, _marks(field.metadata), level + 1)
    elif origin is dict and any(leaf.marks for leaf in _leaves(inner[1], at, (), level + 1)):
        raise UnclearRolesError(f"{_pointer(at)} has markers under keys of any name; use a list or a model")
    else:
        yield _Leaf(at, marks)


def _joined(leaves: list[_Leaf]) -> Iterator[_Leaf]:
    """Yield each pointer once, with the markers of all that stand there."""
    places = dict.fromkeys(leaf.pointer for leaf in leaves)
    for place in places:
        marks = [mark for leaf in leaves if leaf.pointer == place for mark in leaf.marks]
        yield _Leaf(place, tuple(dict.fromkeys(marks)))


def _pointer(steps: tuple[str, ...]) -> str:
    if len(steps) == 1:
        return steps[0]
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
