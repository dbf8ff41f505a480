"""Declared facts in the question about rules: the forms that it offers, and the reading of what is declared.

They are offered where a clause needs one, as the linter finds it, or a person confirmed a tool for look-ups;
the questions of all other projects are as they would be without facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from ironcurtain.compiler.load.linter import NEEDS_FACT, NEEDS_WORDS, lint
from ironcurtain.compiler.questions.schema_parts import (
    BOOLEAN,
    STRING,
    WHOLE,
    Schema,
    array_of,
    closed_object,
    entries,
    objects,
    one_of,
    reference,
)
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.compiler.rules.clause_routes import Routes
from ironcurtain.compiler.rules.look_ups import LookUpTool
from ironcurtain.decision.canonical import pointers
from ironcurtain.errors import RuleError, raise_all
from ironcurtain.model.conditions import FactOperator
from ironcurtain.model.facts import Fact
from ironcurtain.model.records import FactName, FieldType, RecordFact, RecordField
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_NAMED: TypeAdapter[dict[FactName, Fact]] = TypeAdapter(dict[FactName, Fact])


class OfferedFacts(Struct):
    """What a question offers: the look-ups that records come from, and the servers whose calls count.

    Attributes:
        words: Whether a clause speaks of what the user wrote.
    """

    look_ups: tuple[LookUpTool, ...]
    servers: tuple[str, ...]
    words: bool = False

    @property
    def prompt(self) -> str:
        """What the question says of facts."""
        shown: list[JsonValue] = [
            {
                "server": each.server,
                "tool": each.tool,
                "arguments": dict(each.arguments),
                "fields": dict(each.fields),
            }
            for each in self.look_ups
        ]
        told = fill("rules.facts", look_ups=as_data(shown))
        return f"{told}\n\n{fill('rules.said')}" if self.words else told

    def schema(self, condition: Schema) -> Schema:
        """Return the schema of an answer's declarations.

        Args:
            condition: The schema of a rule's condition.
        """
        named: Schema = {"name": STRING, "clause": reference("clause")}
        calls = _calls(self.servers, condition)
        counter = closed_object(
            {
                **named,
                "source": one_of(["counter"]),
                "of": calls,
                "per": one_of(["session", "caller"]),
                "window": one_of(["hour", "day", "week", "session"]),
            },
            {"add": closed_object({"arg": STRING}), "zone": STRING},
        )
        label = closed_object(
            {**named, "source": one_of(["label"]), "from": calls},
            {"from_result": array_of(reference("test"))},
        )
        clock = closed_object({"name": STRING, "source": one_of(["clock"])}, {"zone": STRING})
        records = [_record(self.look_ups, named)] if self.look_ups else []
        said = closed_object({**named, "source": one_of(["said"]), "args": array_of(STRING)})
        return array_of({"anyOf": [*records, counter, label, clock, *([said] if self.words else [])]})


def offered_facts(server: str, routes: Routes, look_ups: Sequence[LookUpTool]) -> OfferedFacts | None:
    """Return what the question about a server's rules offers; None where no clause of it needs a fact.

    Calls of those servers can count that the same clauses concern: a server that is added leaves the
    questions about the others as they are, as long as no such clause concerns it.
    """
    findings = [finding for finding in lint(routes[server]) if finding.check in NEEDS_FACT]
    needing = {finding.clause for finding in findings}
    if not needing and not look_ups:
        return None
    concerned = (
        other
        for other, clauses in routes.items()
        if other == server or any(placed.clause.id in needing for placed in clauses)
    )
    words = any(finding.check == NEEDS_WORDS for finding in findings)
    return OfferedFacts(tuple(look_ups), tuple(concerned), words)


def fact_test() -> Schema:
    """Return the schema of a test of a fact."""
    scalar = reference("scalar")
    return closed_object(
        {
            "fact": STRING,
            "op": one_of([name for part in get_args(FactOperator) for name in get_args(part) or (part,)]),
            "value": {
                "anyOf": [scalar, array_of(scalar), *_references("arg", "caller", "fact", scaled=True)]
            },
        }
    )


def _record(look_ups: Sequence[LookUpTool], named: Schema) -> Schema:
    value: Schema = {"anyOf": [reference("scalar"), *_references("arg", "caller", "fact", "each")]}
    asked = closed_object({"name": STRING, "value": value})
    found = closed_object(
        {"name": STRING, "at": STRING, "type": one_of(get_args(FieldType))},
        {
            "zone": STRING,
            "where": array_of(asked),
            "equals": value,
            "not_equals": value,
            "minus": value,
            "default": reference("scalar"),
        },
    )
    return closed_object(
        {
            **named,
            "source": one_of(["record"]),
            "server": one_of(dict.fromkeys(each.server for each in look_ups)),
            "tool": one_of(dict.fromkeys(each.tool for each in look_ups)),
            "arguments": array_of(asked),
            "fields": array_of(found),
        },
        {"each": STRING, "identity": array_of(closed_object({"name": STRING, "at": STRING}))},
    )


def _references(*kinds: str, scaled: bool = False) -> list[Schema]:
    scale: Schema = {"times": WHOLE, "plus": WHOLE, "measure": one_of(["count"])} if scaled else {}
    return [closed_object({kind: STRING}, scale) for kind in kinds]


def _calls(servers: Iterable[str], condition: Schema) -> Schema:
    """Return the schema of which calls count: a rule's condition over all servers, without facts."""
    known = condition["properties"]
    own = {key: value for key, value in known.items() if key != "facts"} if isinstance(known, dict) else {}
    return closed_object(
        {}, {**own, "server": array_of(one_of(servers)), "tool": array_of(STRING), "side_effects": BOOLEAN}
    )


