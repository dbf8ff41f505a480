"""Stage 3, compile rules: from clauses and annotated tools to ordered rules; next, lists are resolved.

One question for each server, about the clauses that concern it. What the answer says is data: it becomes
rules only after the checks that hand-written rules pass, and after those that only a model needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from ironcurtain.compiler.annotate.schema_leaves import has_open_objects
from ironcurtain.compiler.lists.lists import used_lists
from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.questions.caller_part import caller_part
from ironcurtain.compiler.questions.schema_parts import entries, read_answer
from ironcurtain.compiler.questions.shown_schema import tool_for_rules
from ironcurtain.compiler.questions.templates import as_data, as_lines, fill
from ironcurtain.compiler.rules.answer_schema import rules_schema
from ironcurtain.compiler.rules.checks.allow_rules import (
    condition_words,
    rule_mistakes,
    unlimited,
    unlimited_text,
)
from ironcurtain.compiler.rules.checks.arguments import concerned_tools
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.compiler.rules.clause_coverage import claims, coverage_mistakes, quote_mistake
from ironcurtain.compiler.rules.clause_routes import (
    Routes,
    clause_data,
    rename_clauses,
    route_clauses,
    told_clauses,
)
from ironcurtain.compiler.rules.directories import mentioned_directories, unknown_directories
from ironcurtain.compiler.rules.offered_facts import (
    FactsError,
    field_mistakes,
    joined_facts,
    offered_facts,
    read_facts,
)
from ironcurtain.compiler.rules.previous_rules import previous_rules
from ironcurtain.compiler.rules.rule_context import RuleContext
from ironcurtain.errors import IronCurtainError, SeveralErrors, UnconfirmedRuleError, raise_all
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.model.policy import Clause, CompiledPolicy, Rule
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

_BELOW = (
    "Write the limit into the clause, or confirm it: the last of these errors has one entry for all of them."
)


class Compiled(Struct):
    """The stage's result.

    Attributes:
        policy: The rules of all servers, in alphabetical order of the servers, and what is claimed of
            clauses without rules.
        findings: What a person should know about rules, one line each.
    """

    policy: CompiledPolicy
    findings: tuple[str, ...]


def compile_rules(context: RuleContext, cache: AnswerCache) -> Compiled:
    """Compile the rules of every server that has tools.

    Raises:
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers.
        RuleError: If rules of two servers have one name.
        UnconfirmedRuleError: For each rule that allows something without a limit and is not confirmed.
    """
    servers = [name for name, annotated in sorted(context.annotations.servers.items()) if annotated.tools]
    routes = route_clauses(context.clauses, context.annotations, servers, cache)
    asked = [server for server in servers if any(not p.clause.principle for p in routes[server])]
    answers = cache.ask(
        [
            _question(server, routes, context, _previous_text(server, routes[server], context, cache))
            for server in asked
        ]
    )
    contents = {server: answer.content for server, answer in zip(asked, answers, strict=True)}
    rules = [
        read_rule(server, entry)
        for server, content in contents.items()
        for entry in entries(content, "rules")
    ]
    context = replace(
        context, facts=joined_facts({server: read_facts(content) for server, content in contents.items()})
    )
    policy = _check(_policy(rules, context), context)
    raise_all(unconfirmed_rules(policy.rules, _quotes(contents), context))
    concerned = {placed.clause.id for clauses in routes.values() for placed in clauses}
    nowhere = [placed.clause.id for placed in context.clauses if placed.clause.id not in concerned]
    policy = policy.model_copy(update={"claims": claims(contents, nowhere)})
    known = mentioned_directories(context.clauses, context.directories)
    return Compiled(
        policy,
        (
            *unknown_directories(policy, known),
            *stale_confirmations(policy, context),
        ),
    )


def model_mistakes(rules: Sequence[Rule], context: RuleContext) -> list[str]:
    """Return what is wrong with one server's rules that a model wrote or patched, one sentence each.

    These are the checks of hand-written rules and, for rules that pass them, what only a model is held to.
    """
    return [
        *(_sentence(each) for each in _errors(rules, context)),
        *(
            mistake
            for rule in sound_rules(rules, context)
            for mistake in rule_mistakes(rule, rules, context.annotations)
        ),
    ]


def sound_rules(rules: Sequence[Rule], context: RuleContext) -> Sequence[Rule]:
    """Return the rules that pass the checks of hand-written ones, each taken by itself."""
    if not _errors(rules, context):
        return rules
    return [rule for rule in rules if not _errors([rule], context)]


def unconfirmed_rules(
    rules: Sequence[Rule], quotes: Mapping[str, str], context: RuleContext
) -> list[IronCurtainError]:
    """Return an error for each rule that allows something without a limit and that nobody confirmed.

    Args:
        rules: The rules.
        quotes: By rule, the words of its clause that are said to permit it.
        context: What they are judged against.
    """
    open_rules = [
        (rule, found)
        for rule in rules
        if (found := unlimited(rule, context.annotations, context.registry))
        and not context.confirmations.has_rule(rule.name, rule_digest(rule, context))
    ]
    hint = _confirming([rule for rule, _ in open_rules], context)
    return [
        UnconfirmedRuleError(
            f"rule {quoted(rule.name)}: {unlimited_text(found)}; its conditions: {condition_words(rule)}"
            + (f"; clause {rule.clause} says {quoted(quotes[rule.name])}" if rule.name in quotes else ""),
            where=placed.clause.source if (placed := context.clause(rule.clause)) else None,
            hint=hint if (rule, found) == open_rules[-1] else _BELOW,
        )
        for rule, found in open_rules
    ]


def _confirming(rules: Sequence[Rule], context: RuleContext) -> str:
    """Return what a person can do about rules without a limit: one entry confirms all of them."""
    digests = {rule.name: rule_digest(rule, context) for rule in rules}
    if len(rules) == 1:
        ((name, digest),) = digests.items()
        entry: dict[str, JsonValue] = {"rule": name, "digest": digest}
    else:
        entry = {"digests": dict(digests)}
    ready = json_text.canonical({**entry, "by": "…", "reason": "…"}).decode()
    which = "the rule" if len(rules) == 1 else f"all {len(rules)} rules"
    return f'Write the limit into the clause, or confirm {which} in confirmations.yaml under "rules": {ready}'


def stale_confirmations(policy: CompiledPolicy, context: RuleContext) -> list[str]:
    """Return a line for each confirmation of a rule that does not exist, or is not as it was confirmed."""
    digests = {rule.name: rule_digest(rule, context) for rule in policy.rules}
    return [
        f"confirmations.yaml confirms rule {quoted(name)}, which "
        + ("is not as it was then" if name in digests else "does not exist")
        + "; that counts for nothing"
        for name, digest in context.confirmations.confirmed_rules
        if digests.get(name) != digest
    ]


def rule_digest(rule: Rule, context: RuleContext) -> str:
    """Return `sha256:<hex>` over what a rule says, the text of its clause, and its tools as they are."""
    placed = context.clause(rule.clause)
    return json_text.digest(
        {
            "clause": placed.clause.text if placed else "",
            "if": rule.if_.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            "then": rule.then.value,
            "tools": [
                [tool.tool, tool.schema_digest] for tool in concerned_tools(rule.if_, context.annotations)
            ],
        }
    )


def rule_prefix(server: str) -> str:
    """Return what the names of a server's rules begin with: its name as a slug, and a hyphen."""
    return re.sub(r"[^a-z0-9]+", "-", server.lower()).strip("-") + "-"


