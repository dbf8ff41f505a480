"""Rules that never decide, and tests that test nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH, DiagramPath, paths
from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.rules.wording import atom_words
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.draft import FindingContext, FindingDraft, WitnessQuery
from ironcurtain.bundle.content import RuleText
from ironcurtain.decision.canonical.patterns import contains
from ironcurtain.decision.roles import Registry
from ironcurtain.model.policy import RoleCondition
from ironcurtain.system.text import visible

_SHOWN = 3


@dataclass
class _Shadow:
    """What decides where a rule would.

    Attributes:
        by: Orders of the rules that decide first.
        place: Where that happens: tool, cell, path.
    """

    by: set[int] = field(default_factory=set)
    place: tuple[Examined, EquivalenceClass, DiagramPath] | None = None


def rule_drafts(looked: FindingContext, unknown: frozenset[int]) -> Iterator[FindingDraft]:
    """Yield rules that never decide and tests that always hold.

    Args:
        looked: The policy.
        unknown: Orders of rules that name what no tool has, which explains enough.
    """
    for name, rule in looked.rules:
        if rule.order in unknown:
            yield from _vacuous(looked, name, rule)
            continue
        if rule.order not in looked.deciding:
            yield replace(_never_first(looked, name, rule), rule=name)
        elif looked.is_in_doubt(rule.order):
            yield _not_found(looked, name)
        yield from _vacuous(looked, name, rule)


def _not_found(looked: FindingContext, name: str) -> FindingDraft:
    """Return what is to be said of a rule of which no call was found that it decides, and nothing proved."""
    draft = looked.of_rule(
        name,
        "dead-rule",
        "note",
        message=f"no call was found that the rule {visible(name)} decides; that there is none is not proved",
        suggestion="Write a scenario that it decides, correct its conditions, or delete it.",
        universal=True,
    )
    return replace(draft, sampled=True, rule=name)


def _never_first(looked: FindingContext, name: str, rule: RuleText) -> FindingDraft:
    if looked.sampled(rule.order):
        return _not_found(looked, name)
    shadow = _Shadow()
    for one, own in looked.concerned(rule.order):
        _search_shadow(one, own, shadow)
    if not shadow.by:
        return looked.of_rule(
            name,
            "dead-rule",
            "warning",
            message=f"the rule {visible(name)} never decides: {_why_dead(looked, rule)}",
            suggestion="Correct its conditions, or delete it.",
            universal=True,
        )
    by = [(other, text) for other, text in looked.rules if text.order in shadow.by]
    shown = ", ".join(visible(other) for other, _ in by[:_SHOWN]) + (
        " and others" if len(by) > _SHOWN else ""
    )
    looser = any(text.then.severity < rule.then.severity for _, text in by)
    return looked.of_rule(
        name,
        "shadowed-rule",
        "error" if looser else "note" if rule.clause in looked.claimed else "warning",
        message=f"the rule {visible(name)} ({rule.then}) never decides, because every call that it speaks "
        f"of is decided before it by {shown} ({', '.join(sorted({str(text.then) for _, text in by}))})",
        suggestion=f"Put it before {visible(by[0][0])}, narrow that rule, or delete this one.",
        witness=_witness(looked, shadow),
        universal=True,
    )


def _search_shadow(one: Examined, rule: RuleOfTool, shadow: _Shadow) -> None:
    for cell in one.space.cells.values():
        diagram = one.space.beside(cell, rule)
        for path in paths(diagram) if diagram is not None else ():
            first, alone = path.outcome
            if alone == FALLS_THROUGH or not isinstance(first, int) or not is_possible(one, cell, path):
                continue
            shadow.by.add(first)
            shadow.place = shadow.place or (one, cell, path)


def is_possible(one: Examined, cell: EquivalenceClass, path: DiagramPath) -> bool:
    """Tell whether some call may take a path that no question was asked about; false is a proof."""
    return next(one.calls.modes(cell, path), None) is not None and one.calls.is_taken(cell, path)


def _witness(looked: FindingContext, shadow: _Shadow) -> WitnessQuery | None:
    if shadow.place is None:
        return None
    one, cell, path = shadow.place
    return looked.sought(one, cell, lambda subject, call: subject == call, path) or looked.sought(
        one, cell, lambda *_: True, path
    )


def _why_dead(looked: FindingContext, rule: RuleText) -> str:
    concerned = looked.concerned(rule.order)
    if not concerned:
        return "it concerns no tool"
    never = [
        atom
        for atom in {atom.key: atom for _, own in concerned for atom in own.atoms}.values()
        if not any(_holding(one, atom) for one, own in concerned if atom in own.atoms)
    ]
    if never:
        return f"no call can meet its test {atom_words(never[0])}"
    for one, own in concerned:
        for cell in one.space.cells.values():
            key = cell.keys[0]
            if key is None or not key.discharged:
                continue
            if own.guards_for(key.role, key.patterns, discharged=False) is not None:
                return "all that it speaks of lies in the sandbox, and it does not say `in_sandbox`"
    return "no call holds what all its conditions ask for"


def _holding(one: Examined, atom: Predicate) -> bool:
    return any(atom.key in each.true for v in one.space.variables for each in v.classes)


# -- tests that test nothing ----------------------------------------------------------------------


def _vacuous(looked: FindingContext, name: str, rule: RuleText) -> Iterator[FindingDraft]:
    concerned = looked.concerned(rule.order)
    registry = looked.examined.sides.registry
    texts = [
        f"its test {atom_words(atom)} holds for every call"
        for atom in {atom.key: atom for _, own in concerned for atom in own.atoms}.values()
        if not looked.sampled(rule.order) and all(_always(one, atom) for one, own in concerned)
    ]
    for condition in rule.if_.role_conditions if rule.if_ is not None else ():
        texts += _redundant(condition, registry)
    for text in texts:
        yield looked.of_rule(
            name,
            "vacuous-condition",
            "warning",
            text,
            message=f"a condition of the rule {visible(name)} says nothing: {text}",
            suggestion="Delete the condition, or correct it if it was meant to say something.",
            universal=True,
        )


def _always(one: Examined, atom: Predicate) -> bool:
    own = next((v for v in one.space.variables if atom.key in {a.key for a in v.atoms}), None)
    return own is not None and all(atom.key in each.true for each in own.classes)


def _redundant(condition: RoleCondition, registry: Registry) -> Iterator[str]:
    """Yield the patterns of a condition that lie within another one of it."""
    plain = [pattern for pattern in condition.patterns if not pattern.startswith("@")]
    kinds = {registry[role].pattern_kind for role in condition.roles}
    for inner in plain:
        outer = next(
            (o for o in plain if o != inner and all(contains(kind, o, inner, registry) for kind in kinds)),
            None,
        )
        if outer is not None:
            yield f"the pattern {visible(inner)} lies within {visible(outer)}, which it names, too"
