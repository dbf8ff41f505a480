"""Variables: the arguments and caller facts that a policy tests, each with its classes of values.

A class is one combination of truth that the atoms over the variable can have, with one value that has it.
A policy cannot tell two values of one class apart, so it is decided once for each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ironcurtain.canonical.fit import FittedTool
from ironcurtain.canonical.schema import permits_null
from ironcurtain.evidence.atoms import Atom, Place, Values
from ironcurtain.evidence.candidates import ABSENT, Builder, tree_of
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import Argument, ToolAnnotation
from ironcurtain.model.base import Json
from ironcurtain.model.unknown import Root
from ironcurtain.roles.registry import Registry

MAX_COMBINATIONS = 50_000
PRESENT = "present"
"""Stands for the value of a present resource argument, which only its presence is asked of."""


@dataclass(frozen=True)
class Class:
    """One class of a variable.

    Attributes:
        values: By place the value that stands for the class; an absent one is missing.
        true: The keys of the atoms that hold.
    """

    values: tuple[tuple[Place, Json], ...]
    true: frozenset[str]

    def value(self, place: Place) -> Json:
        """Return the value of a place, None if it is absent."""
        return dict(self.values).get(place)


@dataclass(frozen=True)
class Variable:
    """One top-level argument or caller fact, or several that tests compare with one another.

    Attributes:
        places: What it is a value of.
        atoms: The tests over it, sorted by key.
        classes: Its classes, at least one.
    """

    places: tuple[Place, ...]
    atoms: tuple[Atom, ...]
    classes: tuple[Class, ...]

    @cached_property
    def by_truth(self) -> Mapping[frozenset[str], int]:
        """The index of each class by the atoms that hold in it."""
        return {each.true: index for index, each in enumerate(self.classes)}

    def plainness(self, index: int) -> tuple[int, str]:
        """Return what classes are sorted by to have the plainest first: the length of their values."""
        text = jsontext.canonical([value for _, value in self.classes[index].values]).decode()
        return len(text), text

    def class_of(self, values: Values) -> int | None:
        """Return the class of given arguments and caller facts; None if there is no such class."""
        return self.by_truth.get(_truth(self.atoms, values))


def variables_of(
    atoms: Iterable[Atom], tool: FittedTool, registry: Registry, fresh: tuple[str, ...]
) -> tuple[tuple[Variable, ...], tuple[str, ...]]:
    """Return the variables of a tool under some policies, and why their classes may not be all.

    Args:
        atoms: Every test of the policies and of the tool's conditional roles.
        tool: The tool.
        registry: The roles.
        fresh: Readable strings that no policy names.
    """
    distinct = {atom.key: atom for atom in atoms}
    reasons = _schema_reasons(tool.annotation) if any(a.root == "args" for a in distinct.values()) else []
    variables = []
    for places in _groups(distinct.values()):
        own = tuple(distinct[key] for key in sorted(distinct) if distinct[key].places[0] in places)
        maker = _ClassMaker(own, places, tool, registry, fresh)
        variables.append(Variable(places, own, maker.classes()))
        reasons += [f"{reason}, in {', '.join(name for _, name in places)}" for reason in maker.reasons]
    return tuple(variables), tuple(dict.fromkeys(reasons))


def _groups(atoms: Iterable[Atom]) -> list[tuple[Place, ...]]:
    """Join places that a test compares with each other."""
    groups: dict[Place, set[Place]] = {}
    for atom in atoms:
        joined = set(atom.places).union(*(groups.get(place, set()) for place in atom.places))
        for place in joined:
            groups[place] = joined
    return sorted({tuple(sorted(group)) for group in groups.values()})


_PLAIN = frozenset(
    {"type", "properties", "required", "additionalProperties", "$schema", "$id", "title", "description"}
    | {"$defs", "definitions", "$comment", "examples"}
)


def _schema_reasons(tool: ToolAnnotation) -> list[str]:
    """Return what in the whole schema may tie arguments to each other."""
    return [f"the schema keyword {key}" for key in sorted(set(tool.input_schema or {}) - _PLAIN)]


class _ClassMaker:
    """Makes the classes of one variable."""

    def __init__(
        self,
        atoms: tuple[Atom, ...],
        places: tuple[Place, ...],
        tool: FittedTool,
        registry: Registry,
        fresh: tuple[str, ...],
    ) -> None:
        self._atoms = atoms
        self._places = places
        self._tool = tool
        self._registry = registry
        self._fresh = fresh
        self._schema = tool.annotation.input_schema or {}
        self._shared: list[Json] = []
        self.reasons: list[str] = []

    def classes(self) -> tuple[Class, ...]:
        pools = [self._values(place) for place in self._places]
        if len(self._places) > 1:
            # What one place can be, the other one must be able to equal.
            self._shared = [v for pool in pools for one in pool if one is not ABSENT for v in _scalars(one)]
            pools = [self._values(place) for place in self._places]
        if _product(pools) > MAX_COMBINATIONS:
            self.reasons.append("too many combinations of values that are compared")
        found: dict[frozenset[str], Class] = {}
        for combination in itertools.islice(itertools.product(*pools), MAX_COMBINATIONS):
            chosen = tuple(
                (place, value)
                for place, value in zip(self._places, combination, strict=True)
                if value is not ABSENT
            )
            true = _truth(self._atoms, _as_values(chosen))
            found.setdefault(true, Class(chosen, true))
        return tuple(found[true] for true in sorted(found, key=sorted))

    def _values(self, place: Place) -> list[Json]:
        """Return the candidates of one place that the tool accepts, `ABSENT` first where it may be."""
        root, name = place
        if root == "caller":
            return [ABSENT, *self._built(place, {})]
        if any(argument.top_level == name for argument in self._resources()):
            return self._presence(name)
        schema = self._schema.get("properties", {}).get(name, self._schema.get("additionalProperties", {}))
        values = [v for v in self._built(place, schema) if v is not None]
        return [*self._absent(name, schema), *values]

    def _built(self, place: Place, schema: Json) -> list[Json]:
        refers = any(atom.reference is not None for atom in self._atoms)
        builder = Builder(self._schema, self._fresh, refers)
        constants = self._constants() if refers else []
        values = builder.values(tree_of(self._atoms, place, constants), schema)
        self.reasons += builder.reasons
        return values

    def _constants(self) -> list[Json]:
        """Return values that equal something on either side of a comparison, or nothing."""
        operands = [a.condition.value for a in self._atoms if a.condition and a.reference is None]
        listed = [v for one in operands for v in (one if isinstance(one, list | tuple) else [one])]
        return [*listed, *self._fresh, 7, 8, True, False, *self._shared]

    def _absent(self, name: str, schema: Json) -> list[Json]:
        if isinstance(schema, dict) and schema.get("default") is not None:
            return []  # absent is its default, which is a candidate
        required = name in self._schema.get("required", []) and not permits_null(schema)
        needed = any(a.required and a.name == name for a in self._tool.annotation.args)
        return [] if required or needed else [ABSENT]

    def _presence(self, name: str) -> list[Json]:
        if any(a.when is None or a.when.present is None for a in self._atoms):
            self.reasons.append("a resource argument whose value other roles depend on")
        schema = self._schema.get("properties", {}).get(name, {})
        return [*self._absent(name, schema), PRESENT]

    def _resources(self) -> list[Argument]:
        return [
            argument
            for argument in self._tool.annotation.args
            if any(self._registry[role].resource for role in argument.possible_roles)
        ]


def _scalars(value: Json) -> Iterable[Json]:
    """Yield every scalar in a value, itself included."""
    if isinstance(value, dict | list):
        for below in value.values() if isinstance(value, dict) else value:
            yield from _scalars(below)
    elif value is not None:
        yield value


def _truth(atoms: Sequence[Atom], values: Values) -> frozenset[str]:
    return frozenset(atom.key for atom in atoms if atom.holds(values))


def _as_values(chosen: Iterable[tuple[Place, Json]]) -> Values:
    values: dict[Root, dict[str, Json]] = {"args": {}, "caller": {}}
    for (root, name), value in chosen:
        values[root][name] = value
    return values


def _product(pools: Sequence[Sequence[Json]]) -> int:
    total = 1
    for pool in pools:
        total *= len(pool)
    return total
