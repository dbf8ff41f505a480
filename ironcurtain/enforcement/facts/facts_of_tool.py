"""What a policy's declared facts have to do with one tool, worked out once: other tools cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.facts.call_condition import CallCondition
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If
from ironcurtain.model.facts import CounterFact, Fact, LabelFact, SaidFact, lookups
from ironcurtain.model.records import RecordFact
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct, replace


class Counted(Struct):
    """A counter whose total concerns a tool.

    Attributes:
        declared: Digest of what it counts: with its name, which counter of a store it is.
        condition: Whether a call is counted; None where no call of the tool is.
        is_tested: Whether a rule about the tool tests it.
        is_booked: Whether a call that is counted is booked, too; a look-up is not.
    """

    name: str
    fact: CounterFact
    declared: str
    condition: CallCondition | None
    is_tested: bool
    is_booked: bool = True


class Labelled(Struct):
    """A label that a call of a tool may give its session.

    Attributes:
        condition: Whether a call gives it, or may, where it depends on the answer.
    """

    name: str
    fact: LabelFact
    condition: CallCondition


class FactsOfTool(Struct):
    """The declared facts that concern one tool.

    Attributes:
        declarations: All facts that rules about the tool test, and what these refer to.
        records: Those that are looked up, each after those that it refers to.
        counters: Those that are tested, or that a call of the tool may be counted by.
        labels: The labels that rules about the tool test.
        giving: The labels that a call of the tool may give.
        said: Those about the user's words that are tested.
    """

    declarations: Mapping[str, Fact]
    records: tuple[tuple[str, RecordFact], ...]
    counters: tuple[Counted, ...]
    labels: tuple[str, ...]
    giving: tuple[Labelled, ...]
    said: tuple[tuple[str, SaidFact], ...] = ()

    @cached_property
    def declared(self) -> Mapping[str, str]:
        """The digests of the declarations, by name."""
        return {name: declaration_digest(fact) for name, fact in self.declarations.items()}

    @property
    def for_look_up(self) -> FactsOfTool:
        """What concerns a look-up of the tool: it is decided without records, and books nothing.

        Its totals include it all the same, as those of every call do: evidence takes that for granted.
        """
        kept = {name: fact for name, fact in self.declarations.items() if not isinstance(fact, RecordFact)}
        counters = tuple(replace(each, is_booked=False) for each in self.counters if each.is_tested)
        return FactsOfTool(kept, (), counters, self.labels, (), self.said)


class ConcernedTools:
    """The declared facts of one policy, by the tools that they concern."""

    def __init__(self, content: PolicyContent) -> None:
        self._content = content
        self._known: dict[tuple[str, str], FactsOfTool | None] = {}

    def of(self, server: str, tool: ToolAnnotation | None) -> FactsOfTool | None:
        """Return what concerns a tool; None if nothing does."""
        if not self._content.facts or tool is None:
            return None
        place = (server, tool.tool)
        if place not in self._known:
            self._known[place] = self._found(server, tool)
        return self._known[place]

    def recorded_at(self, server: str, tool: ToolAnnotation | None) -> frozenset[str]:
        """Return the servers whose records calls of a tool are decided on."""
        found = self.of(server, tool)
        return frozenset(fact.server for _, fact in found.records) if found is not None else frozenset()

    def altered_at(self, server: str, tool: ToolAnnotation | None) -> frozenset[str]:
        """Return the servers whose records calls of a tool may change: its own, if it changes something."""
        is_asked = any(
            isinstance(fact, RecordFact) and fact.server == server for fact in self._content.facts.values()
        )
        return frozenset({server} if is_asked and tool is not None and tool.side_effects else ())

    def _found(self, server: str, tool: ToolAnnotation) -> FactsOfTool | None:
        facts = self._content.facts
        tested = dict.fromkeys(_with_references(self._tested(server, tool), facts))
        counters = tuple(_counters(facts, tested, server, tool))
        giving = tuple(
            Labelled(name, fact, condition)
            for name, fact in facts.items()
            if isinstance(fact, LabelFact) and (condition := CallCondition(fact.from_)).concerns(server, tool)
        )
        if not (tested or counters or giving):
            return None
        declarations = {name: facts[name] for name in tested}
        return FactsOfTool(
            declarations,
            tuple((name, fact) for name, fact in declarations.items() if isinstance(fact, RecordFact)),
            counters,
            tuple(name for name, fact in declarations.items() if isinstance(fact, LabelFact)),
            giving,
            tuple((name, fact) for name, fact in declarations.items() if isinstance(fact, SaidFact)),
        )

    def _tested(self, server: str, tool: ToolAnnotation) -> Iterator[str]:
        """Yield the facts that the rules about a tool test."""
        for rule in self._content.rules.values():
            if rule.if_ is not None and CallCondition(rule.if_).concerns(server, tool):
                yield from facts_in(rule.if_)


def declaration_digest(fact: Fact) -> str:
    """Return a digest of what a declaration means, its clause left out."""
    meaning = fact.model_dump(mode="json", by_alias=True, exclude={"clause"})
    return json_text.digest(meaning).partition(":")[2][:16]


def facts_in(condition: If) -> Iterator[str]:
    """Yield the names of the facts that a condition tests or compares with."""
    for test in condition.facts or ():
        yield test.fact.partition("/")[0]
    for operand in (each.value for kind in (condition.args, condition.facts) for each in kind or ()):
        if isinstance(operand, dict) and isinstance(named := operand.get("fact"), str):
            yield named.partition("/")[0]


def _with_references(names: Iterable[str], facts: Mapping[str, Fact]) -> Iterator[str]:
    """Yield facts, each after those that its look-up is asked with."""
    for name in names:
        yield from lookups(facts, name) or [name]


def _counters(
    facts: Mapping[str, Fact], tested: Iterable[str], server: str, tool: ToolAnnotation
) -> Iterator[Counted]:
    for name, fact in facts.items():
        if not isinstance(fact, CounterFact):
            continue
        condition = CallCondition(fact.of)
        concerns = condition.concerns(server, tool)
        if concerns or name in tested:
            yield Counted(
                name, fact, declaration_digest(fact), condition if concerns else None, name in tested
            )
