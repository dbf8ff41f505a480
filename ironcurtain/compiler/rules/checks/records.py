"""The records that rules test: they can be looked up, with what stands in the calls that need them.

A record that cannot be had refuses the call, whatever rules say. A policy in which every call of a tool would
fare so is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.compiler.annotate.schema_leaves import schema_leaves
from ironcurtain.compiler.rules.checks.arguments import is_known
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.errors import RuleError
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.conditions import If
from ironcurtain.model.facts import lookups
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.model.records import RecordFact, is_reference
from ironcurtain.model.unknown_facts import reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_Steps = tuple[str, ...]


def record_problems(policy: CompiledPolicy, annotations: Annotations) -> Iterator[RuleError]:
    """Yield why calls that need a record could never have it."""
    needed = {rule.name: _records(rule.if_, policy) for rule in policy.rules}
    yield from _refused_look_ups(policy, annotations, needed)
    told: set[tuple[str, str, str]] = set()
    for rule in policy.rules:
        for name, fact in needed[rule.name].items():
            for tool in _concerned(rule.if_, annotations):
                if is_reserved(tool):  # requests beside tool calls need no record
                    continue
                for problem in _operand_problems(fact, tool, annotations):
                    if (name, tool.tool, problem) not in told:
                        told.add((name, tool.tool, problem))
                        what, _, hint = problem.partition("\n")
                        yield RuleError(f"fact {quoted(name)}: {what}", hint=hint)


def fact_names(condition: If) -> Iterator[str]:
    """Yield the facts that a condition's tests name, those that they are compared with included."""
    for test in condition.facts or ():
        yield test.fact
        referred = reference(test.value)
        if referred is not None and referred[0] == "facts":
            yield referred[1]


def _records(condition: If, policy: CompiledPolicy) -> dict[str, RecordFact]:
    """Return the records that a call needs which a condition is about, by name."""
    names = (record for name in fact_names(condition) for record in lookups(policy.facts, name))
    return {name: fact for name in names if isinstance(fact := policy.facts[name], RecordFact)}


def _concerned(condition: If, annotations: Annotations) -> Iterator[ToolAnnotation]:
    for server, annotated in annotations.servers.items():
        for tool in annotated.tools:
            if condition.is_about(server, tool.tool, side_effects=tool.side_effects):
                yield tool


# -- look-ups ------------------------------------------------------------------------------------


def _refused_look_ups(
    policy: CompiledPolicy, annotations: Annotations, needed: Mapping[str, Mapping[str, RecordFact]]
) -> Iterator[RuleError]:
    """Yield the rules because of which a look-up is not allowed: it is decided without records."""
    used = {name: fact for facts in needed.values() for name, fact in facts.items()}
    for name, fact in used.items():
        tool = annotations.find(fact.server, fact.tool)
        if tool is None:
            continue
        asked = visible(fact.tool)
        rule = _refusing(policy, fact, tool, needed)
        if rule is not None:
            record = next(iter(needed[rule.name]))
            yield RuleError(
                f"rule {quoted(rule.name)}: it decides calls of {asked} by the record {quoted(record)}, and "
                f"{asked} is what {quoted(name)} is read with: a look-up is decided without records, so it "
                f"is refused, and with it every call that needs {quoted(name)}",
                hint=f"Let {asked} be decided by `args` and `caller` alone, in a rule of its own, and name "
                "in `tool` of this one the tools that do something with the record.",
            )


def _refusing(
    policy: CompiledPolicy,
    fact: RecordFact,
    tool: ToolAnnotation,
    needed: Mapping[str, Mapping[str, RecordFact]],
) -> Rule | None:
    """Return the rule because of which no look-up with a tool is allowed; None if one may be."""
    waiting: Rule | None = None
    for rule in policy.rules:
        if not rule.if_.is_about(fact.server, tool.tool, side_effects=tool.side_effects):
            continue
        if not needed[rule.name]:
            if rule.then is Verdict.ALLOW:
                return None
        elif rule.then is Verdict.ALLOW:
            # It does not hold while the record is not known; a later rule may allow the look-up.
            waiting = waiting or rule
        elif _is_met_by_every_call(rule.if_, tool):
            return rule
    return waiting


def _is_met_by_every_call(condition: If, tool: ToolAnnotation) -> bool:
    """Tell whether a condition that asks or denies holds for each call of a tool whose records are not known.

    Tests of facts do then; where it tests anything else, some call may be left.
    """
    others = (condition.args, condition.caller, condition.paths, condition.domains, condition.lists)
    carried = {role for argument in tool.args if argument.required for role in argument.roles or ()}
    is_of_roles = condition.roles is None or not carried.isdisjoint(condition.roles)
    return is_of_roles and all(other is None for other in others)