def _question(server: str, routes: Routes, context: RuleContext, previous: str) -> Question:
    clauses = routes[server]
    annotated = context.annotations.servers[server]
    lists = {name: found.type for name, found in sorted(context.lists.lists.items())}
    prompt = fill(
        "rules.user",
        server=server,
        prefix=rule_prefix(server),
        clauses=as_lines(clause_data(clauses)),
        tools=as_lines([tool_for_rules(tool) for tool in annotated.tools]),
        directories=as_data(mentioned_directories(clauses, context.directories)),
    )
    if added := [role.model_dump(mode="json") for role in context.annotations.roles]:
        prompt += "\n\n" + fill("rules.roles", roles=as_data(added))
    if context.approvers:
        people = {name: each.model_dump(mode="json") for name, each in sorted(context.approvers.items())}
        prompt += "\n\n" + fill("rules.approvers", approvers=as_data(people))
    prompt += caller_part(context.caller)
    if any(map(has_open_objects, annotated.tools)):
        prompt += "\n\n" + fill("rules.keys")
    offered = offered_facts(server, routes, context.look_ups)
    if offered is not None:
        prompt += "\n\n" + offered.prompt
    return Question(
        stage="rules",
        key=f"rules-{server}",
        system=fill("rules.system", conditions=fill("conditions")),
        prompt=prompt,
        schema=rules_schema(annotated, clauses, context.registry, context.approvers, offered),
        check=lambda content: _mistakes(server, content, clauses, context),
        beside=fill("rules.lists", lists=as_data(lists)),
        previous=previous,
        told=told_clauses(clauses),
        rename=rename_clauses,
        about=f"the rules of {server}, from {len(clauses)} clause{'s' * (len(clauses) > 1)}",
    )


def _previous_text(
    server: str, clauses: Sequence[PlacedClause], context: RuleContext, cache: AnswerCache
) -> str:
    """Return what is told of the rules of the last compile, so that what need not change stays as it is."""
    if context.published is None:
        return ""
    answered = cache.previous(f"rules-{server}")
    data = previous_rules(server, context.published, answered, clauses)
    return fill("rules.previous", previous=as_data(data)) if data else ""


