"""Rules that allow without a limit what writes, sends or contacts other computers (`open-allow`).

A limit need not be a resource: `transfer` for at most 100, or of the caller's own account, is limited, too,
although the rule names no list of accounts.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, FactCondition, If
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import is_number
from ironcurtain.system.text import visible

_UPPER = frozenset({"lt", "le"})
_LOWER = frozenset({"gt", "ge"})
_SAME = frozenset({"equals", "in", "matches"})
_OF_RECORD = _SAME | _UPPER | _LOWER | {"contains", "younger_than", "older_than"}


def open_allows(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the rules that allow without a limit."""
    for name, rule in inputs.context.rules:
        if rule.then is Verdict.ALLOW:
            yield from _unlimited(inputs.context, name, inputs.context.concerned(rule.order))


def _unlimited(
    context: FindingContext, name: str, concerned: list[tuple[Examined, RuleOfTool]]
) -> Iterator[FindingDraft]:
    tools: dict[str, WitnessQuery | None] = {}
    for examined, rule in concerned:
        if rule.named_roles or is_limited(rule.condition):
            return
        reaching = _reaching(examined.space.annotation, context.analysis.policies.registry)
        for cell, _, answered in answers_of(examined):
            if cell.role in reaching and answered.path.outcome[0] == rule.order:
                witness = context.allowed_call(examined, cell, answered.path)
                if witness is not None or context.is_given_up(examined):
                    key = f"{examined.space.tool} ({cell.role})"
                    tools[key] = tools.get(key) or witness
    if tools:
        yield context.of_rule(
            name,
            "open-allow",
            "error",
            message=f"the rule {visible(name)} allows whatever it is about, without a limit: "
            f"{', '.join(visible(key) for key in sorted(tools))}",
            suggestion="Say where or to whom: add paths, domains, lists or roles to its conditions.",
            witness=next((witness for witness in tools.values() if witness is not None), None),
        )


def _reaching(tool: ToolAnnotation, registry: Registry) -> frozenset[str]:
    """Return the roles by which a tool writes, deletes, sends or contacts another computer."""
    return frozenset(
        role.name
        for role in registry.resources
        if role.writes or role.category == "url" or (role.category == "identifier" and tool.side_effects)
    )


# -- limits that are no resource: for whom, and how much ------------------------------------------


def is_limited(condition: If) -> bool:
    """Tell whether a condition holds for some callers, some amounts or some records only."""
    return (
        any(_is_value(test) for test in condition.caller or ())
        or any(_is_callers(test) or _is_bound(test) for test in condition.args or ())
        or any(_is_of_record(test) or _is_budget(test) for test in condition.facts or ())
    )


def _is_value(test: ArgCondition) -> bool:
    """Tell whether a fact must have a value; that there is one says little about who asks."""
    return test.op in _SAME | _UPPER | _LOWER and not test.or_absent


def _is_callers(test: ArgCondition) -> bool:
    """Tell whether an argument must be what is known of the caller, and not merely of the call."""
    named = isinstance(test.value, dict) and "caller" in test.value
    return named and test.op in _SAME | _UPPER and test.over == "every" and not test.or_absent


def _is_of_record(test: FactCondition) -> bool:
    """Tell whether a record must say something certain; the time and a label limit no amount."""
    return "/" in test.fact and test.op in _SAME | _UPPER | _LOWER | {
        "contains",
        "younger_than",
        "older_than",
    }


def _is_budget(test: FactCondition) -> bool:
    """Tell whether a counter has an upper bound."""
    return "/" not in test.fact and test.op in _UPPER


def _is_bound(test: ArgCondition) -> bool:
    """Tell whether an amount has a bound; a length is no amount, and "more than nothing" no bound."""
    if not is_number(test.value):
        return False
    bound = test.op in _UPPER or (test.op in _LOWER and test.value > 0)
    is_of_all = test.over == "every" and test.count is None
    return bound and test.measure is None and is_of_all and not test.or_absent
