"""Stage 4, resolve lists: every `@name` that a rule uses must be there, resolved; the next stage renders.

A list that nobody has filled is resolved through MCP servers: one question for all of them says which
tools read them (`question.py`), and the tools are called (`resolve.py`). What was resolved, and what people
added and removed (`edit.py`), is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ironcurtain.compiler.lists.resolve import ListContext, keep_answers, refresh
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.errors import ListError, raise_all
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.system.structs import Struct

_SHOWN = 10
_BY_HAND = "`ironcurtain lists add {name} --type {kind} VALUE…` fills it by hand, "
_BY_SERVER = "`ironcurtain lists refresh {name} --type {kind}` through a server."


class Resolved(Struct):
    """The stage's result.

    Attributes:
        lists: All lists; those that rules use are resolved.
        notes: What was resolved, one line each; the findings name lists that no rule uses.
    """

    lists: Lists
    notes: tuple[str, ...]


def resolve_lists(
    lists: Lists, policy: CompiledPolicy, context: ListContext, cache: AnswerCache, *, ask: bool
) -> Resolved:
    """Resolve the lists that rules use and that nobody has filled.

    Args:
        lists: The lists as people and the last compile left them.
        policy: The rules.
        context: What to resolve against. With `ask_again`, what earlier compiles resolved is resolved anew.
        cache: Where answers come from.
        ask: Whether somebody may be asked and servers may be called; otherwise lists stay as they are.

    Raises:
        ListError: For each list that a rule uses and that is still not resolved, or has no such tool.
        OpenQuestionError, BadAnswerError, AnswerMissingError, ModelFailedError: From the answers, and if
            a person has to confirm a tool.
        ServerFailedError: If a tool cannot be called or answers nothing usable.
    """
    found = _declared(lists, policy)
    used = [name for name in used_lists(policy) if name in found.lists]
    wanted = [name for name in used if _is_wanted(found.lists[name], again=context.ask_again)]
    keep_answers(found, [n for n in used if n not in wanted and found.lists[n].by_compile], context, cache)
    if not (wanted and ask):
        check_lists(lists, policy)
        return Resolved(lists, ())
    edited = refresh(found, wanted, context, cache)
    marked = {
        name: named.model_copy(update={"by_compile": True}) if name in wanted and named.resolution else named
        for name, named in edited.lists.lists.items()
    }
    resolved = edited.lists.model_copy(update={"lists": marked})
    check_lists(resolved, policy, edited.by_hand)
    notes = [line for line in edited.lines if line.startswith("@")]
    return Resolved(resolved, (*notes, *(_held(name, marked[name]) for name in wanted)))


def _held(name: str, named: NamedList) -> str:
    shown = ", ".join(named.values[:_SHOWN]) or "nothing"
    more = f" and {len(named.values) - _SHOWN} more" if len(named.values) > _SHOWN else ""
    return f"@{name} holds {shown}{more}"


def _declared(lists: Lists, policy: CompiledPolicy) -> Lists:
    """Return the lists with those that rules name and nobody declared, asked for by the first such rule."""
    missing = {
        name: NamedList(type=kind, source=_first_clause(name, policy))
        for name, kind in used_lists(policy).items()
        if name not in lists.lists
    }
    return lists.model_copy(update={"lists": dict(sorted({**lists.lists, **missing}.items()))})


def _is_wanted(named: NamedList, *, again: bool) -> bool:
    return not named.is_resolved or (again and named.by_compile)


def _first_clause(name: str, policy: CompiledPolicy) -> str:
    return next(
        rule.clause
        for rule in policy.rules
        if any(f"@{name}" in condition.patterns for condition in rule.if_.role_conditions)
    )


def used_lists(policy: CompiledPolicy) -> dict[str, str]:
    """Return the names of the lists that rules use, with the type of list that each needs."""
    used: dict[str, str] = {}
    for rule in policy.rules:
        for condition in rule.if_.domains or ():
            used.update(dict.fromkeys(_names(condition.allowed), "domain"))
        for condition in rule.if_.lists or ():
            used.update(dict.fromkeys(_names(condition.allowed), condition.roles[0]))
    return dict(sorted(used.items()))


def check_lists(lists: Lists, policy: CompiledPolicy, by_hand: Mapping[str, str] | None = None) -> None:
    """Refuse lists that rules need and that have no members yet.

    `by_hand` says, by list, why no tool can fill it.

    Raises:
        ListError: For each list that a rule uses and that is not defined, or not resolved.
    """
    used = used_lists(policy)
    errors = []
    for name, kind in used.items():
        found = lists.lists.get(name)
        if found is None or not found.is_resolved:
            state = "is not defined" if found is None else "is not resolved"
            why = f": {by_hand[name]}" if by_hand and name in by_hand else ""
            errors.append(
                ListError(
                    f"rules use @{name}, which {state}{why}",
                    where="dynamic-lists.json",
                    hint=(_BY_HAND + _BY_SERVER).format(name=name, kind=kind),
                )
            )
    raise_all([*errors])


def _names(patterns: Iterable[str]) -> list[str]:
    return [pattern.removeprefix("@") for pattern in patterns if pattern.startswith("@")]
