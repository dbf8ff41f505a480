"""Rules that never decide: no call meets them (`dead-rule`), or earlier rules always do (`shadowed-rule`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH, DiagramPath, paths
from ironcurtain.analysis.engine.rules.predicates import Predicate
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.rules.wording import predicate_words
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, WitnessQuery
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.bundle.content import RuleText
from ironcurtain.model.policy import UNENFORCEABLE
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import replace
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


def dead_rules(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield rules that never decide, but those that name what no tool has, which explains enough."""
    context = inputs.context
    idle = {name: name in account.unproved for account in inputs.outcomes for name in account.idle}
    misnamed = {unknown.order for unknown in inputs.unknown_names}
    for name, rule in context.rules:
        if rule.order in misnamed:
            continue
        if rule.order not in context.deciding:
            found = _never_first(context, name, rule)
            if found is not None:
                yield replace(found, rule=name)
        elif context.is_in_doubt(rule.order):
            yield _not_found(context, name)
        elif idle.get(name) is False:
            yield context.of_rule(
                name,
                "dead-rule",
                "warning",
                message=f"the rule {visible(name)} ({rule.then}) never gives a verdict: every call that it "
                "speaks of holds something else that is decided more severely",
                suggestion="Correct what overrules it, or delete it.",
                universal=True,
            )


def _not_found(context: FindingContext, name: str) -> FindingDraft:
    """Return the draft about a rule that decides no known call, where it is not proved that there is none."""
    draft = context.of_rule(
        name,
        "dead-rule",
        "note",
        message=f"no call was found that the rule {visible(name)} decides; that there is none is not proved",
        suggestion="Write a scenario that it decides, correct its conditions, or delete it.",
        universal=True,
    )
    return replace(draft, sampled=True, rule=name)


def _never_first(context: FindingContext, name: str, rule: RuleText) -> FindingDraft | None:
    """Return the draft about a rule that never decides; None where nothing is wrong with that."""
    if context.sampled(rule.order):
        return _not_found(context, name)
    shadow = _Shadow()
    for examined, of_tool in context.concerned(rule.order):
        _search_shadow(examined, of_tool, shadow)
    if not shadow.by:
        return context.of_rule(
            name,
            "dead-rule",
            "warning",
            message=f"the rule {visible(name)} never decides: {_why_dead(context, rule)}",
            suggestion="Correct its conditions, or delete it.",
            universal=True,
        )
    if _asked_anyway(context, rule, shadow.by):
        return None
    by = [(other, text) for other, text in context.rules if text.order in shadow.by]
    shown = ", ".join(visible(other) for other, _ in by[:_SHOWN]) + (
        " and others" if len(by) > _SHOWN else ""
    )
    looser = any(text.then.severity < rule.then.severity for _, text in by)
    return context.of_rule(
        name,
        "shadowed-rule",
        "error" if looser else "note" if rule.clause in context.claimed else "warning",
        message=f"the rule {visible(name)} ({rule.then}) never decides, because every call that it speaks "
        f"of is decided before it by {shown} ({', '.join(sorted({str(text.then) for _, text in by}))})",
        suggestion=f"Put it before {visible(by[0][0])}, narrow that rule, or delete this one.",
        witness=_witness(context, shadow),
        universal=True,
    )


def _asked_anyway(context: FindingContext, rule: RuleText, by: set[int]) -> bool:
    """Tell whether a rule asks about what no rule can test, and others ask or deny wherever it would.

    Whoever is asked because of them is told to check its clause: nothing is lost.
    """
    untestable = {claim.clause for claim in context.analysis.content.claims if claim.kind in UNENFORCEABLE}
    return (
        rule.then is Verdict.ESCALATE
        and rule.clause in untestable
        and all(text.then is not Verdict.ALLOW for _, text in context.rules if text.order in by)
    )


def _search_shadow(examined: Examined, rule: RuleOfTool, shadow: _Shadow) -> None:
    for cell in examined.space.cells.values():
        diagram = examined.space.diagrams.with_rule_alone(cell, rule)
        for path in paths(diagram) if diagram is not None else ():
            first, alone = path.outcome
            if alone == FALLS_THROUGH or not isinstance(first, int) or not is_possible(examined, cell, path):
                continue
            shadow.by.add(first)
            shadow.place = shadow.place or (examined, cell, path)


def is_possible(examined: Examined, cell: EquivalenceClass, path: DiagramPath) -> bool:
    """Tell whether some call may take a path that no question was asked about; false is a proof."""
    return next(examined.calls.modes(cell, path), None) is not None and examined.calls.is_taken(cell, path)


def _witness(context: FindingContext, shadow: _Shadow) -> WitnessQuery | None:
    if shadow.place is None:
        return None
    examined, cell, path = shadow.place
    return context.find_call(
        examined, cell, lambda resource, call: resource == call, path
    ) or context.find_call(examined, cell, lambda *_: True, path)


def _why_dead(context: FindingContext, rule: RuleText) -> str:
    concerned = context.concerned(rule.order)
    if not concerned:
        return "it concerns no tool"
    never = [
        predicate
        for predicate in {
            predicate.key: predicate for _, of_tool in concerned for predicate in of_tool.predicates
        }.values()
        if not any(
            _holding(examined, predicate)
            for examined, of_tool in concerned
            if predicate in of_tool.predicates
        )
    ]
    if never:
        return f"no call can meet its test {predicate_words(never[0])}"
    for examined, of_tool in concerned:
        for cell in examined.space.cells.values():
            key = cell.keys[0]
            if key is None or not key.discharged:
                continue
            if of_tool.guards_for(key.role, key.patterns, discharged=False) is not None:
                return "all that it speaks of lies in the sandbox, and it does not say `in_sandbox`"
    return "no call holds what all its conditions ask for"


def _holding(examined: Examined, predicate: Predicate) -> bool:
    return any(predicate.key in class_.true for v in examined.space.variables for class_ in v.classes)
