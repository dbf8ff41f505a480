"""Stage 3, compile rules: from clauses and annotated tools to ordered rules; next, lists are resolved.

One question for each server. What the answer says is data: it becomes rules only after the same checks
that hand-written rules pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ironcurtain.errors import IronCurtainError, SeveralErrors
from ironcurtain.llm.question import Answer, Question
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.base import Json
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.pipeline.answers import AnswerBook
from ironcurtain.pipeline.clauses import PlacedClause
from ironcurtain.pipeline.lists import used_lists
from ironcurtain.pipeline.rules import check_policy
from ironcurtain.pipeline.rules_schema import rules_schema
from ironcurtain.pipeline.templates import as_data, fill
from ironcurtain.roles.registry import Registry
from ironcurtain.text import quoted, visible


@dataclass(frozen=True)
class Compiled:
    """The stage's result.

    Attributes:
        policy: The rules of all servers, in alphabetical order of the servers.
        findings: For each clause that no rule implements, why; one line each.
    """

    policy: CompiledPolicy
    findings: tuple[str, ...]


@dataclass(frozen=True)
class RuleContext:
    """What rules are judged against, beside the rules themselves."""

    clauses: tuple[PlacedClause, ...]
    annotations: Annotations
    lists: Lists
    case_insensitive_hosts: frozenset[str]


def compile_rules(context: RuleContext, book: AnswerBook) -> Compiled:
    """Compile the rules of every server that has tools.

    Raises:
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers.
        RuleError: If rules of two servers have one name.
    """
    servers = [name for name, annotated in sorted(context.annotations.servers.items()) if annotated.tools]
    answers = book.ask([_question(server, context) for server in servers])
    rules = [
        rule
        for server, answer in zip(servers, answers, strict=True)
        for rule in _read_rules(server, answer.content)
    ]
    return Compiled(
        _check(_policy(rules, context), context), tuple(_findings(rules, answers, context.clauses))
    )


def rule_prefix(server: str) -> str:
    """Return what the names of a server's rules begin with: its name as a slug, and a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", server.lower()).strip("-") + "-"


def _question(server: str, context: RuleContext) -> Question:
    annotated = context.annotations.servers[server]
    registry = Registry(context.annotations.roles)
    clauses = [
        {
            "id": placed.clause.id,
            "under": list(placed.headings),
            "text": placed.clause.text,
            "principle": placed.clause.principle,
        }
        for placed in context.clauses
    ]
    lists = {name: found.type for name, found in sorted(context.lists.lists.items())}
    return Question(
        stage="rules",
        key=f"rules-{server}",
        system=fill("rules.system"),
        prompt=fill(
            "rules.user",
            server=server,
            prefix=rule_prefix(server),
            clauses=as_data(clauses),
            tools=as_data([_tool_data(tool) for tool in annotated.tools]),
            lists=as_data(lists),
        ),
        schema=rules_schema(annotated, context.clauses, registry),
        check=lambda content: _mistakes(server, content, context),
    )


def _tool_data(tool: ToolAnnotation) -> dict[str, Json]:
    schema = tool.input_schema or {}
    return {
        **tool.model_dump(
            mode="json", by_alias=True, exclude_unset=True, exclude={"input_schema", "schema_digest"}
        ),
        "input_schema": {key: schema[key] for key in ("properties", "required") if key in schema},
    }


def _mistakes(server: str, content: Json, context: RuleContext) -> list[str]:
    """Return what is wrong with the rules of an answer that fits its schema."""
    prefix = rule_prefix(server)
    mistakes = [
        f"rule {quoted(rule['name'])}: its name does not begin with {prefix}"
        for rule in content["rules"]
        if not rule["name"].startswith(prefix)
    ]
    counts = Counter(rule["name"] for rule in content["rules"])
    mistakes += [f"rule {quoted(name)} is given {count} times" for name, count in counts.items() if count > 1]
    if mistakes:
        return mistakes
    try:
        _check(_policy(_read_rules(server, content), context), context)
    except ValidationError as error:
        return [visible(f"{'/'.join(map(str, e['loc']))}: {e['msg']}") for e in error.errors()]
    except SeveralErrors as error:
        return [_sentence(each) for each in error.errors]
    except IronCurtainError as error:
        return [_sentence(error)]
    return []


def _check(policy: CompiledPolicy, context: RuleContext) -> CompiledPolicy:
    """Hold the rules to what hand-written ones are held to; lists may still lack their members here."""
    named = {name: NamedList(type=kind, resolved=()) for name, kind in used_lists(policy).items()}
    for name, found in context.lists.lists.items():
        named[name] = found if found.resolved is not None else found.model_copy(update={"resolved": ()})
    return check_policy(
        policy,
        context.annotations,
        Lists(format="ironcurtain/lists/v1", lists=named),
        Registry(context.annotations.roles),
        case_insensitive_hosts=context.case_insensitive_hosts,
    )


def _sentence(error: IronCurtainError) -> str:
    where = f"{error.where}: " if error.where else ""
    return f"{where}{error.what}" + (f" ({error.hint})" if error.hint else "")


def _read_rules(server: str, content: Json) -> list[Rule]:
    """Make rules of an answer: each is confined to its server, and empty conditions are left out."""
    rules = []
    for entry in content["rules"]:
        conditions = {key: value for key, value in entry["if"].items() if value not in ([], None)}
        complete = {**entry, "if": {"server": [server], **conditions}}
        rules.append(Rule.model_validate_json(jsontext.canonical(complete)))
    return rules


def _policy(rules: Sequence[Rule], context: RuleContext) -> CompiledPolicy:
    clauses = tuple(placed.clause for placed in context.clauses)
    return CompiledPolicy(format="ironcurtain/policy/v1", clauses=clauses, rules=tuple(rules))


def _findings(rules: Sequence[Rule], answers: Sequence[Answer], clauses: Sequence[PlacedClause]) -> list[str]:
    """Return a line for each clause, principles aside, that is not enforceable or that no rule names."""
    reasons: dict[str, list[str]] = {}
    for answer in answers:
        for entry in answer.content["not_enforceable"]:
            reasons.setdefault(entry["clause"], []).append(visible(entry["reason"]))
    implemented = {rule.clause for rule in rules}
    findings = []
    for clause in (placed.clause for placed in clauses):
        place = f"{clause.source}: {clause.id}"
        findings += [f"{place} is not enforceable: {reason}" for reason in reasons.get(clause.id, ())]
        if clause.id not in implemented and clause.id not in reasons and not clause.principle:
            findings.append(f"{place} is implemented by no rule")
    return findings
