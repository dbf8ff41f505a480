"""Rules that ask or deny, and that a call evades: by what it leaves away, or within the workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.engine.indexes import ClassIndex, ClassSets, VariableIndex, indexed
from ironcurtain.analysis.engine.opa_queries import Examined, OpaOutcome
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH, DiagramPath
from ironcurtain.analysis.engine.rules.predicates import Predicate, find
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.rules.wording import predicate_words
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.space.variables import Variable, VariableClass
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.unknown_facts import Root, values_by_root
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible


def sandbox_bypasses(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the rules that ask or deny, and that calls in the workspace get around."""
    for name, rule in inputs.context.rules:
        if rule.then is not Verdict.ALLOW:
            yield from _bypassed(inputs.context, name, inputs.context.concerned(rule.order))


def _bypassed(
    context: FindingContext, name: str, concerned: list[tuple[Examined, RuleOfTool]]
) -> Iterator[FindingDraft]:
    text = context.analysis.content.rules[name]
    witnesses = {
        examined.space.tool: witness
        for examined, rule in concerned
        if not rule.named_roles and not rule.condition.in_sandbox
        for witness in [_in_sandbox(context, examined, rule)]
        if witness is not None
    }
    if witnesses:
        yield context.of_rule(
            name,
            "sandbox-bypass",
            "warning",
            message=f"the rule {visible(name)} ({text.then}) does not hold for {listed(witnesses)} where all "
            "resources lie in the sandbox: such calls are allowed",
            suggestion="Add `in_sandbox: true` to the rule, or the roles that it is meant for.",
            witness=next(iter(witnesses.values())),
        )


def _in_sandbox(context: FindingContext, examined: Examined, rule: RuleOfTool) -> WitnessQuery | None:
    """Return an allowed call in the workspace that the rule would decide if it applied there."""
    asked = frozenset(predicate.key for predicate in rule.predicates)
    tries = (
        (None, cell, narrowed_path(examined, answered.path, asked, {}))
        for cell, key, answered in answers_of(examined)
        if key.discharged and answered.path.outcome[0] == FALLS_THROUGH
    )
    allowed = context.first_allowed_call(examined, tries)
    return allowed[1] if allowed is not None else None


_SHOWN = 3
_OTHERS: tuple[JsonValue, ...] = ("other", 7, True, ["other"])
"""A value of each type, to be tried where a test compares with another type."""


class _Evasion(Struct):
    """A way around a test.

    Attributes:
        how: What the tested value is then.
        variable: The variable, and
        class_: the class of it that the value is of.
        value: The value; None where it is absent.
    """

    how: str
    variable: VariableIndex
    class_: ClassIndex
    value: JsonValue


