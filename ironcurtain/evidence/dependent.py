"""Arguments that name a resource together, or by one another: composites, and what is relative to others."""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from ironcurtain.canonical.pointers import steps_of
from ironcurtain.model.annotations import Composite, ToolAnnotation
from ironcurtain.model.base import Json
from ironcurtain.roles.registry import Role


def composed(composite: Composite, value: str, fresh: str) -> str | None:
    """Return a value of a composite in as many parts as it is joined of, None if it cannot be split so.

    Args:
        composite: What joins the parts.
        value: The value; where it holds `fresh` it stands for all that begins as it does, and is made longer.
        fresh: A word that no pattern contains.
    """
    parts = value.split(composite.with_)
    if fresh in value:
        parts += [fresh] * (len(composite.join) - len(parts))
    return composite.with_.join(parts) if len(parts) == len(composite.join) and all(parts) else None


def _is_split_plainly(composite: Composite, role: Role) -> bool:
    """Tell whether a value of a composite holds its separator once between its parts, and nowhere else.

    Then a pattern that cannot be split in so many parts covers none of its values. Where the parts are
    decoded, or the separator is longer than a character, the value can hold more of it than was put in.
    """
    declared = role.identifier
    if declared is None or declared.decode != "none" or len(composite.with_) != 1:
        return False
    return declared.case == "exact" or composite.with_ in string.punctuation


def composite_gaps(
    composite: Composite,
    role: Role,
    regions: Iterable[tuple[str, Sequence[dict[str, Json]]]],
    is_judged: Callable[[dict[str, Json]], bool],
) -> Iterator[str]:
    """Yield where it is not known whether a composite has values in a region.

    Args:
        composite: The composite.
        role: Its role.
        regions: Regions by their names, each with arguments that should make a value there.
        is_judged: Tells whether arguments get as far as the policy.
    """
    named = f"a {composite.role} of {len(composite.join)} arguments"
    if any(name.startswith("/") for name in composite.join):
        yield f"{named} that stand below others"
    for label, placed in regions:
        if (placed or not _is_split_plainly(composite, role)) and not any(map(is_judged, placed)):
            yield f"{named}, and whether it can be {label}"


def tied_gaps(tool: ToolAnnotation, tested: Collection[str], defaults: Mapping[str, Json]) -> Iterator[str]:
    """Yield where a resource depends on an argument that is tested, too.

    Args:
        tool: The tool.
        tested: The top-level arguments that are tested.
        defaults: What is filled in for absent ones.
    """
    for composite in tool.composites:
        for name in composite.join:
            if name in tested:
                yield f"the argument {name} is tested, and is part of a {composite.role}"
    for argument in tool.args:
        base = argument.relative_to
        if base is not None and steps_of(base)[0] in tested and defaults.get(argument.top_level) is not None:
            yield f"{base} is tested, and the default of {argument.name} is relative to it"