# -- what a record is asked with -----------------------------------------------------------------


def _operand_problems(fact: RecordFact, tool: ToolAnnotation, annotations: Annotations) -> Iterator[str]:
    """Yield what is wrong with what a record is asked and compared with, in calls of a tool."""
    if fact.each is not None:
        yield from _place_problems({"each": fact.each}, fact.each, tool, listed=True)
    asked = annotations.find(fact.server, fact.tool)
    named = [*fact.arguments.items(), *((None, each) for each in fact.operands)]
    for argument, operand in named:
        if not isinstance(operand, dict) or not is_reference(operand, "arg", "each"):
            continue
        ((kind, place),) = operand.items()
        found = [*_place_problems(operand, str(place), tool, listed=kind == "each")]
        yield from found
        if argument is not None and asked is not None and not found:
            yield from _type_problems(operand, str(place), tool, asked, argument)


def _place_problems(operand: JsonValue, pointer: str, tool: ToolAnnotation, *, listed: bool) -> Iterator[str]:
    """Yield what stands in a tool's calls instead of a value, or of a list."""
    if tool.input_schema is None:
        return
    schemas, steps = _schemas(tool), pointers.steps_of(pointer)
    said, name = json_text.shown(operand), visible(tool.tool)
    for length in range(1, len(steps)):
        above = schemas.get(steps[:length])
        if above is not None and not _may_be(above, "object"):
            stands = _words(schemas, steps[:length])
            yield (
                f"{said} names nothing in calls of {name}: {pointers.join(steps[:length])} is {stands}\n"
                "A record is looked up for values of the call, or for each element of a list of values; "
                "what stands in the objects of a list, `args` can test with `*`."
            )
            return
    if not is_known(steps, tool):
        yield (
            f"{said} names nothing in calls of {name}, which has no such argument\n"
            "Name in `tool` of the rule those tools that have it."
        )
    elif listed and steps in schemas and not _may_be(schemas[steps], "array"):
        yield (
            f"{said} names no list in calls of {name}: {pointers.join(steps)} is {_words(schemas, steps)}\n"
            'Leave out `each`, and ask with {"arg": POINTER}.'
        )


def _type_problems(
    operand: Mapping[str, JsonValue],
    pointer: str,
    tool: ToolAnnotation,
    asked: ToolAnnotation,
    argument: str,
) -> Iterator[str]:
    """Yield where a look-up tool takes another type of value than stands in the call."""
    schemas = _schemas(tool)
    steps = (*pointers.steps_of(pointer), *((pointers.EVERY,) if "each" in operand else ()))
    given, taken = _types(schemas.get(steps, {})), _types(_schemas(asked).get((argument,), {}))
    if given and taken and given.isdisjoint(taken):
        yield (
            f"{json_text.shown(dict(operand))} is {_words(schemas, steps)} in calls of {visible(tool.tool)}, "
            f"and {visible(asked.tool)} takes {_a(*taken)} as {quoted(argument)}\n"
            "Ask it with a value of that type."
        )


def _schemas(tool: ToolAnnotation) -> dict[_Steps, Mapping[str, JsonValue]]:
    return {pointers.steps_of(leaf.name): leaf.schema for leaf in schema_leaves(tool.input_schema or {})}


def _types(schema: Mapping[str, JsonValue]) -> set[str]:
    """Return the types that a schema names, none where it names none; a null counts as absent."""
    named = schema.get("type")
    listed = named if isinstance(named, list) else [named]
    return {"number" if each == "integer" else str(each) for each in listed if each not in (None, "null")}


def _may_be(schema: Mapping[str, JsonValue], type_: str) -> bool:
    types = _types(schema)
    return not types or type_ in types


def _words(schemas: Mapping[_Steps, Mapping[str, JsonValue]], steps: _Steps) -> str:
    """Return what a schema says of a place, such as "a list of objects"."""
    types = _types(schemas.get(steps, {}))
    if types != {"array"}:
        return _a(*types)
    of = sorted(_types(schemas.get((*steps, pointers.EVERY), {})))
    return f"a list of {' or '.join(f'{each}s' for each in of)}" if of else "a list"


def _a(*types: str) -> str:
    named = ("a list" if each == "array" else f"{'an' if each == 'object' else 'a'} {each}" for each in types)
    return " or ".join(sorted(named))
