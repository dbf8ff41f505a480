"""Declaring a tool.

    get_ticket = define_tool(
        name="get_ticket",
        description="Return a ticket.",
        classification="read",
        permissions=["tickets:read"],
        input=TicketQuery,
        output=Ticket,
        output_policy={".": "allow", "..email": "mask"},
        handler=find_ticket,
    )

Nothing is raised here: everything that is wrong with all tools of a module is told at once, with the file and
the line of each (`Gateway`, `ironcurtain serve --check`). What is returned is frozen.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from pydantic import BaseModel, JsonValue, RootModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic.plugin._schema_validator import PluggableSchemaValidator
from pydantic_core import SchemaSerializer, SchemaValidator

from ironcurtain.errors import GatewayError, Place
from ironcurtain.gateway import keywords
from ironcurtain.gateway.command import Command
from ironcurtain.gateway.keywords import near, told_with_the_rest
from ironcurtain.gateway.output.policy import OutputPolicy
from ironcurtain.gateway.output.rules import OutputPolicyError
from ironcurtain.gateway.roles import UnclearRolesError, arguments_of
from ironcurtain.model.annotations import Argument
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import quoted

Classification: TypeAlias = Literal["read", "write", "destructive"]
Handler: TypeAlias = Callable[..., Any] | Command
Validator: TypeAlias = SchemaValidator | PluggableSchemaValidator
ElevatedIf: TypeAlias = Callable[[Any], bool]

PUBLIC = "public"
"""The permission that everybody has who is known at all."""

DEFAULT_TIMEOUT = 30.0
_MOST_SECONDS = 3_600.0
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_MOST_NAME = 64
_PERMISSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/*-]{0,127}\Z")


class HandlerContext(Struct):
    """What a handler is told beside its input.

    Attributes:
        trace_id: The call's id, as in the audit log.
        timeout: Seconds that the call may take.
    """

    trace_id: str
    timeout: float


class _Schemas(GenerateJsonSchema):
    """Pydantic's schemas; a default that JSON holds as it is gets no serializer made for it."""

    def encode_default(self, dft: Any) -> Any:  # noqa: ANN401 - a default of any type
        """Return a default as JSON."""
        if dft is None or type(dft) in {str, int, bool}:
            return dft
        return super().encode_default(dft)


class Shape(Struct):
    """How input and output are read and written, as their models were when the tool was declared.

    A class can be changed afterwards; what is listed and validated against must not be.

    Attributes:
        input_schema: JSON Schema of the input.
        output_schema: JSON Schema of what the handler answers, before the output policy.
    """

    input_schema: dict[str, JsonValue] = field(default_factory=dict)
    output_schema: dict[str, JsonValue] = field(default_factory=dict)
    _input: Validator | None = None
    _output: Validator | None = None
    _written: SchemaSerializer | None = None

    @classmethod
    def of(cls, input_: type[BaseModel], output: type[BaseModel]) -> Shape:
        """Take models as they are now.

        Raises:
            PydanticUserError: If one has no JSON Schema.
        """
        return cls(
            input_.model_json_schema(schema_generator=_Schemas),
            output.model_json_schema(mode="serialization", schema_generator=_Schemas),
            input_.__pydantic_validator__,
            output.__pydantic_validator__,
            output.__pydantic_serializer__,
        )

    def given(self, arguments: object) -> BaseModel:
        """Return arguments as the input.

        Raises:
            ValidationError: If they are none.
        """
        assert self._input is not None  # noqa: S101 - a tool with problems is never served
        model: BaseModel = self._input.validate_python(arguments)
        return model

    def answered(self, answer: object) -> tuple[object, JsonValue]:
        """Return an answer as the output, in Python and as JSON.

        Raises:
            ValidationError: If it is none.
            PydanticSerializationError: If JSON cannot hold it.
        """
        assert self._output is not None and self._written is not None  # noqa: S101, PT018 - as above
        model = self._output.validate_python(answer)
        made: JsonValue = self._written.to_python(model, mode="json", by_alias=True)
        return self._written.to_python(model), made


