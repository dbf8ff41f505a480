"""Scenarios of the author's intent, written by a model that sees the clauses and not the rules.

One question for all servers (two where their tools are too many for one). What comes back is held
against the tools' schemas and the structural checks at once: a call that cannot be made, or a verdict
that no policy can reach, is left out with a note, and costs no further call.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from ironcurtain.analysis.engine.evaluate import prepare_scenarios
from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.questions.caller_part import caller_part
from ironcurtain.compiler.questions.schema_parts import (
    STRING,
    Schema,
    array_of,
    closed_object,
    one_of,
    read_answer,
)
from ironcurtain.compiler.questions.shown_schema import shown_schema
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.compiler.rules.clause_routes import clause_data, rename_clauses, told_clauses
from ironcurtain.compiler.scenarios.checks import no_use
from ironcurtain.compiler.scenarios.generated import call_key
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.lists import Lists
from ironcurtain.model.scenarios import Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import quoted, visible

MAX_SCENARIOS = 120
_OUTDATED = (
    "the scenarios that --intent had a model write are left out: clauses, tools, lists or the scenarios' "
    "world changed since; compile with --intent to have them written anew"
)
_ONE_QUESTION = 150_000
"""Characters of tool data up to which one question is enough."""


class IntentContext(Struct):
    """What the model is told, and what its scenarios are held against.

    Attributes:
        fixed: Scenarios that people wrote, with the world of all scenarios; a call among them is decided.
        policy: A policy without rules in the scenarios' world, for the structural checks.
        caller: What may be known of the caller, by key.
    """

    clauses: tuple[PlacedClause, ...]
    annotations: Annotations
    lists: Lists
    fixed: Scenarios
    policy: LoadedPolicy
    caller: Mapping[str, CallerFact] = field(default_factory=dict)


class Intent(Struct):
    """The stage's result.

    Attributes:
        notes: For each scenario that was left out, why; one line each.
    """

    scenarios: tuple[Scenario, ...]
    notes: tuple[str, ...]


class AnsweredCall(Frozen):
    """A call as answers give it.

    Attributes:
        arguments: A JSON object as text; `caller`, what is known of the principal, is another.
    """

    server: str
    tool: str
    arguments: str
    caller: str

    def read(self) -> ScenarioCall | str:
        """Return the call, or say why it is none."""
        arguments = _object(self.arguments, "the arguments are")
        if isinstance(arguments, str):
            return arguments
        caller = _object(self.caller, "what is known of the caller is")
        if isinstance(caller, str):
            return caller
        return ScenarioCall(server=self.server, tool=self.tool, arguments=arguments, caller=caller or None)


class _AnsweredScenario(AnsweredCall):
    """A scenario as answers give it."""

    id: str
    clause: str
    expect: Verdict
    why: str


class _IntentAnswer(Frozen):
    """The content of an answer."""

    scenarios: tuple[_AnsweredScenario, ...]


def ask_intent(context: IntentContext, cache: AnswerCache, *, ask: bool) -> Intent:
    """Ask for the scenarios and keep those that can come true.

    Args:
        context: What the model is told.
        cache: Where answers come from.
        ask: Whether to ask what no kept answer tells; otherwise the scenarios are those that are kept, if
            they were written for the clauses, tools and lists as they are.

    Raises:
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers.
    """
    groups = _groups(context.annotations)
    questions = [_question(f"intent-{number}", servers, context) for number, servers in enumerate(groups, 1)]
    if not ask and not all(cache.has(question) for question in questions):
        return Intent((), (_OUTDATED,) if cache.holds("intent") else ())
    answers = [read_answer(_IntentAnswer, answer.content) for answer in cache.ask(questions)]
    answered = [scenario for answer in answers for scenario in answer.scenarios]
    taken = {call_key(scenario.call) for scenario in context.fixed.scenarios}
    names = {entry.id for entry in (*context.fixed.entries, *context.fixed.calls)}
    scenarios: list[Scenario] = []
    notes: list[str] = []
    for proposed in answered[:MAX_SCENARIOS]:
        scenario, why = _read(proposed, context)
        if scenario is None:
            notes.append(f"left out, {why}")
        elif call_key(scenario.call) not in taken:
            taken.add(call_key(scenario.call))
            scenario = scenario.model_copy(update={"id": _free(scenario.id, names)})
            scenarios.append(scenario)
    return Intent(tuple(scenarios), tuple(notes))


def _groups(annotations: Annotations) -> list[list[str]]:
    """Put all servers into one question, or into two of about the same size."""
    sizes = {
        server: len(as_data([tool_data(server, tool) for tool in annotated.tools]))
        for server, annotated in sorted(annotations.servers.items())
        if annotated.tools
    }
    if sum(sizes.values()) <= _ONE_QUESTION or len(sizes) == 1:
        return [list(sizes)] if sizes else []
    first: list[str] = []
    for server, size in sizes.items():
        if not first or sum(sizes[name] for name in first) + size <= sum(sizes.values()) / 2:
            first.append(server)
    return [first, [server for server in sizes if server not in first]]


def _question(key: str, servers: Sequence[str], context: IntentContext) -> Question:
    tools = [tool_data(s, tool) for s in servers for tool in context.annotations.servers[s].tools]
    world = context.fixed.world.model_dump(mode="json", exclude_defaults=True)
    lists = {name: [*(found.resolved or ()), *found.added] for name, found in context.lists.lists.items()}
    return Question(
        stage="intent",
        key=key,
        system=fill("intent.system"),
        prompt=fill(
            "intent.user",
            servers=", ".join(servers),
            clauses=as_data(clause_data(context.clauses)),
            tools=as_data(tools),
            world=as_data({"home": context.fixed.world.home, **world, "lists": dict(sorted(lists.items()))}),
        )
        + caller_part(context.caller),
        schema=_schema(servers, context),
        check=lambda content: (
            [] if read_answer(_IntentAnswer, content).scenarios else ["there is no scenario"]
        ),
        told=told_clauses(context.clauses),
        rename=rename_clauses,
        about=f"scenarios of what the constitution means for {', '.join(servers)}",
    )


def tool_data(server: str, tool: ToolAnnotation) -> dict[str, JsonValue]:
    """Return a tool as prompts show it: what it is called with, and what its arguments are."""
    return {
        "server": server,
        **tool.model_dump(
            mode="json",
            by_alias=True,
            exclude_unset=True,
            include={"tool", "contained", "args", "composites"},
        ),
        "input_schema": shown_schema(tool.input_schema),
    }


def call_schema(servers: Sequence[str], annotations: Annotations) -> Schema:
    """Return the schema of a call to one of the servers' tools, as properties of an object.

    Arguments and what is known of the caller are JSON objects as text.
    """
    tools = sorted({tool.tool for server in servers for tool in annotations.servers[server].tools})
    return {"server": one_of(servers), "tool": one_of(tools), "arguments": STRING, "caller": STRING}


def _schema(servers: Sequence[str], context: IntentContext) -> Schema:
    properties: Schema = {
        "id": STRING,
        "clause": one_of(placed.clause.id for placed in context.clauses),
        **call_schema(servers, context.annotations),
        "expect": one_of(verdict.value for verdict in Verdict),
        "why": STRING,
    }
    return closed_object({"scenarios": array_of(closed_object(properties))})


def _object(text: str, what: str) -> dict[str, JsonValue] | str:
    """Return the JSON object that a text holds, or say why it holds none."""
    try:
        value = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        return f"{what} no JSON: {visible(str(error))}"
    return value if isinstance(value, dict) else f"{what} no JSON object"


def _read(answered: _AnsweredScenario, context: IntentContext) -> tuple[Scenario | None, str]:
    """Return a scenario, or None and why it is left out."""
    name = f"scenario {quoted(answered.id, 60)}"
    call = answered.read()
    if isinstance(call, str):
        return None, f"{name}: {call}"
    known = {pointers.steps_of(name)[0] for name in context.caller}
    unknown = sorted((call.caller or {}).keys() - known)
    if unknown:
        return None, f"{name}: nobody declares {quoted(unknown[0])}, a fact about the caller"
    try:
        scenario = Scenario(
            id=_slug(answered.id),
            call=call,
            expect=answered.expect,
            clause=answered.clause,
            why=visible(answered.why),
            origin="intent",
        )
    except ValidationError:
        return None, f"{name}: it is not of the right shape"
    prepared = prepare_scenarios([scenario], context.policy)[scenario.id]
    why = no_use(scenario, prepared, context.annotations.find(call.server, call.tool))
    return (None, why) if why else (scenario, "")


def _slug(text: str) -> str:
    return f"intent.{re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')[:80] or 'scenario'}"


def _free(name: str, taken: set[str]) -> str:
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    free = next(each for each in names if each not in taken)
    taken.add(free)
    return free
