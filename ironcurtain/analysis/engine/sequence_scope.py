"""Reading guarantees about sequences: which calls are sent, which labels they give, which must not follow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ironcurtain.analysis.engine.guarantee_scope import ReadGuarantee, having_roles, read_guarantees, tests_of
from ironcurtain.analysis.engine.rules.predicates import rule_predicate
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.patterns import canonical_pattern
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import GuaranteeError, PatternError
from ironcurtain.model.conditions import FactCondition, If
from ironcurtain.model.facts import CounterFact, LabelFact
from ironcurtain.model.guarantees import AtMost, Guarantee, Guarantees, GuaranteeScope, SequenceGuarantee
from ironcurtain.model.records import near
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted


class CallKind(Struct):
    """Calls of one kind: those that a counter counts, that give a label, or that a guarantee speaks of.

    Attributes:
        read: The condition, as that of a guarantee.
        awaited: Whether a call of the kind gives a label only if its answer says so.
        gaps: Why a call may be of the kind although the condition does not say so.
    """

    name: str
    read: ReadGuarantee
    awaited: bool = False
    gaps: frozenset[str] = frozenset()

    @property
    def has_resources(self) -> bool:
        """Whether it speaks of a resource of the call."""
        when = self.read.guarantee.when
        return when.roles is not None or self.read.within is not None or self.read.outside is not None


class ReadSequence(Struct):
    """A guarantee about sequences with its names looked up.

    Attributes:
        allow: The calls that must not be allowed, or
            of `at_most` those that are counted, with a total above the number.
        after: The calls after which that holds; None of `at_most`.
        labels: The kinds of calls that give labels; none of `at_most`.
        counter: The counter of `at_most`.
        gaps: Why nothing can be proved or broken whatever the calls are.
    """

    guarantee: SequenceGuarantee
    allow: CallKind
    after: CallKind | None = None
    labels: tuple[CallKind, ...] = ()
    counter: CounterFact | None = None
    gaps: frozenset[str] = frozenset()

    @property
    def kinds(self) -> tuple[CallKind, ...]:
        """All kinds of calls that it tells apart."""
        return (self.allow, *((self.after,) if self.after is not None else ()), *self.labels)


def read_sequences(
    guarantees: Guarantees, content: PolicyContent, registry: Registry, world: DescribedWorld
) -> list[ReadSequence]:
    """Look up everything that guarantees about sequences name.

    Raises:
        GuaranteeError: For each one that names what does not exist, or contradicts itself.
    """
    return [
        _after(each, content, registry, world)
        if each.never is not None
        else _total(each, each.at_most, content, registry)
        for each in guarantees.sequences
        if each.never is not None or each.at_most is not None
    ]


def _after(
    guarantee: SequenceGuarantee, content: PolicyContent, registry: Registry, world: DescribedWorld
) -> ReadSequence:
    scopes = (
        {} if guarantee.never is None else {"after": guarantee.never.after, "allow": guarantee.never.allow}
    )
    plain = Guarantees(
        format="ironcurtain/guarantees/v1",
        guarantees=tuple(
            Guarantee(id=f"{guarantee.id}.{name}", clause=guarantee.clause, never=Verdict.ALLOW, when=scope)
            for name, scope in scopes.items()
        ),
    )
    after, allow = read_guarantees(plain, content, registry, world)
    labels = tuple(
        kind
        for name, fact in content.facts.items()
        if isinstance(fact, LabelFact)
        for kind in [_kind(name, fact.from_, content, registry)]
        if kind.read.tools
    )
    labels = tuple(replace(each, awaited=_is_awaited(each.name, content)) for each in labels)
    return ReadSequence(guarantee, CallKind("allow", allow), CallKind("after", after), labels)


def _is_awaited(name: str, content: PolicyContent) -> bool:
    fact = content.facts[name]
    return isinstance(fact, LabelFact) and fact.from_result is not None


def _total(
    guarantee: SequenceGuarantee, demand: AtMost | None, content: PolicyContent, registry: Registry
) -> ReadSequence:
    if demand is None:  # a guarantee is about an order of calls or about a total
        raise GuaranteeError(f"guarantee {guarantee.id} demands nothing")
    counter = content.facts.get(demand.total)
    if not isinstance(counter, CounterFact):
        known = {name: fact for name, fact in content.facts.items() if isinstance(fact, CounterFact)}
        what = f"no counter {quoted(demand.total)} is declared{near(demand.total, known)}"
        raise GuaranteeError(f"guarantee {guarantee.id}: {what}")
    kind = _kind("counted", counter.of, content, registry)
    above = FactCondition(fact=demand.total, op="gt", value=demand.is_)
    predicates = (*kind.read.predicates, rule_predicate("facts", above.test, Verdict.ALLOW))
    counted = replace(kind, read=replace(kind.read, predicates=predicates))
    gaps = set(kind.gaps)
    if counter.window != demand.per:
        gaps.add(f"the policy counts {demand.total} per {counter.window}, not per {demand.per}")
    return ReadSequence(guarantee, counted, counter=counter, gaps=frozenset(gaps))


def _kind(name: str, condition: If, content: PolicyContent, registry: Registry) -> CallKind:
    """Return the calls that match a condition of a counter or label."""
    gaps: set[str] = set()
    roles, within = condition.roles, None
    tested = condition.role_conditions
    if tested and roles is None:
        roles, within = tested[0].roles, _patterns(tested[0].patterns, tested[0].roles, content, registry)
    if (tested and within is None) or len(tested) > 1 or (tested and condition.roles is not None):
        within = None
        gaps.add(f"{name} is about several resources at once, or about what has no pattern")
    if roles is not None and any(registry[role].pattern_kind == "url" for role in roles):
        gaps.add(f"{name} is about addresses, of which one that is not known counts, too")
    tools = tuple(
        (server, name)
        for (server, name), tool in content.tools.items()
        if condition.is_about(server, name, side_effects=tool.side_effects)
    )
    if roles is not None:
        tools = having_roles(tools, roles, content.annotations)
    scope = GuaranteeScope(roles=roles, args=condition.args or (), caller=condition.caller or ())
    guarantee = Guarantee(id=name, never=Verdict.ALLOW, when=scope)
    kind = registry[roles[0]].pattern_kind if roles else "path"
    read = ReadGuarantee(guarantee, tools, kind, within, None, tests_of(scope, Verdict.DENY))
    return CallKind(name, read, gaps=frozenset(gaps))


def _patterns(
    texts: tuple[str, ...], roles: tuple[str, ...], content: PolicyContent, registry: Registry
) -> frozenset[str] | None:
    """Return the patterns of a condition, lists as their members; None where one cannot be written so."""
    kind = registry[roles[0]].pattern_kind
    try:
        return frozenset(
            canonical_pattern(kind, text, registry, case_insensitive_hosts=content.case_insensitive_hosts)
            for text in chain.from_iterable(_members(text, content) for text in texts)
        )
    except PatternError:
        return None


def _members(text: str, content: PolicyContent) -> Iterator[str]:
    if text.startswith("@"):
        yield from content.lists[text.removeprefix("@")][1]
    else:
        yield text