class Tool(Struct):
    """A tool as it was declared; make it with `define_tool`.

    Attributes:
        arguments: What each argument is to security.
        takes_context: Whether the handler takes a `HandlerContext` beside its input.
        shape: How input and output are read and written.
        place: Where it was declared.
        problems: What is wrong with it; a tool with problems is never served.
    """

    name: str
    description: str
    classification: Classification
    permissions: tuple[str, ...]
    input: type[BaseModel]
    output: type[BaseModel]
    output_policy: OutputPolicy
    handler: Handler
    elevated_if: ElevatedIf | None
    elevated_permissions: tuple[str, ...]
    pii_fields: frozenset[str]
    timeout: float
    arguments: tuple[Argument, ...]
    takes_context: bool
    shape: Shape
    place: Place
    problems: tuple[GatewayError, ...] = ()

    def input_schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the input."""
        return copy.deepcopy(self.shape.input_schema)

    def output_schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of what the handler answers, before the output policy."""
        return copy.deepcopy(self.shape.output_schema)


class _Anything(BaseModel):
    """Stands in where a declaration names no model."""


_STAND_INS: Mapping[str, object] = {
    "name": "unnamed",
    "description": "-",
    "classification": "read",
    "permissions": (PUBLIC,),
    "input": _Anything,
    "output": _Anything,
    "output_policy": {},
}


@told_with_the_rest(_STAND_INS)
def define_tool(  # noqa: PLR0913 - each is a part of the declaration
    *,
    name: str,
    description: str,
    classification: Classification,
    permissions: Sequence[str],
    input: type[BaseModel],  # noqa: A002 - what it is called where people read it
    output: type[BaseModel],
    output_policy: Mapping[str, str],
    handler: Handler | None = None,
    elevated_if: ElevatedIf | None = None,
    elevated_permissions: Sequence[str] = (),
    pii_fields: Iterable[str] = (),
    timeout: float = DEFAULT_TIMEOUT,
) -> Tool:
    """Declare a tool.

    Args:
        name: In snake_case.
        description: What it does, for the model that calls it.
        classification: `read` changes nothing, `write` changes something, `destructive` cannot be undone.
        permissions: What the caller must have, all of it; `public` for a tool for everybody.
        input: A pydantic model of the arguments.
        output: A pydantic model of the answer.
        output_policy: By path what happens to the answer: `allow`, `mask` or `redact`; all else is stripped.
        handler: A function, plain or asynchronous, of the input and, where it takes two arguments, a
            `HandlerContext`; or a `cli_command`.
        elevated_if: Tells of a validated input whether it needs more.
        elevated_permissions: What the caller must have then.
        pii_fields: Arguments that concern a person: no log ever shows them.
        timeout: Seconds that a call may take.
    """
    place = _place_of_caller()
    check = _Check(place, name if isinstance(name, str) else "?")
    check.names(name, description, classification)
    required, elevated = check.permissions(permissions, elevated_if, elevated_permissions)
    personal = check.personal(pii_fields)
    arguments = check.input(input, personal)
    policy = check.output(output, output_policy)
    shape = check.shape(input, output)
    takes_context = check.handler(handler, timeout)
    return Tool(
        name=name,
        description=description,
        classification=classification,
        permissions=required,
        input=input,
        output=output,
        output_policy=policy,
        handler=handler or _absent,
        elevated_if=elevated_if,
        elevated_permissions=elevated,
        pii_fields=personal,
        timeout=timeout,
        arguments=arguments,
        takes_context=takes_context,
        shape=shape,
        place=place,
        problems=tuple(check.problems),
    )


