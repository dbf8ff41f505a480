"""Which clauses concern which server: one question for the whole constitution, asked for several servers.

Each server's rules are then compiled from its own clauses, so that editing one clause asks again only about
the servers that it concerns. With one server every clause concerns it, and nothing is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.questions.schema_parts import array_of, closed_object, one_of, read_answer
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.compiler.rules.checks.allow_rules import resource_roles
from ironcurtain.model.annotations import Annotations, ServerAnnotations
from ironcurtain.system.frozen import Frozen, JsonValue

Routes = Mapping[str, tuple[PlacedClause, ...]]
"""By server, the clauses that concern it, principles included, in the order of the constitution."""


class _Route(Frozen):
    """Which servers a clause concerns."""

    clause: str
    servers: tuple[str, ...]


class _RoutesAnswer(Frozen):
    """The content of an answer."""

    clauses: tuple[_Route, ...]


def route_clauses(
    clauses: Sequence[PlacedClause], annotations: Annotations, servers: Sequence[str], cache: AnswerCache
) -> Routes:
    """Return the clauses of each server.

    Raises:
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answer.
    """
    enforced = [placed for placed in clauses if not placed.clause.principle]
    if len(servers) <= 1 or not enforced:
        return dict.fromkeys(servers, tuple(clauses))
    (answer,) = cache.ask([_question(enforced, annotations, servers)])
    concerned = {route.clause: route.servers for route in read_answer(_RoutesAnswer, answer.content).clauses}
    return {
        server: tuple(
            placed for placed in clauses if placed.clause.principle or server in concerned[placed.clause.id]
        )
        for server in servers
    }


def clause_data(clauses: Sequence[PlacedClause]) -> list[JsonValue]:
    """Return clauses as prompts show them."""
    return [
        {
            "id": placed.clause.id,
            "under": list(placed.headings),
            "text": placed.clause.text,
            "principle": placed.clause.principle,
            **({"introduced_by": placed.lead} if placed.lead else {}),
        }
        for placed in clauses
    ]


def told_clauses(clauses: Sequence[PlacedClause]) -> dict[str, str]:
    """Return the texts of clauses by their ids, as questions say what they told."""
    return {placed.clause.id: placed.clause.text for placed in clauses}


def rename_clauses(content: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """Return an answer with other ids of its clauses; entries about clauses without one are left out."""
    if isinstance(content, list):
        return [rename_clauses(each, names) for each in content if _is_named(each, names)]
    if not isinstance(content, dict):
        return content
    return {key: _renamed(key, value, names) for key, value in content.items()}


def _renamed(key: str, value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """Return what a member of an answer holds, with other ids of clauses."""
    if key == "clause" and isinstance(value, str):
        return names.get(value, value)
    if key == "into" and isinstance(value, list):
        return [names[clause] for clause in value if isinstance(clause, str) and clause in names]
    return rename_clauses(value, names)


def _is_named(entry: JsonValue, names: Mapping[str, str]) -> bool:
    clause = entry.get("clause") if isinstance(entry, dict) else None
    return not isinstance(clause, str) or clause in names


def _question(clauses: Sequence[PlacedClause], annotations: Annotations, servers: Sequence[str]) -> Question:
    ids = [placed.clause.id for placed in clauses]
    entry = closed_object({"clause": one_of(ids), "servers": array_of(one_of(servers))})
    return Question(
        stage="clauses",
        key="clauses",
        system=fill("clauses.system"),
        prompt=fill(
            "clauses.user",
            clauses=as_data(clause_data(clauses)),
            servers=as_data({name: _summary(annotations.servers[name]) for name in servers}),
        ),
        schema=closed_object({"clauses": array_of(entry)}),
        check=lambda content: _mistakes(content, ids),
        told=told_clauses(clauses),
        rename=rename_clauses,
        about=f"which of {len(ids)} clauses concern which server",
    )


def _summary(annotated: ServerAnnotations) -> dict[str, list[str]]:
    """Return what decides whether a clause concerns a server: its tools and what they do to what."""
    return {
        tool.tool: [role for role in resource_roles(tool) if role != "none"]
        + ([] if tool.side_effects else ["changes nothing"])
        for tool in annotated.tools
    }


def _mistakes(content: JsonValue, ids: Sequence[str]) -> list[str]:
    counts = Counter(route.clause for route in read_answer(_RoutesAnswer, content).clauses)
    return [
        f"clause {clause} is {'missing' if not counts[clause] else f'given {counts[clause]} times'}"
        for clause in ids
        if counts[clause] != 1
    ]
