"""Step 3: do the arguments fit the tool, and what are they once its defaults are filled in?"""

from __future__ import annotations

from ironcurtain.canonical import pointers
from ironcurtain.canonical.schema import ArgumentSchema, UnusableSchemaError, permits_null
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.base import Json
from ironcurtain.text import quoted


class InvalidArgumentsError(Exception):
    """The arguments do not fit the tool; the message says why and names the valid arguments."""


class FittedTool:
    """A tool's annotation with its schema prepared once, at load."""

    def __init__(self, annotation: ToolAnnotation) -> None:
        """Prepare the annotation; a schema that cannot be evaluated makes every call of the tool invalid."""
        self.annotation = annotation
        self.unusable: str | None = None
        self.schema: ArgumentSchema | None = None
        if annotation.input_schema is not None:
            try:
                self.schema = ArgumentSchema(annotation.input_schema)
            except UnusableSchemaError as error:
                self.unusable = str(error)
        listed = self.schema.properties if self.schema else {}
        self._defaults = {n: listed[n]["default"] for n in listed if "default" in listed[n]}
        self._nullable = {name for name in listed if permits_null(listed[name])}

    def fit(self, arguments: dict[str, Json], *, has_working_root: bool) -> dict[str, Json]:
        """Return the arguments as judged and sent: validated, with defaults filled in.

        An argument that is null where the schema permits null counts as absent. A `repository` argument
        without default is the working root when absent, since that is where the tool would work.

        Raises:
            InvalidArgumentsError: If they do not fit.
        """
        self._check_names(arguments)
        if self.unusable:
            raise InvalidArgumentsError(f"the tool's schema cannot be evaluated: {self.unusable}")
        if problems := self.schema.problems(arguments) if self.schema else []:
            raise InvalidArgumentsError(f"{'; '.join(problems)}. {self._valid_names()}")
        absent = {n for n in self.annotation.argument_names if self._is_absent(arguments, n)}
        self._check_required(arguments, absent)
        return arguments | self._fillings(absent, has_working_root=has_working_root)

    def _check_names(self, arguments: dict[str, Json]) -> None:
        unknown = [name for name in arguments if name not in self.annotation.argument_names]
        if unknown:
            raise InvalidArgumentsError(
                f"unknown argument {', '.join(quoted(name) for name in unknown[:5])}. {self._valid_names()}"
            )

    def _check_required(self, arguments: dict[str, Json], absent: set[str]) -> None:
        for argument in self.annotation.args:
            if not argument.required:
                continue
            pattern = pointers.tokens(pointers.of_name(argument.name))
            if argument.top_level in absent or pointers.is_missing(arguments, pattern):
                raise InvalidArgumentsError(f"{argument.name} must be given. {self._valid_names()}")

    def _fillings(self, absent: set[str], *, has_working_root: bool) -> dict[str, Json]:
        filled = {name: self._defaults[name] for name in self._defaults if name in absent}
        for argument in self.annotation.args:
            if argument.repository and argument.name in absent and argument.name not in filled:
                if not has_working_root:
                    raise InvalidArgumentsError(
                        f"pass {argument.name}: this server has no working directory to fall back on"
                    )
                filled[argument.name] = "."
        return filled

    def _is_absent(self, arguments: dict[str, Json], name: str) -> bool:
        value = arguments.get(name)
        if value is not None:
            return False
        return name not in arguments or self.schema is None or name in self._nullable

    def _valid_names(self) -> str:
        names = self.annotation.argument_names
        return f"Valid arguments: {', '.join(names)}." if names else "The tool takes no arguments."
