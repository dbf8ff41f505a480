"""The patterns and `@lists` of rules: canonical, of the kind that their roles demand, defined."""

from __future__ import annotations

from ironcurtain.decision.canonical.patterns import DOMAIN, canonical_member, canonical_pattern
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError, ListError, PatternError
from ironcurtain.model.conditions import RoleCondition
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.system.text import is_hidden, nearest, quoted


def members(named: NamedList, registry: Registry) -> tuple[str, ...]:
    """Return the members of a list in canonical form, sorted: resolved and added ones without removed ones.

    Raises:
        PatternError: If a value is none of the list's type.
    """

    def canonical(values: tuple[str, ...]) -> set[str]:
        return {_member(value, named.type, registry) for value in values}

    return tuple(sorted(canonical((*(named.resolved or ()), *named.added)) - canonical(named.removed)))


class PatternChecker:
    """Checks the patterns of one policy against one set of lists."""

    def __init__(
        self, registry: Registry, lists: Lists | None, case_insensitive_hosts: frozenset[str]
    ) -> None:
        self._registry = registry
        self._lists = lists.lists if lists else {}
        self._hosts = case_insensitive_hosts

    def check(
        self, what: str, key: str, condition: RoleCondition, problems: list[IronCurtainError]
    ) -> tuple[str, ...]:
        """Return a condition's patterns in canonical form, each once; what is wrong goes to `problems`.

        Args:
            what: Whose condition it is, as mistakes name it.
            key: The condition's key.
            condition: The condition.
            problems: The mistakes so far.
        """
        kinds = list(dict.fromkeys(self._registry[role].pattern_kind for role in condition.roles))
        found = []
        for text in condition.patterns:
            try:
                found.append(
                    self._reference(text, key, kinds) if text.startswith("@") else self._one(text, kinds)
                )
            except (PatternError, ListError) as error:
                problems.append(
                    type(error)(f"{what}: `{key}`: {error.what}", where=error.where, hint=error.hint)
                )
        return tuple(dict.fromkeys(found))

    def list_problems(self) -> list[IronCurtainError]:
        """Return what is wrong with the lists themselves: their types and their values."""
        problems: list[IronCurtainError] = []
        for name, named in sorted(self._lists.items()):
            if named.type not in self._types():
                problems.append(
                    ListError(
                        f"list {quoted(name)}: there is no list type {quoted(named.type)}",
                        hint=f"Types: {', '.join(sorted(self._types()))}.",
                    )
                )
                continue
            for value in (*(named.resolved or ()), *named.added, *named.removed):
                try:
                    _member(value, named.type, self._registry)
                except PatternError as error:
                    problems.append(ListError(f"list {quoted(name)}: {error.what}", hint=error.hint))
        return problems

    def _types(self) -> set[str]:
        kinds = {r.pattern_kind for r in self._registry.resources if r.category == "identifier"}
        return {DOMAIN} | kinds

    def _one(self, text: str, kinds: list[str]) -> str:
        _refuse_hidden(text)
        spellings = {self._canonical(kind, text) for kind in kinds}
        if len(spellings) > 1:
            raise PatternError(
                f"{quoted(text)} means different things under {' and '.join(kinds)}",
                hint="Write one condition for each role.",
            )
        return spellings.pop()

    def _canonical(self, kind: str, text: str) -> str:
        return canonical_pattern(kind, text, self._registry, case_insensitive_hosts=self._hosts)

    def _reference(self, text: str, key: str, kinds: list[str]) -> str:
        name = text[1:]
        if key == "paths":
            raise ListError("a named list cannot hold directories", hint="Name the directories in the rule.")
        named = self._lists.get(name)
        if named is None:
            meant = nearest(name, self._lists)
            hint = f"Did you mean {quoted(f'@{meant}')}?" if meant else "Define it in dynamic-lists.json."
            raise ListError(f"there is no list {quoted(text)}", hint=hint)
        self._check_reference(text, named, kinds)
        return text

    def _check_reference(self, text: str, named: NamedList, kinds: list[str]) -> None:
        if named.resolved is None and not named.added:
            raise ListError(
                f"the list {quoted(text)} is not resolved", hint="Resolve it, or add values to it."
            )
        wrong = [kind for kind in kinds if named.type != (DOMAIN if kind == "url" else kind)]
        if wrong:
            raise ListError(
                f"the list {quoted(text)} holds values of type {quoted(named.type)}, not {quoted(wrong[0])}",
                hint="Use a list of the type that the condition's roles have.",
            )


def _member(text: str, kind: str, registry: Registry) -> str:
    _refuse_hidden(text)
    return canonical_member(kind, text, registry)


def _refuse_hidden(text: str) -> None:
    if any(is_hidden(character) for character in text):
        raise PatternError(f"{quoted(text)} has a control or invisible character", hint="Type it anew.")
