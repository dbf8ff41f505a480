"""What enforcement reads from a bundle: annotations, patterns, lists, clauses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ironcurtain.bundle.archive import Bundle, DataName
from ironcurtain.errors import BundleIntegrityError
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.caller_facts import CallerFact, CallerFactName
from ironcurtain.model.conditions import If
from ironcurtain.model.facts import Fact
from ironcurtain.model.policy import Approver, Claim
from ironcurtain.model.records import FactName
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import visible

T = TypeVar("T")


class _Patterns(Frozen):
    named: dict[str, tuple[str, ...]]
    case_insensitive_hosts: tuple[str, ...]
    suffixes: str
    relations: dict[str, str]


class _Values(Frozen):
    type: str
    values: tuple[str, ...]


_LISTS: TypeAdapter[dict[str, _Values]] = TypeAdapter(
    dict[str, _Values], config=ConfigDict(strict=True, defer_build=True)
)


class RuleText(Frozen):
    """What people are told about a rule; `order` is its 1-based position in the policy.

    Attributes:
        approver: Whose approval it asks for, by a name of the policy's approvers; None for anybody's.
        if_: Its conditions, for reports and for what must be known of a call; None in bundles of before.
    """

    order: int
    clause: str
    then: Verdict
    reason: str
    description: str
    approver: str | None = None
    if_: If | None = Field(default=None, alias="if")


class _ClauseText(Frozen):
    text: str
    source: str
    principle: bool = False


class _Rules(Frozen):
    rules: dict[str, RuleText]
    clauses: dict[str, _ClauseText]
    claims: tuple[Claim, ...] = ()
    approvers: dict[str, Approver] = Field(default_factory=dict)
    facts: dict[FactName, Fact] = Field(default_factory=dict)
    caller: dict[CallerFactName, CallerFact] = Field(default_factory=dict)


class PolicyContent(Struct):
    """The data of a bundle, validated.

    Attributes:
        patterns: The patterns that the bundle names, by kind.
        lists: Per list its kind of patterns and its members.
        case_insensitive_hosts: Hosts on which path segments compare case-folded.
        relations: How the policy's directories lie to one another, as verified.
        rules: The rules by name.
        clauses: The clauses' own words by id.
        sources: Where the clauses stand, `FILE:LINE`, by id.
        principles: Ids of the clauses that no rule needs to implement.
        claims: What is said of clauses that no rule keeps. No verdict depends on it; whoever approves a call
            is told of those that they must check.
        approvers: Whose approval the rules can ask for, by name.
        facts: What rules test beside arguments, by name.
        caller: What is declared about the caller, by key. Verdicts depend on the roles in it only; bundles of
            before say nothing of it.
    """

    revision: str
    annotations: Annotations
    patterns: Mapping[str, tuple[str, ...]]
    lists: Mapping[str, tuple[str, tuple[str, ...]]]
    case_insensitive_hosts: frozenset[str]
    relations: Mapping[str, str]
    rules: Mapping[str, RuleText]
    clauses: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)
    principles: frozenset[str] = frozenset()
    claims: tuple[Claim, ...] = ()
    approvers: Mapping[str, Approver] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    caller: Mapping[str, CallerFact] = field(default_factory=dict)

    @cached_property
    def tools(self) -> Mapping[tuple[str, str], ToolAnnotation]:
        """The tools that can be called, by server and name; enforcement denies a call of any other."""
        return self.annotations.tools()

    @classmethod
    def of(cls, bundle: Bundle) -> PolicyContent:
        """Read the data documents of a bundle.

        Raises:
            BundleIntegrityError: If one of them is missing or not of its shape, or a rule names a list
                that is not there: such a rule could never speak, and a looser one would.
        """
        return bundle.once(cls._of)

    @classmethod
    def _of(cls, bundle: Bundle) -> PolicyContent:
        patterns = _read(bundle, "patterns", _Patterns.model_validate_json)
        rules = _read(bundle, "rules", _Rules.model_validate_json)
        lists = _read(bundle, "lists", _LISTS.validate_json)
        _require_lists(rules.rules, lists)
        return cls(
            revision=bundle.revision,
            annotations=_read(bundle, "annotations", Annotations.model_validate_json),
            patterns=patterns.named,
            lists={name: (_kind(found.type), found.values) for name, found in lists.items()},
            case_insensitive_hosts=frozenset(patterns.case_insensitive_hosts),
            relations=patterns.relations,
            rules=rules.rules,
            clauses={id_: clause.text for id_, clause in rules.clauses.items()},
            sources={id_: clause.source for id_, clause in rules.clauses.items()},
            principles=frozenset(id_ for id_, clause in rules.clauses.items() if clause.principle),
            claims=rules.claims,
            approvers=rules.approvers,
            facts=rules.facts,
            caller=rules.caller,
        )


def clause_sources(bundle: Bundle) -> Mapping[str, str]:
    """Return where each clause of a bundle stands, `FILE:LINE`, by its id.

    Raises:
        BundleIntegrityError: If the bundle's rules are missing or not of their shape.
    """
    return {
        id_: clause.source
        for id_, clause in _read(bundle, "rules", _Rules.model_validate_json).clauses.items()
    }


def _require_lists(rules: Mapping[str, RuleText], lists: Collection[str]) -> None:
    for name, rule in rules.items():
        for condition in rule.if_.role_conditions if rule.if_ is not None else ():
            missing = [p for p in condition.patterns if p.startswith("@") and p[1:] not in lists]
            if missing:
                raise BundleIntegrityError(
                    f"the rule {visible(name)} names the list {visible(missing[0])}, which the bundle lacks",
                    where="ironcurtain/lists/data.json",
                )


def _kind(list_type: str) -> str:
    """Return the kind of patterns that a list of this type holds: domains are patterns of URLs."""
    return "url" if list_type == "domain" else list_type


def _read(bundle: Bundle, name: DataName, read: Callable[[bytes], T]) -> T:
    try:
        return read(json_text.canonical(bundle.data(name)))
    except ValidationError as error:
        problem = error.errors()[0]
        place = "/".join(str(step) for step in problem["loc"])
        raise BundleIntegrityError(
            f"the bundle's {name} are not of their shape: {visible(place)}: {visible(problem['msg'])}",
            where=f"ironcurtain/{name}/data.json",
        ) from None
