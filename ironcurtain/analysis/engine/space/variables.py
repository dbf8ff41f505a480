"""Variables: the arguments and caller facts that a policy tests, each with its classes of values.

A class is one combination of outcomes that the predicates over the variable can have, with one value that has
it. A policy cannot tell two values of a class apart, so it is decided once for each class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ironcurtain.analysis.engine.indexes import ClassIndex, indexed
from ironcurtain.analysis.engine.rules.predicates import Predicate, ValueName, Values
from ironcurtain.analysis.engine.values.compared import (
    End,
    PlaceValue,
    compared_values,
    ends_of,
    joint_values,
    told_apart,
)
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.values.moment_representatives import MOMENT_GAP, moment_texts
from ironcurtain.analysis.engine.values.number_representatives import distinguishing_numbers
from ironcurtain.analysis.engine.values.possible_facts import NO_DECLARED_FACTS, PossibleFacts
from ironcurtain.analysis.engine.values.predicate_tree import tree_of
from ironcurtain.analysis.engine.values.related import related_numbers
from ironcurtain.analysis.engine.values.sets import set_pool, sets_among, thinned
from ironcurtain.analysis.engine.values.shapes import NO_SCHEMAS, Schemas
from ironcurtain.analysis.engine.values.taken_schema import schema_of_all
from ironcurtain.analysis.engine.values.value_generator import (
    ABSENT,
    Absent,
    CandidateValue,
    ValueGenerator,
)
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Argument
from ironcurtain.model.unknown_facts import is_relation, values_by_root
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_number
from ironcurtain.system.structs import Struct

MAX_COMBINATIONS = 50_000
PRESENT = "present"
"""Stands for the value of a present resource argument, which only its presence is asked of."""


def own_sign(name: str) -> str:
    """Return what stands for the value of a resource argument that no other one of the call has."""
    return f"{PRESENT}:{name}"


def is_sign(value: object) -> bool:
    """Tell whether a value only says that a resource argument is there."""
    return isinstance(value, str) and (value == PRESENT or value.startswith(own_sign("")))


class VariableClass(Struct):
    """One class of a variable.

    Attributes:
        values: By place the value that stands for the class, with defaults filled in; an absent one is
            missing.
        true: The keys of the predicates that hold.
        raw: The same as a call gives it, null where that counts as absent and must be there.
        fits: Whether calls are known to have the class; if not, it is not known that none has.
    """

    values: tuple[tuple[ValueName, JsonValue], ...]
    true: frozenset[str]
    raw: tuple[tuple[ValueName, JsonValue], ...] = ()
    fits: bool = True

    def value(self, place: ValueName) -> JsonValue:
        """Return the value of a place, None if it is absent."""
        return dict(self.values).get(place)


class Variable(Struct):
    """One top-level argument or caller fact, or several that tests compare with one another.

    Attributes:
        places: What it is a value of.
        predicates: The tests over it, sorted by key.
        classes: Its classes, at least one.
        gaps: Why a class may be missing; empty where none can be.
    """

    places: tuple[ValueName, ...]
    predicates: tuple[Predicate, ...]
    classes: tuple[VariableClass, ...]
    gaps: frozenset[str] = frozenset()

    @cached_property
    def indexes(self) -> tuple[ClassIndex, ...]:
        """The indexes of its classes."""
        return tuple(map(ClassIndex, range(len(self.classes))))

    @cached_property
    def by_truth(self) -> Mapping[frozenset[str], ClassIndex]:
        """The index of each class by the predicates that hold in it."""
        return {class_.true: index for index, class_ in indexed(ClassIndex, self.classes)}

    def plainness(self, index: ClassIndex) -> tuple[bool, int, str]:
        """Return what classes are sorted by to have the plainest first: the length of their values."""
        own = self.classes[index]
        text = json_text.canonical([value for _, value in own.values]).decode()
        return not own.fits, len(text), text

    def class_of(self, values: Values) -> ClassIndex | None:
        """Return the class of given arguments and caller facts; None if there is no such class."""
        return self.by_truth.get(_truth(self.predicates, values))


def variables_of(
    predicates: Iterable[Predicate],
    tool: ValidatedTool,
    registry: Registry,
    fresh: tuple[str, ...],
    declared: PossibleFacts = NO_DECLARED_FACTS,
) -> Enumeration[Variable]:
    """Return the variables of a tool under some policies; gaps where their classes may not be all.

    Args:
        predicates: Every test of the policies and of the tool's conditional roles.
        tool: The tool.
        registry: The roles.
        fresh: Readable strings that no policy names.
        declared: What declared facts can be.
    """
    distinct = {predicate.key: predicate for predicate in predicates}
    variables = []
    for places in _groups(distinct.values(), declared.totals):
        own = tuple(distinct[key] for key in sorted(distinct) if distinct[key].places[0] in places)
        found = _ClassMaker(own, places, tool, registry, fresh, declared).classes()
        words = ", ".join(map(_place_words, places))
        gaps = frozenset(f"{gap}, in {words}" for gap in found.gaps)
        variables.append(Variable(places, own, found.values, gaps))
    return Enumeration(tuple(variables), frozenset(gap for each in variables for gap in each.gaps))


def _place_words(place: ValueName) -> str:
    """Name an argument, or a caller's fact so that it is not taken for the argument of the same name."""
    root, name = place
    return {"args": name, "caller": f"the caller's {name}", "facts": f"the fact {name}"}[root]