def evadable_rules(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the tests of rules that ask or deny, where a call that fails the test is allowed."""
    for name, rule in inputs.context.rules:
        if rule.then is not Verdict.ALLOW:
            concerned = inputs.context.concerned(rule.order)
            predicates = {
                predicate.key: predicate for _, of_tool in concerned for predicate in of_tool.predicates
            }
            for predicate in predicates.values():
                yield from _evaded(inputs.context, name, predicate, concerned)


def _evaded(
    context: FindingContext, name: str, predicate: Predicate, concerned: list[tuple[Examined, RuleOfTool]]
) -> Iterator[FindingDraft]:
    text = context.analysis.content.rules[name]
    evasions = {
        examined.space.tool: (*evasion, _is_flag(examined.space.annotation, predicate))
        for examined, rule in concerned
        if predicate in rule.predicates
        for evasion in [_evasion(context, examined, rule, predicate)]
        if evasion is not None
    }
    if not evasions:
        return
    how, winner, witness, _ = next(iter(evasions.values()))
    yield context.of_rule(
        name,
        "evadable-rule",
        "note" if all(flag for *_, flag in evasions.values()) else "warning",
        predicate.key,
        message=f"the rule {visible(name)} ({text.then}) asks whether {predicate_words(predicate)}; "
        f"where that is {how}, {winner} allows the call of {listed(evasions)}",
        suggestion="Say what the rule means then (`or_absent: true`), or allow only known values.",
        witness=witness,
    )


def _evasion(
    context: FindingContext, examined: Examined, rule: RuleOfTool, predicate: Predicate
) -> tuple[str, str, WitnessQuery] | None:
    """Return how a test can be evaded, what allows the call then, and such a call."""
    evasions = list(_evasions(examined, predicate))
    rest = frozenset(other.key for other in rule.predicates if other.key != predicate.key)
    tries = (
        (
            (way, outcome.rule),
            cell,
            narrowed_path(examined, path, rest, {way.variable: frozenset({way.class_})}),
        )
        for cell, outcome, path in (_allowed_after(examined, rule) if evasions else ())
        for way in evasions
    )
    allowed = context.first_allowed_call(examined, tries)
    if allowed is None:
        return None
    (evasion, winner), call = allowed
    return evasion.how, visible(winner), _with_value(call, predicate, evasion.value)


def _allowed_after(
    examined: Examined, rule: RuleOfTool
) -> Iterator[tuple[EquivalenceClass, OpaOutcome, DiagramPath]]:
    """Yield where resources that a rule decides in other calls are allowed, though not before it."""
    meant = {
        keys
        for keys, answers in examined.answers.items()
        if any(answered.path.outcome[0] == rule.order for answered in answers)
    }
    for cell, _, answered in answers_of(examined):
        outcome, order = answered.outcomes[0], answered.path.outcome[0]
        before = isinstance(order, int) and FALLS_THROUGH < order < rule.order
        if cell.keys in meant and not before and outcome is not None and outcome.verdict is Verdict.ALLOW:
            yield cell, outcome, answered.path


def _evasions(examined: Examined, predicate: Predicate) -> Iterator[_Evasion]:
    """Yield the ways around a test: a value that is absent, empty or of another type fails it."""
    test = predicate.condition
    variables = indexed(VariableIndex, examined.space.variables)
    index = next((i for i, v in variables if predicate.key in {a.key for a in v.predicates}), None)
    if index is None or test is None or test.op == "present":
        return
    variable = examined.space.variables[index]
    top = (predicate.root, predicate.path[0])
    for class_, values in indexed(ClassIndex, variable.classes):
        how = None if predicate.key in values.true else _absence(predicate, values)
        if how is not None:
            yield _Evasion(how, index, class_, None)
    if len(variable.places) > 1 or len(_plain(predicate.path)) > 1 or predicate.reference is not None:
        return
    for how, value in _odd_values(predicate):
        odd = _class_of(variable, top[0], top[1], value)
        if predicate.root == "facts":
            continue  # what a look-up, the store or the clock says is of its declared type
        fits = predicate.root == "caller" or examined.space.reader.placing.fits({top[1]: value})
        if odd is not None and fits and predicate.key not in variable.classes[odd].true:
            yield _Evasion(how, index, odd, value)


def _absence(predicate: Predicate, class_: VariableClass) -> str | None:
    """Return which side of a test is absent in a class, None if it has all that it compares."""
    values = values_by_root()
    for (root, name), value in class_.values:
        values[root][name] = value
    if find(values[predicate.root], _plain(predicate.path)) is None:
        return "absent"
    other = predicate.reference
    return "compared with what is absent" if other and find(values[other[0]], other[1]) is None else None


def _odd_values(predicate: Predicate) -> Iterator[tuple[str, JsonValue]]:
    test = predicate.condition
    if test is None:
        return
    if "*" in predicate.path or test.measure == "count":
        yield "empty", []
        return
    if test.measure == "length" or test.op == "matches":
        yield "empty", ""
    operand = test.value[0] if isinstance(test.value, list | tuple) and test.value else test.value
    wanted = "" if test.measure == "length" else operand
    yield from (("of another type", value) for value in _OTHERS if _type(value) != _type(wanted))


def _class_of(variable: Variable, root: Root, name: str, value: JsonValue) -> ClassIndex | None:
    given: dict[str, JsonValue] = {name: value}
    return variable.class_of(values_by_root() | {root: given})


def _with_value(witness: WitnessQuery, predicate: Predicate, value: JsonValue) -> WitnessQuery:
    """Put the very value that evades the test into a call; the policy cannot tell it from the other."""
    if value is None:
        return witness
    call, given = witness.call, {predicate.path[0]: value}
    if predicate.root == "caller":
        changed = {"caller": {**call.caller, **given}, "arguments": call.arguments}
    else:
        changed = {"caller": call.caller, "arguments": {**call.arguments, **given}}
    return WitnessQuery(
        witness.server,
        witness.tool,
        type(call)(role=call.role, value=call.value, facts=call.facts, **changed),
    )


def _plain(path: tuple[str, ...]) -> tuple[str, ...]:
    return path[: path.index("*")] if "*" in path else path


def _type(value: JsonValue) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", dict: "object"}
    return names.get(type(value), "array")


def _is_flag(tool: ToolAnnotation, predicate: Predicate) -> bool:
    """Tell whether a test asks if a boolean argument is set: leaving it out means that it is not."""
    if predicate.root != "args" or len(predicate.path) != 1 or predicate.condition is None:
        return False
    schema = tool.properties.get(predicate.path[0])
    asks = (predicate.condition.op, predicate.condition.value) in (("equals", True), ("not_equals", False))
    return asks and isinstance(schema, dict) and schema.get("type") == "boolean"


def narrowed_path(
    examined: Examined, path: DiagramPath, predicates: frozenset[str], wanted: ClassSets
) -> DiagramPath:
    """Return the part of a path on which some tests hold, and some variables have given classes."""
    demands = dict(path.classes)
    for index, variable in indexed(VariableIndex, examined.space.variables):
        tested = predicates & {predicate.key for predicate in variable.predicates}
        meeting = frozenset(i for i, values in indexed(ClassIndex, variable.classes) if tested <= values.true)
        meeting &= wanted.get(index, meeting)
        demands[index] = demands.get(index, meeting) & meeting
    return DiagramPath(tuple(demands.items()), path.guards, path.outcome)


def listed(tools: Mapping[str, object]) -> str:
    """Return the first tools of some, in words."""
    names = [visible(name) for name in sorted(tools)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
