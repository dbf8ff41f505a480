"""The rules of a policy before rendering (`compiled-policy.json`), in the vocabulary of specification 3.1."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue, OneOrMany, ServerName, Slug

Operator: TypeAlias = Literal[
    "equals", "not_equals", "in", "not_in", "lt", "le", "gt", "ge", "matches", "present"
]


class PathsCondition(Frozen):
    """The subject lies in one of the directories; `or_none` concerns guards of allow rules only."""

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


class ArgCondition(Frozen):
    """A test of an argument (or caller fact) by name or JSON pointer; `*` stands for every element.

    Attributes:
        value: The operand; `{"caller": POINTER}` or `{"arg": POINTER}` refers to another value.
        over: With `*`: every element must satisfy the test, or some.
        or_absent: Whether a missing argument satisfies it.
        measure: Compare the number of elements (`count`) or characters (`length`) instead.
    """

    name: str = Field(min_length=1)
    op: Operator
    value: JsonValue
    over: Literal["every", "some"] = "every"
    or_absent: bool = False
    measure: Literal["count", "length"] | None = None

    @property
    def operands(self) -> list[JsonValue]:
        """The values of the operand: those listed with `in` and `not_in`, else the operand alone."""
        if self.op in ("in", "not_in") and isinstance(self.value, list):
            return self.value
        return [self.value]


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


class Rule(Frozen):
    """One compiled rule: when `if` holds for a subject, and no earlier rule did, `then` is its verdict."""

    name: Slug
    description: str = ""
    clause: str = Field(min_length=1)
    if_: If = Field(alias="if")
    then: Verdict
    reason: str = Field(min_length=1)


CLAUSE_ID = r"^[A-Za-z][A-Za-z0-9._-]{0,63}$"


class Clause(Frozen):
    """One sentence (or paragraph) of the constitution, by the id that it keeps.

    Attributes:
        source: `file:line` where it stands.
        principle: A guiding principle that no single rule implements.
    """

    id: str = Field(pattern=CLAUSE_ID)
    text: str
    source: str = ""
    principle: bool = False


class ClauseList(Frozen):
    """The clauses of a constitution in their order (`ironcurtain lint --clauses`)."""

    format: Literal["ironcurtain/clauses/v1"] = "ironcurtain/clauses/v1"
    clauses: tuple[Clause, ...]


ClaimKind: TypeAlias = Literal[
    "structural", "not-here", "merged", "clock", "state", "other-answer", "judgement", "other"
]
"""Why no rule implements a clause: it holds by itself, it concerns another server, another clause's rules
keep it, or what a rule would need."""


class Claim(Frozen):
    """What an answer says of a clause that none of its rules implements in full; evidence checks it.

    Attributes:
        server: The server whose rules the answer gave; None for a clause that concerns no server.
        tools: Tools whose calls are said to be asked about or denied because of the clause.
        into: The clauses whose rules are said to keep it, too.
        reason: Why, for a person.
    """

    clause: str
    server: ServerName | None = None
    kind: ClaimKind = "other"
    tools: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    reason: str


class CompiledPolicy(Frozen):
    """The file `compiled-policy.json`: rules in the order of their evaluation.

    Attributes:
        claims: What is said of clauses that no rule can keep, or not alone.
        former: Clauses of earlier compiles that are gone, as they were last: no other one gets their ids.
    """

    format: Literal["ironcurtain/policy/v1"]
    clauses: tuple[Clause, ...] = ()
    rules: tuple[Rule, ...]
    claims: tuple[Claim, ...] = ()
    former: tuple[Clause, ...] = ()

    @model_validator(mode="after")
    def _clauses_are_distinct(self) -> CompiledPolicy:
        ids = [clause.id for clause in (*self.clauses, *self.former)]
        if len(ids) != len(set(ids)):
            msg = "two clauses have the same id"
            raise ValueError(msg)
        return self