def _groups(predicates: Iterable[Predicate], totals: Mapping[str, str]) -> list[tuple[ValueName, ...]]:
    """Join places that a test compares with each other, and a total with the argument that it includes."""
    groups: dict[ValueName, set[ValueName]] = {}
    for predicate in predicates:
        places = {*predicate.places}
        places |= {("args", totals[name]) for root, name in places if root == "facts" and name in totals}
        joined = places.union(*(groups.get(place, set()) for place in places))
        for place in joined:
            groups[place] = joined
    return sorted({tuple(sorted(group)) for group in groups.values()})


class _ClassMaker:
    """Makes the classes of one variable."""

    def __init__(
        self,
        predicates: tuple[Predicate, ...],
        places: tuple[ValueName, ...],
        tool: ValidatedTool,
        registry: Registry,
        fresh: tuple[str, ...],
        declared: PossibleFacts,
    ) -> None:
        self._predicates = predicates
        self._places = places
        self._tool = tool
        self._registry = registry
        refers = any(predicate.reference is not None for predicate in predicates)
        self._schema = schema_of_all(tool, registry)
        self._builder = ValueGenerator(self._schema, fresh, refers, tool)
        self._nothing = ValueGenerator(None, fresh, refers)
        self._facts = ValueGenerator(declared.schema, fresh, refers)
        self._totals: tuple[tuple[ValueName, ValueName], ...] = tuple(
            (("facts", total), ("args", added))
            for total, added in sorted(declared.totals.items())
            if ("facts", total) in places
        )
        self._fresh = fresh
        self._lengths: Mapping[End, Sequence[int]] = {}

    def classes(self) -> Enumeration[VariableClass]:
        pools, gaps = self._pools()
        pools = self._with_numbers(pools)
        gaps |= {gap for pool in pools for gap in pool.gaps}
        if math.prod(len(pool.values) for pool in pools) > MAX_COMBINATIONS:
            gaps.add("too many combinations of values that are compared")
        found: dict[frozenset[str], VariableClass] = {}
        combinations = itertools.product(*(pool.values for pool in pools))
        for combination in itertools.islice(combinations, MAX_COMBINATIONS):
            each = self._class(combination)
            if not self._is_possible(each):
                continue
            known = found.get(each.true)
            if known is None or (each.fits and not known.fits):
                found[each.true] = each
        if not found:
            # Nothing can be given and it must be: a class that is in doubt stands for what was not found.
            nothing = self._class([PlaceValue(ABSENT, ABSENT, fits=False) for _ in self._places])
            found[nothing.true] = nothing
        return Enumeration(tuple(found[true] for true in sorted(found, key=sorted)), frozenset(gaps))

    def _pools(self) -> tuple[list[Enumeration[PlaceValue]], set[str]]:
        """Return what each place can be, so that it can also equal what it is compared with; and gaps."""
        ends = ends_of(self._predicates)
        sets = sets_among(self._predicates)
        if not ends:
            return self._with_sets([self._pool(place, {}) for place in self._places], sets), set()
        related = related_numbers(self._predicates, self._builder.shapes, self._tool.with_defaults({}))
        self._lengths = related.lengths
        joint = joint_values(
            self._predicates,
            ValueGenerator(self._schema, self._fresh),
            self._facts.shapes,
            self._constants(),
        )
        equals: dict[End, list[JsonValue]] = {end: [*values] for end, values in related.numbers.items()}
        if any(argument.top_level in self._arguments for argument in self._resources()):
            signs = [*map(own_sign, self._arguments)] if len(self._arguments) > 1 else []
            for end in ends:
                equals.setdefault(end, []).extend((PRESENT, *signs))
        for end, value in joint.values:
            equals.setdefault(end, []).append(value)
        moments = moment_texts(a.condition for a in self._predicates if a.condition is not None)
        for end in ends if moments else ():
            equals.setdefault(end, []).extend(moments)
        pools = [self._pool(place, equals) for place in self._places]
        # What a default fills in need not be what the schema permits, and the other place must equal it, too.
        defaults = (pool.mapped(lambda all_: tuple(one for one in all_ if one.is_filled)) for pool in pools)
        # In doubt all that one place was seen to be is at least tried in the others.
        tried = compared_values(self._predicates, self._places, pools if joint.gaps else defaults)
        if tried:
            pools = [
                self._pool(place, {end: [*equals.get(end, ()), *tried] for end in ends})
                for place in self._places
            ]
        if sets:
            return self._with_sets(pools, sets), {*joint.gaps, *related.gaps}
        if related.numbers or related.lengths or related.gaps:
            # Numbers are told apart by their order, too, and not only by what they equal.
            return pools, {*joint.gaps, *related.gaps}
        if moments:
            return pools, {*joint.gaps, MOMENT_GAP}
        return told_apart(self._predicates, self._places, pools), {*joint.gaps}

    def _with_sets(
        self, pools: list[Enumeration[PlaceValue]], sets: Sequence[ValueName]
    ) -> list[Enumeration[PlaceValue]]:
        """Return the pools with sets in place of those that other values are held against."""
        if not sets:
            return pools
        named = list(zip(self._places, pools, strict=True))
        thin = [thinned(self._predicates, place, pool) for place, pool in named]
        return [
            set_pool(self._predicates, place, self._places, thin) if place in sets else pool
            for place, pool in zip(self._places, thin, strict=True)
        ]

    def _with_numbers(self, pools: list[Enumeration[PlaceValue]]) -> list[Enumeration[PlaceValue]]:
        """Return the pools with numbers by which a total and what is added to it can lie to each other."""
        joined = {place for pair in self._totals for place in pair}
        if not joined:
            return pools
        operands = [v for a in self._predicates if a.condition for v in a.condition.operands]
        known = {one.filled for pool in pools for one in pool.values if is_number(one.filled)}
        numbers = [*distinguishing_numbers([v for v in operands if is_number(v)]), *sorted(known)]
        return [
            Enumeration((*pool.values, *self._numbers(place, numbers, pool.values)), pool.gaps)
            if place in joined
            else pool
            for place, pool in zip(self._places, pools, strict=True)
        ]

    def _numbers(
        self, place: ValueName, numbers: Sequence[float], known: Sequence[PlaceValue]
    ) -> Iterator[PlaceValue]:
        """Yield those of some numbers that a place takes, and that are not among its values."""
        builder = self._facts if place[0] == "facts" else self._builder
        taken = {one.filled for one in known if is_number(one.filled)}
        if builder.schema is None:
            takes: Callable[[JsonValue], bool | None] = lambda _: True  # noqa: E731 - as `checker` returns
        else:
            takes = builder.schema.checker(builder.shapes.argument(place[1]).parts)
        for number in dict.fromkeys(numbers):
            if number not in taken and takes(number):
                yield PlaceValue(number, number, fits=True)

    def _is_possible(self, class_: VariableClass) -> bool:
        """Tell whether a class has no total that is less than what the call adds, and meaningful signs."""
        values = dict(class_.values)
        if not _have_meaning(values):
            return False
        pairs = ((values.get(total), values.get(added)) for total, added in self._totals)
        return not any(is_number(total) and is_number(added) and total < added for total, added in pairs)

    def _class(self, chosen: Sequence[PlaceValue]) -> VariableClass:
        values = self._given([one.filled for one in chosen])
        raw = self._given([one.raw for one in chosen])
        return VariableClass(
            values, _truth(self._predicates, _as_values(values)), raw, all(one.fits for one in chosen)
        )

    def _given(self, values: Sequence[JsonValue | Absent]) -> tuple[tuple[ValueName, JsonValue], ...]:
        pairs = zip(self._places, values, strict=True)
        return tuple((place, value) for place, value in pairs if value is not ABSENT)

    def _pool(self, place: ValueName, equals: Mapping[End, Sequence[JsonValue]]) -> Enumeration[PlaceValue]:
        """Return what one place can be, absence first where it may be absent."""
        root, name = place
        if root != "args":
            builder = self._nothing if root == "caller" else self._facts
            schemas = NO_SCHEMAS if root == "caller" else self._facts.shapes.argument(name)
            built = self._built(builder, place, schemas, equals)
            return built.mapped(
                lambda all_: (
                    PlaceValue(ABSENT, ABSENT, fits=True),
                    *(PlaceValue(each.value, each.value, fits=True) for each in all_),
                )
            )
        schemas = self._builder.shapes.argument(name)
        absent = tuple(self._absent(place, schemas))
        if any(argument.top_level == name for argument in self._resources()):
            # What is absent is present where its default is filled in.
            given = tuple(one for one in absent if one.filled is ABSENT)
            tested = [a for a in self._predicates if a.when is None or a.when.present is None]
            is_one_of_several = bool(tested) and len(self._arguments) > 1
            signs = (PRESENT, own_sign(name)) if is_one_of_several else (PRESENT,)
            found = Enumeration((*given, *(PlaceValue(sign, sign, fits=True) for sign in signs)))
            if not all(map(is_comparison_with_caller, tested)):
                return found.with_gaps("a resource argument whose value is tested")
            if is_one_of_several:
                return found.with_gaps("several arguments that are compared with one fact about the caller")
            return found
        built = self._built(self._builder, place, schemas, equals)
        return built.mapped(
            lambda all_: (
                *(one for one in absent if one.filled is ABSENT),
                *(self._filled(place, each.value, fits=each.fits) for each in all_ if each.value is not None),
                *(one for one in absent if one.filled is not ABSENT),
            )
        )

    def _built(
        self,
        builder: ValueGenerator,
        place: ValueName,
        schemas: Schemas,
        equals: Mapping[End, Sequence[JsonValue]],
    ) -> Enumeration[CandidateValue]:
        return builder.values(tree_of(self._predicates, place, equals, self._lengths), schemas, (place[1],))

    def _constants(self) -> list[JsonValue]:
        """Return values that equal something on either side of a comparison, or nothing.

        What is in an array or object that a test compares as a whole is among them: where that is given, a
        part of it may be what another test compares.
        """
        operands = [a.condition.value for a in self._predicates if a.condition and a.reference is None]
        listed = [v for one in operands for v in (one if isinstance(one, list | tuple) else [one])]
        parts = [part for one in listed for part in _parts_of(one)]
        return [*parts, *self._fresh, 7, 8, True, False]

    def _absent(self, place: ValueName, schemas: Schemas) -> Iterator[PlaceValue]:
        """Yield what a call that does not give an argument counts for, nothing where it must be given."""
        name = place[1]
        if any(a.required and a.top_level == name for a in self._tool.annotation.args):
            return
        if name not in self._builder.shapes.required:
            yield self._filled(place, ABSENT, fits=True)
        elif self._schema is None or self._schema.checker(schemas.parts)(None) is not False:
            yield self._filled(place, None, fits=True)

    def _filled(self, place: ValueName, value: JsonValue | Absent, *, fits: bool) -> PlaceValue:
        name = place[1]
        given: dict[str, JsonValue] = {} if value is ABSENT else {name: value}
        filled = self._tool.with_defaults(given).get(name)
        return PlaceValue(value, ABSENT if filled is None else filled, fits)

    @property
    def _arguments(self) -> list[str]:
        return [name for root, name in self._places if root == "args"]

    def _resources(self) -> list[Argument]:
        return [
            argument
            for argument in self._tool.annotation.args
            if any(self._registry[role].resource for role in argument.possible_roles)
        ]


