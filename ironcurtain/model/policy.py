"""The rules of a policy before rendering (`compiled-policy.json`), in the vocabulary of specification 3.1."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.model.conditions import If
from ironcurtain.model.facts import Fact, FactName, declaration_problems
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName, Slug


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
        facts: What rules test beside arguments, by name.
        claims: What is said of clauses that no rule can keep, or not alone.
        former: Clauses of earlier compiles that are gone, as they were last: no other one gets their ids.
    """

    format: Literal["ironcurtain/policy/v1"]
    clauses: tuple[Clause, ...] = ()
    facts: dict[FactName, Fact] = Field(default_factory=dict)
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

    @model_validator(mode="after")
    def _facts_refer_to_facts(self) -> CompiledPolicy:
        problems = list(declaration_problems(self.facts))
        if problems:
            raise ValueError("\n".join(problems))
        return self