class FactsError(ValueError):
    """An answer declares facts in a way that cannot be read.

    Attributes:
        mistakes: What is wrong, one sentence each.
    """

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


def read_facts(content: JsonValue) -> dict[str, Fact]:
    """Return the facts that an answer declares.

    Raises:
        FactsError: If one is none of a declaration's form, or something is declared twice.
    """
    found: dict[str, Fact] = {}
    mistakes: list[str] = []
    for entry in entries(content, "facts"):
        name = str(entry["name"])
        if name in found:
            mistakes.append(f"fact {quoted(name)} is declared twice")
            continue
        try:
            told = _NAMED.validate_json(json_text.canonical({name: _declaration(entry)}))
        except ValidationError as error:
            mistakes += [f"fact {quoted(name)}: {visible(each['msg'])}" for each in error.errors()]
        else:
            found |= told
    if mistakes:
        raise FactsError(mistakes)
    return found


def _declaration(entry: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a declaration as a policy holds it: what stands in lists with names becomes an object."""
    told: dict[str, JsonValue] = {
        key: value for key, value in entry.items() if key != "name" and value is not None
    }
    fields = objects(told.get("fields"))
    for key, what in (("arguments", "value"), ("identity", "at")):
        valued = _valued(told.get(key), what)
        if valued is not None:
            told[key] = valued
    if fields is not None:
        told["fields"] = {str(item["name"]): _field(item) for item in fields}
    return told


def _field(item: Mapping[str, JsonValue]) -> JsonValue:
    field: dict[str, JsonValue] = {key: item[key] for key in item if key != "name" and item[key] is not None}
    chosen = _valued(field.get("where"))
    if chosen is not None:
        field["where"] = chosen
    return field


def _valued(listed: JsonValue, what: str = "value") -> dict[str, JsonValue] | None:
    """Return what stands under a key of each entry, by the entries' names; None where there is no list."""
    items = objects(listed)
    return None if items is None else {str(item["name"]): item[what] for item in items}


def joined_facts(of_answers: Mapping[str, Mapping[str, Fact]]) -> dict[str, Fact]:
    """Return the facts that the answers for all servers declare.

    Args:
        of_answers: By server, what its answer declares.

    Raises:
        RuleError: For each name that two answers declare differently.
    """
    found: dict[str, Fact] = {}
    problems: list[RuleError] = []
    for server, declared in of_answers.items():
        for name, fact in declared.items():
            if found.setdefault(name, fact) != fact:
                problems.append(
                    RuleError(
                        f"the rules of {server} declare fact {quoted(name)} otherwise than those of a server "
                        "before it",
                        hint="Give one of the two another name.",
                    )
                )
    raise_all([*problems])
    return found


def declared_facts(facts: Mapping[str, Fact]) -> JsonValue:
    """Return declarations as prompts show them."""
    return {
        name: fact.model_dump(mode="json", by_alias=True, exclude_unset=True) for name, fact in facts.items()
    }


def field_mistakes(facts: Mapping[str, Fact], look_ups: Sequence[LookUpTool]) -> list[str]:
    """Return what records are asked for that their look-up tools do not answer, as far as that is known."""
    known = {(each.server, each.tool): each for each in look_ups}
    mistakes = []
    for name, fact in facts.items():
        tool = known.get((fact.server, fact.tool)) if isinstance(fact, RecordFact) else None
        if tool is None or not isinstance(fact, RecordFact) or not tool.fields:
            continue
        for field, declared in fact.fields.items():
            there = _kinds_at(tool.fields, declared)
            if not there:
                mistakes.append(f"fact {quoted(name)}: {_nothing_at(tool.fields, declared.at)}")
            elif not there & _readable_as(declared):
                untold = " as far as its schema and samples tell" if declared.type == "instant" else ""
                mistakes.append(f"fact {quoted(name)}: {quoted(field)} is of the type {min(there)}{untold}")
            mistakes += [
                f"fact {quoted(name)}: {_nothing_at(tool.fields, place)}, which `where` chooses by"
                for place in declared.where
                if not _below(tool.fields, pointers.tokens(place))
            ]
        mistakes += [
            f"fact {quoted(name)}: the answer has no single value at {quoted(at)} for the identity "
            f"{quoted(argument)}"
            for argument, at in fact.identity.items()
            if tool.fields.get(at) not in ("string", "number", "boolean", "instant")
        ]
    return mistakes


def _nothing_at(known: Mapping[str, str], place: str) -> str:
    """Say that an answer has nothing at a place, and what stands there instead."""
    steps = pointers.tokens(place)
    above = next(steps[:n] for n in range(len(steps), -1, -1) if _below(known, steps[:n]))
    beside = sorted({each[len(above)] for each in _below(known, above) if len(each) > len(above)})
    stands = f"has {', '.join(map(visible, beside))}" if beside else "is a single value"
    where = quoted(pointers.join(above)) if above else "it"
    return f"the answer has nothing at {quoted(place)}: {where} {stands}"


def _below(known: Mapping[str, str], steps: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the known places at or below a place; `*` is also any name of a member."""
    return [each for each in map(pointers.tokens, known) if pointers.covers(steps, each)]


def _kinds_at(known: Mapping[str, str], declared: RecordField) -> set[str]:
    """Return the types of what stands at a field's place; `*` of `where` is also any name of a member."""
    if declared.type == "keys":
        return {"keys" for place in known if place.startswith(f"{declared.at}/")}
    steps = declared.at.split("/")
    return {
        kind
        for place, kind in known.items()
        if place == declared.at or (declared.where and pointers.covers(tuple(steps), tuple(place.split("/"))))
    }


def _readable_as(declared: RecordField) -> set[str]:
    """Return the types of values that a field can be made of."""
    if declared.equals is not None or declared.not_equals is not None:
        singles = {"string", "number", "boolean", "instant"}
    else:
        singles = {declared.type, *(["instant"] if declared.type == "string" else [])}
    return singles | ({f"{each}s" for each in singles} if declared.where else set())