def is_comparison_with_caller(predicate: Predicate) -> bool:
    """Tell whether a test compares an argument, as a whole, with a fact about the caller for equality."""
    if predicate.condition is None or predicate.reference is None:
        return False
    ends = dict([(predicate.root, predicate.path), predicate.reference])
    is_whole = ends.keys() == {"args", "caller"} and len(ends["args"]) == 1
    return is_whole and not is_relation(predicate.condition)


def _have_meaning(values: Mapping[ValueName, JsonValue]) -> bool:
    """Tell whether a fact has the sign of an argument that has it, too, and several share a shared one."""
    resources = [value for (root, _), value in values.items() if root == "args" and is_sign(value)]
    of_caller = [value for (root, _), value in values.items() if root == "caller" and is_sign(value)]
    is_shared = len(resources) == 1 or resources.count(PRESENT) != 1
    return is_shared and all(sign in resources for sign in of_caller)


def _parts_of(value: JsonValue) -> Iterator[JsonValue]:
    """Yield a value and all that is in it."""
    yield value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for each in inside:
        yield from _parts_of(each)


def _truth(predicates: Sequence[Predicate], values: Values) -> frozenset[str]:
    return frozenset(predicate.key for predicate in predicates if predicate.holds(values))


def _as_values(chosen: Iterable[tuple[ValueName, JsonValue]]) -> Values:
    values = values_by_root()
    for (root, name), value in chosen:
        values[root][name] = value
    return values
