"""What a guarantee speaks of: its cells, and the classes of variables that its tests leave."""

from __future__ import annotations

from ironcurtain.analysis.engine.guarantee_scope import ReadGuarantee
from ironcurtain.analysis.engine.indexes import ClassIndex, ClassSets, VariableIndex, indexed
from ironcurtain.analysis.engine.opa_queries import Answered
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.decision.roles import Registry


def overlaps(answered: Answered, wanted: ClassSets) -> bool:
    """Tell whether calls on a path can have some classes of variables."""
    classes = dict(answered.path.classes)
    return all(bool(classes.get(index, group) & group) for index, group in wanted.items())


def speaks_of(read: ReadGuarantee, cell: EquivalenceClass, registry: Registry) -> bool:
    """Tell whether a guarantee speaks of a cell's resources."""
    key = cell.keys[0]
    return key is not None and read.matches(key, registry)


def wanted_classes(read: ReadGuarantee, space: CallSpace) -> ClassSets:
    """Return the classes of variables that a guarantee's tests leave."""
    wanted: dict[VariableIndex, frozenset[ClassIndex]] = {}
    needed = {predicate.key for predicate in read.predicates}
    for index, variable in indexed(VariableIndex, space.variables):
        own = needed & {predicate.key for predicate in variable.predicates}
        if own:
            wanted[index] = frozenset(
                number for number, class_ in indexed(ClassIndex, variable.classes) if own <= class_.true
            )
    return wanted
