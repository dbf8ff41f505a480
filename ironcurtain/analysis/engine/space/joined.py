"""Resources that are joined of arguments which are tested, too.

Region and classes are taken to be independent, so every combination that exists is among those that are
looked at, and more. A proof over all of them holds; a call that is put together counts only where it has
the classes that it was made for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ironcurtain.analysis.engine.rules.predicates import Predicate, rule_atom
from ironcurtain.analysis.engine.unknown_facts import Root
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.policy import ArgCondition
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

if TYPE_CHECKING:
    from ironcurtain.analysis.engine.space.call_space import CallSpace
    from ironcurtain.analysis.engine.space.elements import Element
    from ironcurtain.analysis.engine.space.placing import Source
    from ironcurtain.analysis.engine.space.variables import Variable


def presence_atoms(tool: ToolAnnotation, atoms: Iterable[Predicate]) -> Iterator[Predicate]:
    """Yield a test of presence for every tested part: a joined resource is there where its parts are."""
    tested = {place for atom in atoms for place in atom.places}
    for composite in tool.composites:
        for name in composite.join:
            if ("args", name) in tested:
                yield _presence(name)


def all_given(parts: Sequence[str], variables: Sequence[Variable], chosen: Mapping[int, int]) -> bool | None:
    """Tell whether a joined resource is there in a mode, None where the mode leaves that open."""
    found = _given(parts, variables, chosen)
    return found == {True} if found else None


def is_torn(sources: Iterable[Source], variables: Sequence[Variable], chosen: Mapping[int, int]) -> bool:
    """Tell whether a mode gives one part of a joined resource and not another: then every call is refused."""
    return any(len(_given(each.places, variables, chosen)) > 1 for each in joined_sources(sources))


def _given(parts: Sequence[str], variables: Sequence[Variable], chosen: Mapping[int, int]) -> set[bool]:
    return {
        _presence(name).key in variables[index].classes[class_].true
        for index, class_ in chosen.items()
        for name in parts
        if ("args", name) in variables[index].places
    }


def is_in_mode(
    space: CallSpace, arguments: dict[str, JsonValue], caller: dict[str, JsonValue], chosen: Mapping[int, int]
) -> bool:
    """Tell whether what is joined in a call has the classes that the call was made for."""
    tied = list(tied_variables(space.sources, space.variables))
    if not tied:
        return True
    values: dict[Root, dict[str, JsonValue]] = {"args": space.filled(arguments), "caller": caller}
    return all(space.variables[index].class_of(values) == chosen[index] for index in tied)


def placed_in_mode(
    space: CallSpace, source: Source, element: Element, chosen: Mapping[int, int]
) -> dict[str, JsonValue]:
    """Return arguments that make a joined resource, in the classes of a mode if some are found."""
    plain = space.reader.placing.place(source, element.values)
    tied = [i for i in tied_variables(space.sources, space.variables) if i in chosen]
    of_mode = {
        name: value
        for index in tied
        for (root, name), value in space.variables[index].classes[chosen[index]].values
        if root == "args" and name in plain
    }
    known = space.values(chosen)
    for size in range(len(of_mode) + 1):
        for names in itertools.combinations(sorted(of_mode), size):
            made = {**plain, **{name: of_mode[name] for name in names}}
            is_meant = is_in_mode(space, {**known["args"], **made}, known["caller"], chosen)
            if is_meant and (not names or space.reader.yields(source, made, element)):
                return made
    return plain


def joined_sources(sources: Iterable[Source]) -> list[Source]:
    """Return the sources that are joined of several arguments."""
    return [source for source in sources if source.composite is not None]


def tied_variables(sources: Iterable[Source], variables: Sequence[Variable]) -> Iterator[int]:
    """Yield the indexes of variables that hold a part of a joined resource."""
    parts = {("args", name) for each in joined_sources(sources) for name in each.places}
    for index, variable in enumerate(variables):
        if parts & {*variable.places}:
            yield index


def _presence(name: str) -> Predicate:
    return rule_atom("args", ArgCondition(name=name, op="present", value=True), Verdict.ALLOW)
