"""The conditions of rules: which calls a rule is about, in the vocabulary of specification 3.1."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.model.moments import Part
from ironcurtain.model.operators import CountBound, literal_expression
from ironcurtain.model.times import minutes_within, seconds_of
from ironcurtain.system.frozen import Frozen, JsonValue, OneOrMany, ServerName

Operator: TypeAlias = Literal[
    "equals", "not_equals", "in", "not_in", "lt", "le", "gt", "ge", "matches", "present"
]

ArgOperator: TypeAlias = Literal[Operator, "contains_any", "within"]
"""The operators of tests of arguments and caller facts."""


class PathsCondition(Frozen):
    """The resource lies in one of the directories; `or_none` concerns guards of allow rules only."""

    roles: tuple[str, ...] = Field(min_length=1)
    within: tuple[str, ...] = Field(min_length=1)
    or_none: bool = False

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, under the name that all three kinds of condition share."""
        return self.within


class DomainsCondition(Frozen):
    """The URL or git remote matches one of the domain patterns or `@lists`."""

    roles: tuple[str, ...] = Field(min_length=1)
    allowed: tuple[str, ...] = Field(min_length=1)
    or_none: bool = False

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, under the name that all three kinds of condition share."""
        return self.allowed


class ListsCondition(DomainsCondition):
    """The identifier is one of the values or a member of one of the `@lists`."""


RoleCondition: TypeAlias = PathsCondition | DomainsCondition | ListsCondition


FactOperator: TypeAlias = (
    Operator | Literal["contains", "not_contains", "older_than", "younger_than", "within"]
)


TestOperator: TypeAlias = ArgOperator | FactOperator | Literal["in_week"]
"""The operators of tests of values: `in_week` is what `within` of a clock comes down to."""


class ValueTest(Frozen):
    """A test of one value by name or JSON pointer: what tests of arguments and of facts come down to.

    Attributes:
        name: Where the value stands below its root; a declared fact has its own name, `NAME` or `NAME/FIELD`.
        value: The operand; of `in_week` the half-open intervals of minutes, `[[first, end], …]`.
        over, of, or_absent, measure, count, ignore_case, part, also_in: As in `ArgCondition`.
    """

    name: str = Field(min_length=1)
    op: TestOperator
    value: JsonValue
    over: Literal["every", "some"] = "every"
    of: Literal["keys"] | None = None
    or_absent: bool = False
    measure: Literal["count", "length"] | None = None
    count: CountBound | None = None
    ignore_case: bool = False
    part: Part | None = None
    also_in: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The argument that is tested, and those beside it."""
        return (self.name, *self.also_in)

    @property
    def as_expression(self) -> ValueTest:
        """The same test as a match of a regular expression, where it is one about texts; else itself."""
        if self.op != "contains_any" and not self.ignore_case:
            return self
        texts = [text for text in self.value if isinstance(text, str)] if isinstance(self.value, list) else []
        plain = "|".join(map(literal_expression, texts or [str(self.value)]))
        inner = str(self.value) if self.op == "matches" else plain
        expression = f".*(?:{inner}).*" if self.op == "contains_any" else inner
        expression = f"(?i:{expression})" if self.ignore_case else expression
        return self.model_copy(update={"op": "matches", "value": expression, "ignore_case": False})

    @property
    def operands(self) -> list[JsonValue]:
        """The values of the operand: those listed with `in` and `not_in`, else the operand alone."""
        if self.op in ("in", "not_in") and isinstance(self.value, list):
            return self.value
        return [self.value]


