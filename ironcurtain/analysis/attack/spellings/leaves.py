"""The leaves of a call that an attack respells, each with what its annotation says that it is."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

from ironcurtain.analysis.attack.spellings.identifiers import respell_identifier
from ironcurtain.analysis.attack.spellings.paths import respell_path
from ironcurtain.analysis.attack.spellings.remotes import respell_remote
from ironcurtain.analysis.attack.spellings.spelling import Spelling, SpellingContext
from ironcurtain.analysis.attack.spellings.urls import respell_url
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.arguments import GIT_REMOTE
from ironcurtain.decision.canonical.codecs import decode, encode
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.roles import Registry, Role
from ironcurtain.model.annotations import Argument, ToolAnnotation
from ironcurtain.system.frozen import JsonValue


@dataclass(frozen=True)
class ResourceLeaf:
    """One value of a call under the roles of a resource; of a list in one string, one of its parts.

    Attributes:
        steps: Its place in the arguments.
        text: The value.
        part: Which part of the string it is, where the argument has a codec.
    """

    steps: tuple[str, ...]
    text: str
    argument: Argument
    roles: tuple[Role, ...]
    part: int | None = None

    @property
    def is_path(self) -> bool:
        """Whether it is decided as a path."""
        return self.roles[0].category == "path"

    def spellings(self, ground: SpellingContext) -> Iterator[Spelling]:
        """Yield the other spellings of the value."""
        role = self.roles[0]
        if any(other.name == GIT_REMOTE for other in self.roles):
            spellings = respell_remote(self.text, ground)
        elif role.category == "path":
            spellings = respell_path(self.text, ground)
        elif role.category == "url":
            spellings = respell_url(self.text, ground)
        else:
            spellings = respell_identifier(role, self.text)
        return (spelling for spelling in spellings if spelling.value != self.text)

    def with_value(self, arguments: dict[str, JsonValue], value: JsonValue) -> dict[str, JsonValue] | None:
        """Return the call's arguments with another value in its place; None where that cannot be written."""
        changed = copy.deepcopy(arguments)
        if self.part is not None:
            if self.argument.codec is None or not isinstance(value, str):
                return None
            original = next(
                v for s, v in pointers.leaves(arguments) if s == self.steps and isinstance(v, str)
            )
            parts = decode(self.argument.codec, original)
            parts[self.part] = value
            try:
                value = encode(self.argument.codec, original, parts)
            except UnrepresentableError:
                return None
        pointers.assign(changed, self.steps, value)
        return changed


def resource_leaves(
    tool: ToolAnnotation, arguments: dict[str, JsonValue], registry: Registry
) -> list[ResourceLeaf]:
    """Return the texts of a call that stand for resources."""
    leaves: list[ResourceLeaf] = []
    for argument in tool.args:
        roles = tuple(registry[name] for name in roles_in_call(argument, arguments))
        resources = tuple(role for role in roles if role.resource)
        if not resources:
            continue
        for steps, value in pointers.matches(arguments, pointers.steps_of(argument.name)):
            for below, text in pointers.leaves(value):
                if isinstance(text, str) and text:
                    leaves += _parts((*steps, *below), text, argument, resources)
    return leaves


def _parts(
    steps: tuple[str, ...], text: str, argument: Argument, roles: tuple[Role, ...]
) -> Iterator[ResourceLeaf]:
    if argument.codec is None:
        yield ResourceLeaf(steps, text, argument, roles)
        return
    try:
        parts = decode(argument.codec, text)
    except UnrepresentableError:
        return
    yield from (ResourceLeaf(steps, text, argument, roles, part) for part, text in enumerate(parts))
