"""Step 3: validate the arguments against the tool, and fill in its defaults (specification 2.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ironcurtain.decision.canonical import pointers
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import copied, members
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.decision.canonical.json_schema import ArgumentSchema


class InvalidArgumentsError(Exception):
    """The arguments do not fit the tool; the message says why and names the valid arguments."""


class ValidatedTool:
    """A tool's annotation with its schema prepared once, at load.

    Attributes:
        annotation: The annotation.
        unusable: Why the schema cannot be evaluated, if it cannot.
        schema: The schema, if there is one that can be used.
    """

    def __init__(self, annotation: ToolAnnotation) -> None:
        """Prepare the annotation; a schema that cannot be evaluated makes every call of the tool invalid."""
        self.annotation = annotation
        self.unusable: str | None = None
        self.schema: ArgumentSchema | None = None
        if annotation.input_schema is not None:
            # A policy is loaded before it is known which of its tools are called.
            from ironcurtain.decision.canonical.json_schema import ArgumentSchema  # noqa: PLC0415 - as above
            from ironcurtain.decision.canonical.schema_patterns import UnusableSchemaError  # noqa: PLC0415

            try:
                self.schema = ArgumentSchema(annotation.input_schema)
            except UnusableSchemaError as error:
                self.unusable = str(error)
        self._names = annotation.argument_names

    def validate(self, arguments: dict[str, JsonValue], *, has_working_root: bool) -> dict[str, JsonValue]:
        """Return the arguments as judged and sent: validated, with defaults filled in.

        A null that passes validation counts as absent. A `repository` argument without default is the
        working root when absent, since that is where the tool would work.

        Raises:
            InvalidArgumentsError: If they do not fit.
        """
        self._check_names(arguments)
        if self.unusable:
            raise InvalidArgumentsError(f"the tool's schema cannot be evaluated: {self.unusable}")
        if problems := self.schema.problems(arguments) if self.schema else []:
            raise InvalidArgumentsError(f"{'; '.join(problems)}. {self._valid_names()}")
        self._check_required(arguments)
        return self.filled(arguments, has_working_root=has_working_root)

    def fits_schema(self, arguments: dict[str, JsonValue]) -> bool:
        """Tell whether arguments fit the schema; `validate` also says why not, which takes the validator."""
        return not self.unusable and (self.schema is None or self.schema.fits(arguments))

    def filled(self, arguments: dict[str, JsonValue], *, has_working_root: bool) -> dict[str, JsonValue]:
        """Return arguments with defaults filled in, whether or not they are valid.

        Raises:
            InvalidArgumentsError: If a repository is absent that has to be given.
        """
        completed = self.with_defaults(arguments)
        return completed | self._repositories(completed, has_working_root=has_working_root)

    def with_defaults(self, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return arguments with the schema's defaults filled in, whether or not they are valid."""
        schema = self.schema
        if schema is None or not self._with_defaults:
            return arguments
        filled = copied(arguments)
        for steps in self._with_defaults:
            _fill(filled, schema.schema, steps, schema)
        return filled

    def with_defaults_below(self, place: Sequence[str], value: JsonValue) -> JsonValue:
        """Return what stands at a place of the arguments, of a list any element, with defaults filled in."""
        if not self._with_defaults:
            return value
        whole = value
        for step in reversed(place):
            whole = [whole] if step == pointers.EVERY else {step: whole}
        found: JsonValue = self.with_defaults(members(whole))
        for step in place:
            found = found[0] if isinstance(found, list) else members(found)[step]
        return found

    @cached_property
    def _with_defaults(self) -> list[tuple[str, ...]]:
        """The places that have a default by the schema, or may have one, as those that lie deeper."""
        schema = self.schema
        if schema is None or '"default":' not in json.dumps(schema.schema):
            return []
        annotated = [pointers.steps_of(argument.name) for argument in self.annotation.args]
        # Whole arguments come first: what is filled in may itself lack members that have defaults.
        places = sorted(dict.fromkeys([*((name,) for name in self._names), *annotated]), key=len)
        return [p for p in places if len(p) > 1 or "default" in schema.below(schema.schema, p[0])]

    def _check_names(self, arguments: dict[str, JsonValue]) -> None:
        unknown = [name for name in arguments if name not in self._names]
        if unknown:
            raise InvalidArgumentsError(
                f"unknown argument {', '.join(quoted(name) for name in unknown[:5])}. {self._valid_names()}"
            )

    def _check_required(self, arguments: dict[str, JsonValue]) -> None:
        for argument in self.annotation.args:
            steps = pointers.steps_of(argument.name)
            if argument.required and pointers.is_missing(arguments, steps):
                raise InvalidArgumentsError(f"{argument.name} must be given. {self._valid_names()}")

    def _repositories(self, filled: dict[str, JsonValue], *, has_working_root: bool) -> dict[str, JsonValue]:
        """Return the working root for every repository argument that is absent."""
        completed: dict[str, JsonValue] = {}
        for argument in self.annotation.args:
            steps = pointers.steps_of(argument.name)
            if not argument.repository or not pointers.is_missing(filled, steps):
                continue
            if len(steps) > 1 or not has_working_root:
                raise InvalidArgumentsError(
                    f"pass {argument.name}: there is no working directory to fall back on"
                )
            completed[steps[0]] = "."
        return completed

    def _valid_names(self) -> str:
        names = self._names
        return f"Valid arguments: {', '.join(names)}." if names else "The tool takes no arguments."


def _fill(
    value: JsonValue, described: dict[str, JsonValue], steps: tuple[str, ...], schema: ArgumentSchema
) -> None:
    """Put the schema's default at every place below `value` that the steps name and that is absent."""
    head, rest = steps[0], steps[1:]
    if isinstance(value, list) and head == pointers.EVERY and rest:
        for child in value:
            _fill(child, schema.below(described, None), rest, schema)
    if not isinstance(value, dict):
        return
    below = schema.below(described, head)
    if rest and head in value:
        _fill(value[head], below, rest, schema)
    elif not rest and value.get(head) is None and below.get("default") is not None:
        value[head] = copied(below["default"])
