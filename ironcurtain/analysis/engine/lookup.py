"""Where a call stands in an examined policy: its resources' cells, and the paths that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.engine.indexes import (
    Assignment,
    ClassIndex,
    PolicyIndex,
    VariableIndex,
    indexed,
)
from ironcurtain.analysis.engine.opa_queries import Answered, Examined
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.predicates import Values
from ironcurtain.analysis.engine.space.elements import ResourceKey, resource_key
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.roles import NONE
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct


class Located(Struct):
    """A resource of a call with its cell and the path of the cell's diagram that the call takes."""

    resource: str
    cell: EquivalenceClass
    answered: Answered


def locate(examined: Examined, call: Prepared) -> Iterator[Located]:
    """Yield where each resource of a prepared call stands; the tool was examined under one policy.

    Raises:
        LookupError: If the call is none of those that were examined.
    """
    keys = {s.id: _key(examined, call, s.id) for s in call.call.resources}
    arguments, caller = (json_text.members(call.input[root]) for root in ("args", "caller"))
    return located(examined, keys, {"args": arguments, "caller": caller, "facts": call.facts})


def located(examined: Examined, keys: Mapping[str, ResourceKey], values: Values) -> Iterator[Located]:
    """Yield where each resource of a call stands.

    Args:
        examined: The tool, examined under one policy.
        keys: By the id of a resource, what the policy knows of it.
        values: The call's arguments, caller facts and declared facts.

    Raises:
        LookupError: If the call is none of those that were examined.
    """
    space = examined.space
    side = space.policies[0]
    mask = 0
    for key in keys.values():
        mask |= examined.calls.key_mask(key, PolicyIndex(0))
    asked: Values = {**space.signed(values["args"], values["caller"]), "facts": values["facts"]}
    classes: dict[VariableIndex, ClassIndex] = {}
    for index, variable in indexed(VariableIndex, space.variables):
        class_ = variable.class_of(asked)
        if class_ is None:
            raise LookupError(f"no class of {variable.places} for {asked} under {side.content.revision}")
        classes[index] = class_
    for id_, key in keys.items():
        cell = space.cells.get((key,))
        if cell is None:
            raise LookupError(f"no cell for {key}")
        taken = [a for a in examined.answers.get((key,), ()) if _takes(examined, a.path, classes, mask)]
        if len(taken) != 1:
            raise LookupError(f"{len(taken)} paths for {key} with {classes}")
        yield Located(id_, cell, taken[0])


def _key(examined: Examined, call: Prepared, id_: str) -> ResourceKey:
    resource = next(s for s in call.call.resources if s.id == id_)
    if resource.role.name == NONE:
        return ResourceKey(NONE, frozenset(), discharged=False, minimum=None, marks=frozenset())
    policies = examined.space.policies
    return resource_key(resource, call.minimum, policies[0], policies, examined.space.reader.patterns)


def _takes(examined: Examined, path: DiagramPath, classes: Assignment, mask: int) -> bool:
    return all(classes[index] in group for index, group in path.classes) and examined.calls.satisfies(
        mask, path
    )