def _place_of_caller() -> Place:
    """Return where the module of tools calls `define_tool`."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") in (__name__, keywords.__name__):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else Place("?")


def _absent(_: BaseModel) -> None:
    raise AssertionError("a tool with problems is never served")


class _Check:
    """Everything that can be wrong with one declaration."""

    def __init__(self, place: Place, name: str) -> None:
        self.place, self.name = place, name
        self.problems: list[GatewayError] = []

    def wrong(self, what: str, hint: str) -> None:
        self.problems.append(GatewayError(f"tool {quoted(self.name)}: {what}", where=self.place, hint=hint))

    def names(self, name: object, description: object, classification: object) -> None:
        if not isinstance(name, str) or not _NAME.match(name) or len(name) > _MOST_NAME:
            self.wrong("its name is not snake_case", "Write a name like `get_ticket`, at most 64 characters.")
        if not isinstance(description, str) or not description.strip():
            self.wrong("it has no description", "Say in a sentence what it does: the model reads this.")
        if classification not in get_args(Classification):
            self.wrong(
                f"there is no classification {quoted(str(classification))}",
                "Write `read`, `write` or `destructive`.",
            )

    def permissions(
        self, required: object, condition: object, elevated: object
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Check who may call; return the names of permissions that are some, always and elevated."""
        names = self._permission_names(required, "permissions")
        if isinstance(required, Sequence) and not required:
            self.wrong("it requires no permission", 'Write permissions=["public"] if it is for everybody.')
        more = self._permission_names(elevated, "elevated_permissions")
        if condition is not None and not callable(condition):
            self.wrong("elevated_if is no function", "Give a function of the input that says true or false.")
        if bool(condition) != bool(elevated):
            self.wrong(
                "elevated_if and elevated_permissions belong together",
                "Give both: when more is needed, and what.",
            )
        return names, more

    def _permission_names(self, names: object, what: str) -> tuple[str, ...]:
        in_order = names if isinstance(names, Sequence) else None
        listed = self._names(in_order, what, 'Write a list, as ["tickets:read"].')
        for name in listed:
            if not _PERMISSION.match(name):
                self.wrong(f"{quoted(name)} is no name of a permission", 'Write one like "tickets:read".')
        return tuple(name for name in listed if _PERMISSION.match(name))

    def personal(self, names: object) -> frozenset[str]:
        return frozenset(self._names(names, "pii_fields", 'Write a list, as ["email"].'))

    def _names(self, names: object, what: str, hint: str) -> tuple[str, ...]:
        """Return a list of names; nothing, where it is none."""
        listed = None if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
        if listed is None or not all(isinstance(name, str) for name in listed):
            self.wrong(f"{what} is no list of names", hint)
            return ()
        return listed

    def input(self, model: object, personal: frozenset[str]) -> tuple[Argument, ...]:
        if not _is_model(model):
            self.wrong(
                "its input is no pydantic model of an object", "Declare a class of BaseModel with fields."
            )
            return ()
        try:
            arguments = arguments_of(model, personal)
        except UnclearRolesError as error:
            self.wrong(str(error), "Mark fields of models, and elements of lists.")
            return ()
        known = {name for argument in arguments for name in (argument.top_level,)} | set(model.model_fields)
        for name in sorted(personal - known):
            hint = near(name, tuple(sorted(known))) if known else "Name fields of the input."
            self.wrong(f"pii_fields names {quoted(name)}, which is no argument", hint)
        return arguments

    def shape(self, given: object, answered: object) -> Shape:
        if _is_model(given) and _is_model(answered):
            try:
                return Shape.of(given, answered)
            except PydanticUserError as error:
                self.wrong(
                    f"its input or output has no JSON Schema: {error.message}",
                    "Use types that JSON can hold.",
                )
        return Shape()

    def output(self, model: object, written: Mapping[str, str]) -> OutputPolicy:
        if not _is_model(model):
            self.wrong(
                "its output is no pydantic model of an object", "Declare a class of BaseModel with fields."
            )
        try:
            return OutputPolicy.parse(written)
        except OutputPolicyError as error:
            for problem in error.problems:
                self.wrong(f"output_policy, {quoted(problem.path)}: {problem.what}", problem.hint)
        except (TypeError, AttributeError):
            self.wrong("its output_policy is no mapping of paths to actions", 'Write {".id": "allow"}.')
        return OutputPolicy.parse({})

    def handler(self, handler: Handler | None, timeout: object) -> bool:
        if not isinstance(timeout, int | float) or not 0 < timeout <= _MOST_SECONDS:
            self.wrong("its timeout is no number of seconds", "Write one above 0, up to 3,600.")
        if isinstance(handler, Command):
            for what, hint in handler.problems:
                self.wrong(what, hint)
            return False
        if not callable(handler):
            self.wrong("it has no handler", "Give a function of the input, or a cli_command.")
            return False
        taken = [p for p in inspect.signature(handler).parameters.values() if p.kind in _POSITIONAL]
        if len(taken) not in (1, 2):
            self.wrong(
                "its handler takes neither the input alone nor the input and a context",
                "Declare `def handler(input)` or `def handler(input, context)`.",
            )
        return len(taken) == 2  # noqa: PLR2004 - input and context


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _is_model(model: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(model, type) and issubclass(model, BaseModel) and not issubclass(model, RootModel)