def _mistakes(
    server: str, content: JsonValue, clauses: Sequence[PlacedClause], context: RuleContext
) -> list[str]:
    """Return all that is wrong with an answer that fits its schema: one mistake hides no other one."""
    mistakes: list[str] = []
    rules: list[Rule] = []
    try:
        context = replace(context, facts=read_facts(content))
    except FactsError as error:
        return [*error.mistakes]  # without its facts every test of them would be another mistake
    written = entries(content, "rules")
    for entry in written:
        name = str(entry["name"])
        try:
            problems = _name_problems(name, server) + _empty_conditions(_conditions(entry))
            rules += [] if problems else [read_rule(server, entry)]
        except ValidationError as error:
            problems = [f"{'/'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        mistakes += [f"rule {quoted(name)}: {visible(problem)}" for problem in problems]
    mistakes += [
        *field_mistakes(context.facts, context.look_ups),
        *model_mistakes(rules, context),
        *_limit_mistakes(sound_rules(rules, context), _quotes({server: content}), context),
    ]
    if len(rules) < len(written):
        return mistakes  # a clause may be that of a rule that could not be read
    return mistakes + coverage_mistakes(content, rules, clauses, context.annotations.servers[server])


def _name_problems(name: str, server: str) -> list[str]:
    prefix = rule_prefix(server)
    return [] if name.startswith(prefix) else [f"its name does not begin with {prefix}"]


def _empty_conditions(conditions: dict[str, JsonValue]) -> list[str]:
    """Return what is empty: leaving it out instead would make the rule speak of everything."""
    problems = [f"the condition {quoted(key)} is empty" for key, value in conditions.items() if value == []]
    return problems if conditions else ["it has no condition"]


def _limit_mistakes(rules: Sequence[Rule], quotes: Mapping[str, str], context: RuleContext) -> list[str]:
    """Return a mistake for each rule without a limit that the words of its clause do not cover."""
    mistakes = []
    for rule in rules:
        found = unlimited(rule, context.annotations, context.registry)
        if rule.name in quotes:
            wrong = quote_mistake(quotes[rule.name], _clause(rule, context))
            mistakes += [f"rule {quoted(rule.name)}: {wrong}"] if wrong else []
        elif found:
            mistakes.append(
                f"rule {quoted(rule.name)}: {unlimited_text(found)}. Name the directories, domains or "
                "identifiers that the clause means, name only the harmless roles in `roles`, or escalate; "
                "only if the clause itself permits all of it, quote its words in `clause_says`"
            )
    return mistakes


def _clause(rule: Rule, context: RuleContext) -> Clause | None:
    placed = context.clause(rule.clause)
    return placed.clause if placed else None


def _quotes(contents: Mapping[str, JsonValue]) -> dict[str, str]:
    return {
        str(rule["name"]): str(rule["clause_says"])
        for content in contents.values()
        for rule in entries(content, "rules")
        if rule.get("clause_says")
    }


def _errors(rules: Sequence[Rule], context: RuleContext) -> Sequence[IronCurtainError]:
    try:
        _check(_policy(rules, context), context)
    except SeveralErrors as error:
        return error.errors
    except IronCurtainError as error:
        return [error]
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
        context.registry,
        case_insensitive_hosts=context.case_insensitive_hosts,
    )


def _sentence(error: IronCurtainError) -> str:
    where = f"{error.where}: " if error.where else ""
    return f"{where}{error.what}" + (f" ({error.hint})" if error.hint else "")


def read_rule(server: str, entry: dict[str, JsonValue]) -> Rule:
    """Make a rule of an entry of an answer: it is confined to its server; null stands for no condition.

    Raises:
        ValidationError: If it is none of a rule's form.
    """
    complete = {key: value for key, value in entry.items() if key != "clause_says"}
    return read_answer(Rule, {**complete, "if": {"server": [server], **_conditions(entry)}})


def _conditions(entry: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the conditions that an entry gives."""
    conditions = entry["if"]
    given = conditions.items() if isinstance(conditions, dict) else ()
    return {key: value for key, value in given if value is not None}


def _policy(rules: Sequence[Rule], context: RuleContext) -> CompiledPolicy:
    clauses = tuple(placed.clause for placed in context.clauses)
    policy = CompiledPolicy(
        format="ironcurtain/policy/v1",
        clauses=clauses,
        rules=tuple(rules),
        caller=dict(context.caller),
        approvers=dict(context.approvers),
    )
    # A policy without facts says nothing of them.
    return policy.model_copy(update={"facts": dict(context.facts)}) if context.facts else policy
