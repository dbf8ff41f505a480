"""What rules are judged against: clauses, tools, lists, what people confirmed, declared facts."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.rules.look_ups import LookUpTool
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.facts import Fact
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import Approver, CompiledPolicy
from ironcurtain.system.structs import Struct, field


class RuleContext(Struct):
    """What rules are judged against, beside the rules themselves.

    Attributes:
        confirmations: What people confirmed.
        directories: Directories that the configuration names, by the name that clauses use.
        approvers: Whose approval rules can ask for, by name.
        caller: What rules may test of the caller, by key.
        published: The rules that the last compile published, which a model is shown where it is asked again.
        look_ups: The tools that records can be had from.
        facts: What is declared beside the rules.
    """

    clauses: tuple[PlacedClause, ...]
    annotations: Annotations
    lists: Lists
    case_insensitive_hosts: frozenset[str]
    confirmations: Confirmations = field(default_factory=Confirmations)
    directories: Mapping[str, str] = field(default_factory=dict)
    approvers: Mapping[str, Approver] = field(default_factory=dict)
    caller: Mapping[str, CallerFact] = field(default_factory=dict)
    published: CompiledPolicy | None = None
    look_ups: tuple[LookUpTool, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def registry(self) -> Registry:
        """The roles, those of the project included."""
        return Registry(self.annotations.roles)

    def clause(self, name: str) -> PlacedClause | None:
        """Return a clause by its id."""
        return next((placed for placed in self.clauses if placed.clause.id == name), None)
