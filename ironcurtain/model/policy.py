"""The rules of a policy before rendering (`compiled-policy.json`), in the vocabulary of specification 3.1."""

from __future__ import annotations

import operator
from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from ironcurtain.model.caller_facts import CallerFact, CallerFactName
from ironcurtain.model.conditions import If
from ironcurtain.model.facts import Fact, declaration_problems
from ironcurtain.model.records import FactName
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, ServerName, Slug, is_empty


class Rule(Frozen):
    """One compiled rule: when `if` holds for a resource, and no earlier rule did, `then` is its verdict.

    Attributes:
        approver: Whose approval an `escalate` needs, by a name of the policy's `approvers`; None where any
            person will do whom the deployment lets approve.
    """

    name: Slug
    description: str = ""
    clause: str = Field(min_length=1)
    if_: If = Field(alias="if")
    then: Verdict
    reason: str = Field(min_length=1)
    approver: Slug | None = Field(default=None, exclude_if=is_empty)


class Approver(Frozen):
    """Somebody whose approval rules can ask for; the deployment says which person that is.

    Attributes:
        meaning: Who that is, for people: `a supervisor of the support desk`.
        is_caller: Whether it is the principal for whom the agent acts. What is asked of this person is not
            enforced against them.
        once: Whether each approval of theirs is for one call only.
    """

    meaning: str = Field(min_length=1)
    is_caller: bool = False
    once: bool = Field(default=False, exclude_if=operator.not_)


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


UNENFORCEABLE: frozenset[ClaimKind] = frozenset({"clock", "state", "other-answer", "judgement", "other"})
"""The kinds of claims about what no rule can test, so that a person who approves a call must check it."""


class Claim(Frozen):
    """What an answer says of a clause that none of its rules implements in full; evidence checks it.

    Attributes:
        server: The server whose rules the answer gave; None for a clause that concerns no server.
        tools: The tools whose calls the clause concerns; unless it is structural, they are asked about or
            denied. Empty where it may concern every call of the server.
        into: The clauses whose rules are said to keep it, too.
        reason: Why, for a person.
    """

    clause: str
    server: ServerName | None = None
    kind: ClaimKind = "other"
    tools: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    reason: str

    @property
    def asked(self) -> tuple[str, ...]:
        """The named tools whose calls are said to be asked about or denied."""
        return () if self.kind == "structural" else self.tools


class CompiledPolicy(Frozen):
    """The file `compiled-policy.json`: rules in the order of their evaluation.

    Attributes:
        facts: What rules test beside arguments, by name.
        caller: What rules test of the caller, by the key of the caller facts.
        claims: What is said of clauses that no rule can keep, or not alone.
        approvers: Whose approval rules can ask for, by name.
        former: Clauses of earlier compiles that are gone, as they were last: no other one gets their ids.
    """

    format: Literal["ironcurtain/policy/v1"]
    clauses: tuple[Clause, ...] = ()
    facts: dict[FactName, Fact] = Field(default_factory=dict)
    rules: tuple[Rule, ...]
    claims: tuple[Claim, ...] = ()
    caller: dict[CallerFactName, CallerFact] = Field(default_factory=dict, exclude_if=is_empty)
    approvers: dict[Slug, Approver] = Field(default_factory=dict, exclude_if=is_empty)
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