class ArgCondition(ValueTest):
    """A test of an argument (or caller fact) by name or JSON pointer; `*` stands for every element.

    Attributes:
        value: The operand; `{"caller": POINTER}` or `{"arg": POINTER}` refers to another value.
        over: With `*`: every element must satisfy the test, or some.
        of: `keys` tests the keys of an object as `*` tests elements of an array.
        or_absent: Whether a missing argument satisfies it.
        measure: Compare the number of elements (`count`) or characters (`length`) instead.
        count: With `*` or `of`: how many elements must satisfy the test, instead of every or some.
        ignore_case: Compare texts without regard to case, as RE2 does.
        part: Read texts as ISO dates or date-times, and compare their day, time of day or moment.
        also_in: Further arguments: it is enough that one of all of them satisfies the test.
    """

    op: ArgOperator


class FactCondition(Frozen):
    """A test of a declared fact.

    Attributes:
        fact: `NAME` of a counter, label, clock or of what the user said, or `NAME/FIELD` of a record.
        value: The operand: a constant, a duration such as `24h` for `older_than` and `younger_than`, times
            such as `mon-fri 09:00-17:00` for `within`; `{"arg": POINTER}`, `{"caller": POINTER}` and
            `{"fact": NAME}` refer to another value.
    """

    fact: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}(/[a-z][a-z0-9_]{0,63})?$")
    op: FactOperator
    value: JsonValue

    @model_validator(mode="after")
    def _times_are_times(self) -> FactCondition:
        if self.op in ("older_than", "younger_than"):
            seconds_of(self.value if isinstance(self.value, str) else "")
        if self.op == "within":
            times = self.value if isinstance(self.value, list | tuple) and self.value else [""]
            minutes_within(time if isinstance(time, str) else "" for time in times)
        return self

    @property
    def test(self) -> ValueTest:
        """The test of the value that a decision sees: ages are seconds, times are minutes of the week."""
        op: TestOperator = self.op
        value = self.value
        if op in ("older_than", "younger_than"):
            op, value = ("gt" if op == "older_than" else "lt"), seconds_of(str(value))
        elif op == "within" and isinstance(value, list | tuple):
            op, value = "in_week", [list(interval) for interval in minutes_within(map(str, value))]
        return ValueTest(name=self.fact, op=op, value=value)


class If(Frozen):
    """The conjunction that a rule tests; a key that is absent tests nothing."""

    server: tuple[ServerName, ...] | None = Field(default=None, min_length=1)
    tool: tuple[str, ...] | None = Field(default=None, min_length=1)
    roles: tuple[str, ...] | None = Field(default=None, min_length=1)
    side_effects: bool | None = None
    paths: Annotated[tuple[PathsCondition, ...], OneOrMany] | None = Field(default=None, min_length=1)
    domains: Annotated[tuple[DomainsCondition, ...], OneOrMany] | None = Field(default=None, min_length=1)
    lists: Annotated[tuple[ListsCondition, ...], OneOrMany] | None = Field(default=None, min_length=1)
    args: tuple[ArgCondition, ...] | None = Field(default=None, min_length=1)
    caller: tuple[ArgCondition, ...] | None = Field(default=None, min_length=1)
    facts: tuple[FactCondition, ...] | None = Field(default=None, min_length=1)
    in_sandbox: bool = False

    @property
    def role_conditions(self) -> tuple[RoleCondition, ...]:
        """The conditions that speak of patterns, in the order paths, domains, lists."""
        return (*(self.paths or ()), *(self.domains or ()), *(self.lists or ()))

    @property
    def named_roles(self) -> tuple[str, ...]:
        """Every role named by a role-bearing condition, each once; empty if there is no such condition."""
        named = [*(self.roles or ()), *(role for c in self.role_conditions for role in c.roles)]
        return tuple(dict.fromkeys(named))

    def is_about(self, server: str, tool: str, *, side_effects: bool | None = None) -> bool:
        """Tell whether calls of a tool can meet it, as far as server, tool and side effects are tested.

        Args:
            server: The server's name.
            tool: The tool's name.
            side_effects: Whether the tool has any; None where that does not matter.
        """
        return (
            (self.server is None or server in self.server)
            and (self.tool is None or tool in self.tool)
            and (None in (self.side_effects, side_effects) or self.side_effects == side_effects)
        )
