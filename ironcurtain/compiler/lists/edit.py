"""Changing named lists by hand: what a person adds or removes survives every refresh."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ironcurtain.decision.canonical.patterns import DOMAIN, canonical_member
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import ListError, PatternError, UsageError, raise_all
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.system import json_text
from ironcurtain.system.files import MAX_BYTES, SCHEMA_KEY, atomic_write, has_content, load, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import is_hidden, quoted

PUBLISHED = "dynamic-lists.json"
_YAML = {".yaml", ".yml"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,127}")


class Edited(Struct):
    """Lists after a change.

    Attributes:
        lines: What changed, one line each; empty if nothing did.
        by_hand: By list, why no tool can fill it.
    """

    lists: Lists
    lines: tuple[str, ...]
    by_hand: Mapping[str, str] = field(default_factory=dict)


def read_lists(file: Path, output: Path) -> Lists:
    """Read the project's own lists with what the last compile resolved, or else those published last."""
    none = Lists(format="ironcurtain/lists/v1")
    published = load(output / PUBLISHED, Lists) if (output / PUBLISHED).exists() else none
    if not has_content(file):
        return published
    project = load(file, Lists)
    compiled = {name: list_ for name, list_ in published.lists.items() if list_.by_compile}
    completed = {name: _completed(list_, compiled.get(name)) for name, list_ in project.lists.items()}
    merged = {**compiled, **completed}
    return project.model_copy(update={"lists": dict(sorted(merged.items()))})


def _completed(project: NamedList, compiled: NamedList | None) -> NamedList:
    """Return a list with the values that a compile found for it, if it still lacks them."""
    if compiled is None or project.resolved is not None or project.type != compiled.type:
        return project
    members = {"resolved": compiled.resolved, "resolution": compiled.resolution, "by_compile": True}
    return project.model_copy(update=members)


def write_lists(file: Path, lists: Lists) -> None:
    """Write the project's own lists; where the file names its schema, it still does.

    Raises:
        UsageError: If the file is YAML, whose comments would be lost.
    """
    if file.suffix in _YAML:
        raise UsageError(
            "the lists are kept in YAML, whose comments would be lost; edit the file", where=str(file)
        )
    document = {**_named_schema(file), **lists.model_dump(mode="json", exclude_unset=True)}
    atomic_write(file, json_text.pretty(document).encode())


def _named_schema(file: Path) -> dict[str, JsonValue]:
    before = json_text.parse(read_text(file), max_bytes=MAX_BYTES) if has_content(file) else {}
    return {key: before[key] for key in (SCHEMA_KEY,) if isinstance(before, dict) and key in before}


def list_types(registry: Registry) -> tuple[str, ...]:
    """Return what a list can hold: domains, or the identifiers of one role."""
    kinds = {role.pattern_kind for role in registry.resources if role.category == "identifier"}
    return (DOMAIN, *sorted(kinds))


def add_values(
    lists: Lists, name: str, values: Sequence[str], new: NamedList | None, registry: Registry
) -> Edited:
    """Add members to a list by hand.

    The members may be in any spelling; `new` is the list to begin with, if there is none of that name.

    Raises:
        ListError: If there is no such list, it is of another type than `new`, or a value is none of its type.
    """
    named = named_list(lists, name, new, registry)
    canonical = canonical_values(named.type, values, registry)
    added = tuple(sorted({*named.added, *canonical}))
    removed = tuple(value for value in named.removed if value not in canonical)
    return _edited(lists, name, named, {"added": added, "removed": removed})


def remove_values(lists: Lists, name: str, values: Sequence[str], registry: Registry) -> Edited:
    """Remove members from a list by hand; they stay removed, whatever a refresh finds.

    Raises:
        ListError: If there is no such list, or a value is none of its type.
    """
    named = named_list(lists, name, None, registry)
    canonical = canonical_values(named.type, values, registry)
    added = tuple(value for value in named.added if value not in canonical)
    removed = tuple(sorted({*named.removed, *canonical}))
    return _edited(lists, name, named, {"added": added, "removed": removed})


def with_list(lists: Lists, name: str, named: NamedList) -> Edited:
    """Put a list in the place of the one of that name, and say what that changes."""
    before = lists.lists.get(name)
    old, new = set(before.values if before else ()), set(named.values)
    lines = [f"+ {value}" for value in sorted(new - old)] + [f"- {value}" for value in sorted(old - new)]
    if before is None:
        lines.insert(0, f"new list @{name} of type {named.type}")
    changed = {**lists.lists, name: named}
    return Edited(lists.model_copy(update={"lists": dict(sorted(changed.items()))}), tuple(lines))


def canonical_values(kind: str, values: Sequence[str], registry: Registry) -> tuple[str, ...]:
    """Return values in the spelling that decisions use, sorted, each once.

    Raises:
        ListError: For each value that is none of the list's type, or holds an invisible character.
    """
    canonical: set[str] = set()
    problems = []
    for value in values:
        try:
            canonical.add(canonical_value(kind, value, registry))
        except PatternError as error:
            problems.append(ListError(error.what, hint=error.hint))
    raise_all([*problems])
    return tuple(sorted(canonical))


def canonical_value(kind: str, value: str, registry: Registry) -> str:
    """Return one value in the spelling that decisions use.

    Raises:
        PatternError: If it is none of the type, or holds an invisible character.
    """
    if any(is_hidden(character) for character in value):
        raise PatternError(f"{quoted(value)} has a control or invisible character", hint="Type it anew.")
    return canonical_member(kind, value, registry)


def check_type(kind: str, registry: Registry) -> None:
    """Refuse a type that no list can have.

    Raises:
        ListError: Naming the types that there are.
    """
    if kind not in list_types(registry):
        raise ListError(
            f"there is no list type {quoted(kind)}", hint=f"Types: {', '.join(list_types(registry))}."
        )


def named_list(lists: Lists, name: str, new: NamedList | None, registry: Registry) -> NamedList:
    """Return the list of a name, or the new one in its place.

    Raises:
        ListError: If the name is none, there is neither, they differ in type, or the type is unknown.
    """
    named = lists.lists.get(name)
    if not _NAME.fullmatch(name):
        raise ListError(
            f"{quoted(name)} is no name of a list", hint="Write lower-case letters, digits, _ . and -."
        )
    if named is None and new is None:
        known = ", ".join(f"@{other}" for other in sorted(lists.lists)) or "none"
        raise ListError(
            f"there is no list {quoted('@' + name)}",
            hint=f"Lists: {known}. `ironcurtain lists add NAME --type TYPE …` makes a new one.",
        )
    if named is not None and new is not None and named.type != new.type:
        raise ListError(
            f"the list {quoted('@' + name)} is of type {quoted(named.type)}, not {quoted(new.type)}"
        )
    edited = named or new
    assert edited is not None  # noqa: S101 - one of the two is there, as checked above
    check_type(edited.type, registry)
    return edited


def _edited(lists: Lists, name: str, named: NamedList, changes: dict[str, object]) -> Edited:
    return with_list(lists, name, named.model_copy(update=changes))
