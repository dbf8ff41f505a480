"""Putting resources into arguments, in a form that the tool's schema takes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from ironcurtain.analysis.engine.values.shapes import SchemaReader, Schemas, SchemaShape
from ironcurtain.analysis.engine.values.text_representatives import TextTests, distinguishing_texts
from ironcurtain.analysis.engine.values.value_generator import ValueGenerator
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.codecs import encode
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.decision.canonical.schema_patterns import compiled_pattern
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.annotations import Argument, Composite
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import copied
from ironcurtain.system.structs import Struct

_MAX_FORMS = 24
_WORDS = ("[A-Za-z0-9]+", "[!-~]*[A-Za-z0-9]")
"""What may stand for a fresh word, the plainer one first."""
RawValue: TypeAlias = JsonValue | tuple[str, ...]
"""A value of a source as a call gives it; of a composite, its parts."""


class ResourceSource(Struct):
    """One argument, or composite of arguments, that yields resources.

    Attributes:
        pointer: Where its resources are found.
        argument: The annotated argument, or
        composite: the composite.
        many: Whether one call can hold several of its values.
    """

    pointer: tuple[str, ...]
    argument: Argument | None
    composite: Composite | None
    many: bool

    @property
    def places(self) -> tuple[str, ...]:
        """The top-level arguments that it stands in."""
        if self.composite is not None:
            return self.composite.join
        return (self.argument.top_level,) if self.argument else ()

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that its resources can have."""
        if self.composite is not None:
            return (self.composite.role,)
        return self.argument.possible_roles if self.argument else ()

    def roles_in(self, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
        """Return the roles that its resources have in a call with some arguments."""
        if self.composite is not None:
            return (self.composite.role,)
        return roles_in_call(self.argument, arguments) if self.argument else ()


class Placing:
    """Puts values of the sources of one tool into its arguments.

    Args:
        schema: What arguments have to fit; None where everything is accepted.
        fresh: Readable strings that no policy names.
        samples: By the steps to an argument that names a resource, a value that its role takes.
    """

    def __init__(
        self,
        schema: ArgumentSchema | None,
        fresh: tuple[str, ...],
        samples: Mapping[tuple[str, ...], str],
    ) -> None:
        self._schema, self._fresh, self._samples = schema, fresh, samples
        self._checkers: dict[Schemas, Callable[[JsonValue], bool | None]] = {}
        self._builder = ValueGenerator(schema, fresh)

    @cached_property
    def shapes(self) -> SchemaReader:
        """Reads the tool's schema."""
        return self._builder.shapes

    def place(self, source: ResourceSource, values: Sequence[RawValue]) -> dict[str, JsonValue]:
        """Return the arguments that hold raw values of a source, in a form that fits if one does.

        Raises:
            TypeError: If a composite's value is no tuple of its parts.
        """
        if source.composite is not None:
            parts = values[0]
            if not isinstance(parts, tuple):
                raise TypeError(parts)
            return dict(zip(source.composite.join, parts, strict=True))
        top, *below = source.pointer
        schemas = self.shapes.argument(top)
        plain: list[JsonValue] = [value for value in values if not isinstance(value, tuple)]
        if not below and len(plain) == 1 and self._is_single(source, schemas):
            return {top: plain[0]}
        placed = {top: self._first(schemas, self._forms(schemas, tuple(below), plain, source))}
        return self._with_samples(placed, source)

    def _with_samples(self, placed: dict[str, JsonValue], source: ResourceSource) -> dict[str, JsonValue]:
        """Return an argument in which other resources than a source's are some that their roles take."""
        for steps, sample in self._samples.items():
            if steps[0] not in placed or steps == source.pointer:
                continue
            for place, _ in list(pointers.matches(placed, steps)):
                for value in (sample, *self.like(steps, sample)):
                    changed = copied(placed)
                    pointers.assign(changed, place, value)
                    if self.fits(changed):
                        placed = changed
                        break
        return placed

    def like(self, steps: tuple[str, ...], value: str) -> Iterator[str]:
        """Yield texts that the schema takes at a pointer and that are a value but for its fresh word.

        They are looked for where the schema says more of a text than that it is one.
        """
        for word in _WORDS:
            form = f"^{re.escape(value).replace(self._fresh[0], word)}$"
            for shape in self._leaves_at(steps):
                yield from itertools.islice(_texts_of(shape, form), 2)

    def _leaves_at(self, steps: tuple[str, ...]) -> list[SchemaShape]:
        """Return the shapes of the texts at a pointer, in an array that stands there, too."""
        found = [*self.shapes.of(self.shapes.argument(steps[0]))]
        for step in steps[1:]:
            found = [
                below
                for shape in found
                for below in self.shapes.of(shape.items if step == pointers.EVERY else shape.member(step))
            ]
        found += [below for shape in found if "array" in shape.types for below in self.shapes.of(shape.items)]
        return [shape for shape in found if "string" in shape.types]

    def fits(self, arguments: dict[str, JsonValue]) -> bool:
        """Tell whether each argument alone is one that the schema accepts."""
        return all(self._fits(self.shapes.argument(name), value) for name, value in arguments.items())

    def plain(self, name: str) -> JsonValue:
        """Return a plain value of an argument; null where none was found."""
        found = self._builder.minimal(self.shapes.argument(name))
        return found.values[0].value if found.values else None

    def takes_many(self, argument: Argument, steps: tuple[str, ...]) -> bool:
        """Tell whether one call can hold several values of an argument."""
        if pointers.EVERY in steps or argument.codec is not None:
            return True
        return any(
            "array" in shape.types and (shape.bound("maxItems") or 2) > 1
            for shape in self._at(steps)
            if shape.enum is None or any(isinstance(value, list) for value in shape.enum)
        )

    def listed(self, argument: Argument, steps: tuple[str, ...]) -> tuple[JsonValue, ...] | None:
        """Return all single values that the schema permits, None where it does not list them."""
        if pointers.EVERY in steps or argument.codec is not None:
            return None
        found: list[JsonValue] = []
        shapes = self._at(steps)
        if shapes and all(shape.types <= {"array", "null"} and shape.enum is None for shape in shapes):
            shapes = [
                below for shape in shapes for below in self.shapes.of(shape.items) if "array" in shape.types
            ]
        for shape in shapes:
            if shape.enum is not None and not any(isinstance(value, list | dict) for value in shape.enum):
                found += [value for value in shape.enum if value is not None]
            elif shape.types != {"null"}:
                return None
        return tuple(found)

    def empties(self, argument: Argument, steps: tuple[str, ...]) -> Iterator[JsonValue]:
        """Yield values of the top-level argument that are there and may hold no resource.

        Where none is yielded, the schema demands one: it only ever is wider than the shapes say.
        """
        schemas = self.shapes.argument(steps[0])
        if len(steps) == 1:
            shapes = [shape for shape in self.shapes.of(schemas) if shape.enum is None or [] in shape.enum]
            if any("array" in shape.types and not shape.bound("minItems") for shape in shapes):
                yield []
            yield from ("[]", "") if argument.codec is not None else ()
        elif not self._must_hold(schemas, steps[1:]):
            yield from (each.value for each in self._builder.minimal(schemas).values)
            yield [] if steps[1] == pointers.EVERY else {}

    def _must_hold(self, schemas: Schemas, steps: tuple[str, ...]) -> bool:
        """Tell whether whatever fits holds something at a pointer below it; other types are refused there."""
        if not steps:
            return not any("null" in shape.types for shape in self.shapes.of(schemas))
        for shape in self.shapes.of(schemas):
            if "null" in shape.types:
                return False
            if steps[0] == pointers.EVERY:
                if "array" in shape.types and not (
                    shape.bound("minItems") and self._must_hold(shape.items, steps[1:])
                ):
                    return False
            elif "object" in shape.types and not (
                steps[0] in shape.required and self._must_hold(shape.member(steps[0]), steps[1:])
            ):
                return False
        return True

    def _at(self, steps: tuple[str, ...]) -> list[SchemaShape]:
        """Return the shapes of what stands at a pointer without `*`."""
        found = [*self.shapes.of(self.shapes.argument(steps[0]))]
        for step in steps[1:]:
            found = [below for shape in found for below in self.shapes.of(shape.member(step))]
        return found

    def _is_single(self, source: ResourceSource, schemas: Schemas) -> bool:
        """Tell whether one value of a source can stand in its argument in one form only."""
        codec = source.argument is not None and source.argument.codec is not None
        return not codec and not any("array" in shape.types for shape in self.shapes.of(schemas))

    def _fits(self, schemas: Schemas, value: JsonValue) -> bool:
        if self._schema is None:
            return True
        if schemas not in self._checkers:
            self._checkers[schemas] = self._schema.checker(schemas.parts)
        return bool(self._checkers[schemas](value))

    # -- forms ------------------------------------------------------------------------------------

    def _forms(
        self, schemas: Schemas, steps: tuple[str, ...], values: list[JsonValue], source: ResourceSource
    ) -> Iterator[JsonValue]:
        if not steps:
            yield from self._leaves(schemas, values, source)
            return
        shapes = self.shapes.of(schemas) or (SchemaShape(),)
        if steps[0] == pointers.EVERY:
            for shape in shapes:
                forms = [self._forms(shape.items, steps[1:], [value], source) for value in values]
                yield _padded([self._first(shape.items, each) for each in forms], shape)
            return
        for shape in shapes:
            needed = {n: self._builder.minimal(shape.member(n)).values for n in shape.required - {steps[0]}}
            base = {name: found[0].value for name, found in sorted(needed.items()) if found}
            for form in self._forms(shape.member(steps[0]), steps[1:], values, source):
                yield {**base, steps[0]: form}

    def _first(self, schemas: Schemas, forms: Iterator[JsonValue]) -> JsonValue:
        """Return the first form that fits, or else the first one."""
        first = next(forms)
        tried = itertools.chain([first], itertools.islice(forms, _MAX_FORMS))
        return next((form for form in tried if self._fits(schemas, form)), first)

    def _leaves(
        self, schemas: Schemas, values: list[JsonValue], source: ResourceSource
    ) -> Iterator[JsonValue]:
        codec = source.argument.codec if source.argument else None
        if codec is not None:
            texts = [str(value) for value in values]
            try:
                yield encode(codec, "[" if codec.startswith("json") else "", texts)
            except UnrepresentableError:
                yield values[0]
            return
        if len(values) == 1:
            yield values[0]
        for shape in self.shapes.of(schemas):
            if "array" in shape.types:
                yield _padded(values, shape)
        yield values


def _texts_of(shape: SchemaShape, form: str) -> Iterator[str]:
    """Yield texts of a form that a shape takes, where it says more of a text than that it is one."""
    shortest = int(shape.bound("minLength") or 0)
    texts: Sequence[JsonValue] = shape.enum or ()
    if shape.enum is None and (shape.patterns or shortest or shape.longest is not None):
        tests = TextTests((), (), (), (*shape.expressions, form), shortest, shape.longest)
        texts = distinguishing_texts(tests, ()).values
    of_text = (text for text in texts if isinstance(text, str) and shape.takes(text))
    yield from (text for text in of_text if compiled_pattern(form).search(text))


def _padded(values: list[JsonValue], shape: SchemaShape) -> list[JsonValue]:
    """Return an array long enough for its schema: an element twice is one resource."""
    missing = int(shape.bound("minItems") or 0) - len(values)
    return [*values, *itertools.repeat(values[-1], min(max(missing, 0), 1_000))]
