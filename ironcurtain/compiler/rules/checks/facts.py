"""The declarations of facts and the `facts` tests of rules: what they name is there, and of their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ironcurtain.compiler.rules.checks.arguments import (
    Testable,
    concerned_tools,
    is_known,
    operand_problem,
    pattern_problem,
    test_problems,
)
from ironcurtain.compiler.rules.checks.caller import single_caller_problem
from ironcurtain.compiler.rules.checks.operators import reference_problem
from ironcurtain.compiler.rules.checks.records import fact_names, record_problems
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import RuleError
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.conditions import FactCondition, If
from ironcurtain.model.facts import (
    MAX_LOOKUPS,
    CounterFact,
    Fact,
    LabelFact,
    SaidFact,
    fact_types,
    lookups,
)
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.model.records import RecordFact, near
from ironcurtain.model.unknown_facts import json_type, reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted, visible

_EQUALITY = ("equals", "not_equals")
_OPERATORS: Mapping[str, tuple[str, ...]] = {
    "string": (*_EQUALITY, "in", "not_in", "matches", "present"),
    "strings": ("contains", "not_contains", "present"),
    "number": (*_EQUALITY, "in", "not_in", "lt", "le", "gt", "ge", "present"),
    "boolean": (*_EQUALITY, "present"),
    "instant": ("older_than", "younger_than", "present"),
    "clock": ("within",),
}
_REFERRING = (*_EQUALITY, "contains", "not_contains")
_TIMED = ("older_than", "younger_than", "within")


def fact_problems(
    policy: CompiledPolicy, annotations: Annotations, registry: Registry
) -> Iterator[RuleError]:
    """Yield what is wrong with the declarations of a policy, and with how many records a call needs."""
    clauses = {clause.id for clause in policy.clauses}
    for name, fact in policy.facts.items():
        problems: list[str] = []
        clause = getattr(fact, "clause", None)
        if clauses and clause is not None and clause not in clauses:
            problems.append(f"there is no clause {quoted(clause)}")
        if isinstance(fact, RecordFact):
            problems += _record_problems(fact, annotations, policy.caller)
        if isinstance(fact, SaidFact):
            problems += _said_problems(fact, annotations)
        if isinstance(fact, CounterFact | LabelFact):
            condition = fact.of if isinstance(fact, CounterFact) else fact.from_
            known = Testable(concerned_tools(condition, annotations), registry, policy.caller)
            problems += _condition_problems(condition, annotations, known)
        yield from (_error(f"fact {quoted(name)}: {problem}") for problem in problems)
    yield from _too_many(policy, annotations)
    yield from record_problems(policy, annotations)


def facts_test_problems(rule: Rule, facts: Mapping[str, Fact], known: Testable) -> Iterator[RuleError]:
    """Yield what is wrong with the `facts` tests of one rule."""
    types = fact_types(facts)
    for test in rule.if_.facts or ():
        for problem in _test_problems(test, types, known):
            yield _error(f"`facts` {quoted(test.fact)}: {problem}")
        fact = facts.get(test.fact)
        if isinstance(fact, SaidFact):
            yield from _untold(test.fact, fact, known.tools)
        if rule.then is Verdict.ALLOW and test.op == "present" and test.value is False:
            yield _error(f"`facts` {quoted(test.fact)}: a fact that is missing must not make a rule allow")


def _untold(name: str, fact: SaidFact, tools: Sequence[ToolAnnotation]) -> Iterator[RuleError]:
    """Yield the tools of a rule whose calls name nothing that the user could have said."""
    for tool in tools:
        if not any(is_known(pointers.steps_of(at), tool) for at in fact.args):
            yield _error(
                f"`facts` {quoted(name)}: {visible(tool.tool)} has none of its arguments, so it is never "
                "known there\nName in `tool` those that have."
            )


def _test_problems(test: FactCondition, types: Mapping[str, str], known: Testable) -> Iterator[str]:
    type_ = types.get(test.fact)
    if type_ is None:
        is_of_caller = test.fact in known.caller
        hint = "\nIt is a fact about the caller: test it with `caller`." if is_of_caller else ""
        yield f"no such fact is declared{near(test.fact, types)}{hint}"
        return
    if test.op not in _OPERATORS[type_]:
        yield f"{test.op} does not test a value of type {type_}\nUse {', '.join(_OPERATORS[type_])}."
        return
    if test.op in _TIMED:
        return
    if reference(test.value) is None:
        yield from _constant_problems(test, type_)
    else:
        yield from _reference_problems(test, types, known)


def _reference_problems(test: FactCondition, types: Mapping[str, str], known: Testable) -> Iterator[str]:
    type_ = types[test.fact]
    root, name = reference(test.value) or ("facts", "")
    compared = {"strings": ("string",), "number": _counted(test)}.get(type_, (type_,))
    if problem := _relation_problem(test, type_):
        yield problem
    elif root != "facts":
        problem = operand_problem(root, name, known)
        if root == "caller" and not problem:
            problem = single_caller_problem(name, compared[0], known.caller)
        if problem:
            yield problem
    elif name not in types:
        yield f"no fact {quoted(name)} is declared{near(name, types)}"
    elif types[name] not in compared:
        yield f"{quoted(name)} is of type {types[name]}"


def _relation_problem(test: FactCondition, type_: str) -> str:
    """Return what is wrong with comparing a fact of a type with another value so."""
    if type_ == "number":
        return reference_problem(test.test)
    if isinstance(test.value, dict) and len(test.value) > 1:
        return "another value is compared as it is, without times, plus and measure"
    if test.op in _REFERRING:
        return ""
    return f"{test.op} takes no other value to compare with\nUse {', '.join(_REFERRING)}."


def _counted(test: FactCondition) -> tuple[str, ...]:
    """Return the types of facts that a number is compared with: of a set the number of its elements."""
    is_count = isinstance(test.value, dict) and "measure" in test.value
    return ("strings",) if is_count else ("number",)


def _constant_problems(test: FactCondition, type_: str) -> Iterator[str]:
    if test.op == "present":
        if not isinstance(test.value, bool):
            yield "present takes true or false"
        return
    wanted = "string" if type_ == "strings" else type_
    listed = test.op in ("in", "not_in")
    values = test.value if listed and isinstance(test.value, list | tuple) else [test.value]
    if (listed and not isinstance(test.value, list | tuple)) or not values:
        yield f"{test.op} takes a list of values that is not empty"
    elif any(json_type(value) != wanted for value in values):
        yield f"it is compared with a {wanted}"
    elif test.op == "matches" and (problem := pattern_problem(test.test)):
        yield problem


def _record_problems(
    fact: RecordFact, annotations: Annotations, caller: Mapping[str, CallerFact]
) -> Iterator[str]:
    for value in fact.arguments.values():
        root, name = reference(value) or ("args", "")
        problem = single_caller_problem(name, None, caller) if root == "caller" else ""
        if problem:
            yield problem
    tool = annotations.find(fact.server, fact.tool)
    if tool is None:
        yield f"there is no tool {quoted(fact.tool)} on {quoted(fact.server)}"
        return
    if not tool.reads:
        yield (
            f"nobody confirmed that {visible(fact.tool)} only reads\n"
            "Confirm it in confirmations.yaml, or in annotations by hand (reads: true)."
        )
    known = {argument.top_level for argument in tool.args}
    for name in fact.arguments:
        if name not in known:
            yield f"{visible(fact.tool)} takes no argument {quoted(name)}"
    for argument in tool.args:
        if argument.required and argument.top_level not in fact.arguments:
            yield f"{visible(fact.tool)} needs the argument {quoted(argument.top_level)}"


def _said_problems(fact: SaidFact, annotations: Annotations) -> Iterator[str]:
    tools = [tool for server in annotations.servers.values() for tool in server.tools]
    for at in fact.args:
        if not any(is_known(pointers.steps_of(at), tool) for tool in tools):
            yield f"no annotated tool has the argument {quoted(at)}"


def _condition_problems(condition: If, annotations: Annotations, known: Testable) -> Iterator[str]:
    if condition.facts:
        yield "what counts does not depend on facts"
    names = {tool.tool for server in annotations.servers.values() for tool in server.tools}
    # Names that nobody knows are told by themselves.
    if not known.tools and names >= {*(condition.tool or ())}:
        yield "no annotated tool is meant"
    for error in test_problems(condition, Verdict.DENY, known):
        yield f"{error.what}\n{error.hint}" if error.hint else error.what


def _too_many(policy: CompiledPolicy, annotations: Annotations) -> Iterator[RuleError]:
    for server, annotated in annotations.servers.items():
        for tool in annotated.tools:
            needed = {
                record
                for rule in policy.rules
                if rule.if_.is_about(server, tool.tool)
                for name in fact_names(rule.if_)
                for record in lookups(policy.facts, name)
            }
            if len(needed) > MAX_LOOKUPS:
                records = f"{len(needed)} records, more than {MAX_LOOKUPS}"
                yield _error(f"a call of {visible(tool.tool)} would need {records}")


def _error(what: str) -> RuleError:
    first, _, hint = what.partition("\n")
    return RuleError(first, hint=hint)
