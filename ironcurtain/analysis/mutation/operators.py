"""Mutation operators: the small changes of a policy that its evidence should notice.

A mutant is described by edits of single rules, so that one bundle can hold many mutants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from ironcurtain.analysis.engine.values.witnesses import fresh_words
from ironcurtain.analysis.mutation.report import MutationKind
from ironcurtain.analysis.mutation.source import PolicySource
from ironcurtain.decision.canonical.patterns import DOMAIN, canonical_pattern, contains, separator
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError
from ironcurtain.model.conditions import ArgCondition, FactCondition, If, RoleCondition
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.model.operators import CountBound
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.model.times import seconds_of
from ironcurtain.model.unknown_facts import reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct, field


def parent(kind: str, pattern: str, registry: Registry) -> str | None:
    """Return the next wider pattern that a policy can name, None if there is none."""
    if pattern.startswith("@"):
        return None
    return _first(kind, _wider(kind, pattern, registry), registry)


def child(kind: str, pattern: str, others: Iterable[str], fresh: str, registry: Registry) -> str | None:
    """Return a narrower pattern, None if there is none: one that the policy names, or a new one.

    Args:
        kind: The kind of pattern.
        pattern: The pattern.
        others: Other patterns of the kind; the shortest one inside is preferred.
        fresh: A word that the policy does not contain.
        registry: The roles.
    """
    if pattern.startswith("@"):
        return None
    named = sorted((p for p in others if not p.startswith("@") and p != pattern), key=lambda p: (len(p), p))
    inside = next((p for p in named if contains(kind, pattern, p, registry)), None)
    return inside or _first(kind, _narrower(kind, pattern, fresh, registry), registry)


def nobody(list_type: str, fresh: str, registry: Registry) -> str | None:
    """Return a value for a list of some type that no call has."""
    kind = DOMAIN if list_type == "domain" else list_type
    spellings = (fresh, f"{fresh}.invalid", f"{fresh}@{fresh}.invalid", f"{fresh}/{fresh}")
    return _first(kind, iter(spellings), registry)


def _wider(kind: str, pattern: str, registry: Registry) -> Iterator[str]:
    if kind == "path":
        yield pattern.rpartition("/")[0]
    elif kind == "url":
        scheme, mark, rest = pattern.rpartition("://")
        authority, slash, path = rest.partition("/")
        if slash:
            yield f"{scheme}{mark}{authority}/{path}".rpartition("/")[0]
            return
        _, _, domain = authority.removeprefix("*.").partition(".")
        yield from (f"{scheme}{mark}*.{domain}", f"{scheme}{mark}*")
    elif kind == "recipient":
        yield f"*@{pattern.rpartition('@')[2]}"
    elif kind == "repository":
        yield f"{pattern.rpartition('/')[0]}/*"
    elif level := separator(registry[kind]):
        head = pattern.removesuffix("**").removesuffix(level).rpartition(level)[0]
        if head:
            yield f"{head}{level}**"


def _narrower(kind: str, pattern: str, fresh: str, registry: Registry) -> Iterator[str]:
    if kind == "path":
        yield f"{pattern.removesuffix('/')}/{fresh}"
    elif kind == "url":
        scheme, mark, rest = pattern.rpartition("://")
        if rest == "*":
            yield f"{scheme}{mark}{fresh}.example"
        elif rest.startswith("*."):
            yield f"{scheme}{mark}{fresh}.{rest.removeprefix('*.')}"
        else:
            yield f"{pattern}/{fresh}"
    elif kind == "recipient" and pattern.startswith("*@"):
        yield f"{fresh}{pattern.removeprefix('*')}"
    elif kind == "repository" and pattern.endswith("/*"):
        yield f"{pattern.removesuffix('*')}{fresh}"
    elif kind not in ("recipient", "repository") and pattern.endswith("**") and separator(registry[kind]):
        yield f"{pattern.removesuffix('**')}{fresh}"


def _first(kind: str, spellings: Iterator[str], registry: Registry) -> str | None:
    """Return the first spelling that a policy could name."""
    for spelling in spellings:
        try:
            if canonical_pattern(kind, spelling, registry) == spelling:
                return spelling
        except PatternError:
            continue
    return None


_BOUNDS = frozenset({"lt", "le", "gt", "ge"})
_CONDITIONS = {"paths": "within", "domains": "allowed", "lists": "allowed"}


class Mutant(Struct):
    """One changed policy.

    Attributes:
        change: The change in words.
        replaced: By position of a rule, what stands in its place; None for nothing.
        inserted: By position of a rule, what follows it.
        lists: Further named lists that the changed rules refer to.
    """

    kind: MutationKind
    rule: Rule
    change: str
    replaced: Mapping[int, Rule | None]
    inserted: Mapping[int, Rule] = field(default_factory=dict)
    lists: Mapping[str, NamedList] = field(default_factory=dict)

    @cached_property
    def id(self) -> str:
        """Twelve hexadecimal digits of the change's digest."""
        content: JsonSource = [self.kind, self.change, self.rule.model_dump(mode="json", by_alias=True)]
        return json_text.digest(content).removeprefix("sha256:")[:12]

    def rules(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """Return the changed policy's rules."""
        changed: list[Rule] = []
        for position, rule in enumerate(rules):
            kept = self.replaced.get(position, rule)
            changed += [
                kept_rule for kept_rule in (kept, self.inserted.get(position)) if kept_rule is not None
            ]
        return tuple(changed)


def mutants(source: PolicySource) -> list[Mutant]:
    """Return every mutant of a policy, each once; a change that the compiler refuses makes none."""
    maker = _Maker(source.policy, source.lists, source.registry)
    rules = source.policy.rules
    made = [mutant for position, rule in enumerate(rules) for mutant in maker.of_rule(position, rule)]
    made += maker.swapped()
    made += maker.emptied()
    distinct = {mutant.id: mutant for mutant in made}
    return [
        mutant
        for mutant in distinct.values()
        if source.accepts([rule for rule in mutant.replaced.values() if rule is not None], mutant.lists)
    ]


class _Maker:
    def __init__(self, policy: CompiledPolicy, lists: Lists, registry: Registry) -> None:
        self._rules = policy.rules
        self._approvers = sorted(policy.approvers)
        self._lists = lists.lists
        self._registry = registry
        self._named: dict[str, set[str]] = {}
        for rule in policy.rules:
            for condition in rule.if_.role_conditions:
                self._named.setdefault(self._kind(condition), set()).update(condition.patterns)
        self._fresh = fresh_words([policy.model_dump_json(by_alias=True), lists.model_dump_json()])[0]

    def of_rule(self, position: int, rule: Rule) -> Iterator[Mutant]:
        yield Mutant("rule dropped", rule, f"without {rule.name}", {position: None})
        for changed, kind, words in (
            *self._verdicts(rule),
            *self._asked(rule),
            *self._patterns(rule),
            *self._bounds(rule),
            *self._roles(rule),
        ):
            yield Mutant(kind, rule, f"{rule.name}: {words}", {position: changed})

    # -- one rule ---------------------------------------------------------------------------------

    def _verdicts(self, rule: Rule) -> Iterator[tuple[Rule, MutationKind, str]]:
        for verdict in Verdict:
            if verdict is not rule.then:
                yield _with_verdict(rule, verdict), "verdict changed", f"{rule.then} becomes {verdict}"

    def _asked(self, rule: Rule) -> Iterator[tuple[Rule, MutationKind, str]]:
        """Ask somebody else than the approver whom a rule names: each other one, and anybody."""
        if rule.approver is not None:
            for other in (None, *(name for name in self._approvers if name != rule.approver)):
                changed = rule.model_copy(update={"approver": other})
                yield changed, "approver changed", f"asks {other or 'anybody'}, not {rule.approver}"

    def _patterns(self, rule: Rule) -> Iterator[tuple[Rule, MutationKind, str]]:
        for key, number, condition in _conditions(rule.if_):
            kind = self._kind(condition)
            others = self._named[kind] - set(condition.patterns)
            for pattern in condition.patterns:
                wider = parent(kind, pattern, self._registry)
                narrower = child(kind, pattern, others, self._fresh, self._registry)
                for new, what in ((wider, "widened"), (narrower, "narrowed")):
                    if new is None or new in condition.patterns:
                        continue
                    patterns = [new if other == pattern else other for other in condition.patterns]
                    changed = _with_condition(rule, key, number, {_CONDITIONS[key]: patterns})
                    label: MutationKind = "pattern widened" if what == "widened" else "pattern narrowed"
                    yield changed, label, f"{pattern} becomes {new}"

    def _bounds(self, rule: Rule) -> Iterator[tuple[Rule, MutationKind, str]]:
        for key in ("args", "caller"):
            for number, test in enumerate(getattr(rule.if_, key) or ()):
                for moved, words in _moved(test):
                    tests = [*getattr(rule.if_, key)]
                    tests[number] = moved
                    yield _with_if(rule, {key: tuple(tests)}), "bound moved", words
        for number, one in enumerate(rule.if_.facts or ()):
            for value in _moved_fact(one):
                facts = [*(rule.if_.facts or ())]
                facts[number] = one.model_copy(update={"value": value})
                words = f"{one.fact} {one.op} {one.value} becomes {value}"
                yield _with_if(rule, {"facts": tuple(facts)}), "bound moved", words

    def _roles(self, rule: Rule) -> Iterator[tuple[Rule, MutationKind, str]]:
        if rule.if_.roles is not None and len(rule.if_.roles) > 1:
            for role in rule.if_.roles:
                left = tuple(other for other in rule.if_.roles if other != role)
                yield _with_if(rule, {"roles": left}), "role removed", f"without the role {role}"
        for key, number, condition in _conditions(rule.if_):
            for role in condition.roles if len(condition.roles) > 1 else ():
                left = tuple(other for other in condition.roles if other != role)
                changed = _with_condition(rule, key, number, {"roles": left})
                yield changed, "role removed", f"{', '.join(condition.patterns)} without the role {role}"

    # -- several rules ----------------------------------------------------------------------------

    def swapped(self) -> Iterator[Mutant]:
        """Swap neighbours that can concern the same call."""
        for position, (first, second) in enumerate(pairwise(self._rules)):
            if _can_meet(first.if_.server, second.if_.server) and _can_meet(first.if_.tool, second.if_.tool):
                yield Mutant(
                    "order swapped",
                    first,
                    f"{first.name} after {second.name}",
                    {position: None},
                    {position + 1: first},
                )

    def emptied(self) -> Iterator[Mutant]:
        """Empty each list: what it holds then is a value that no call has."""
        for name, named in self._lists.items():
            value = nobody(named.type, self._fresh, self._registry)
            if value is None:
                continue
            empty = f"{name}-{self._fresh}"
            replaced: dict[int, Rule | None] = {}
            for position, rule in enumerate(self._rules):
                changed = _renamed(rule, f"@{name}", f"@{empty}")
                if changed != rule:
                    replaced[position] = changed
            if replaced:
                first = self._rules[min(replaced)]
                lists = {empty: NamedList(type=named.type, resolved=(value,))}
                yield Mutant("list emptied", first, f"@{name} is empty", replaced, lists=lists)

    def _kind(self, condition: RoleCondition) -> str:
        return str(self._registry[condition.roles[0]].pattern_kind)


def _moved(test: ArgCondition) -> Iterator[tuple[ArgCondition, str]]:
    """Yield a test with each of its bounds moved by one, and that in words."""
    if test.op in _BOUNDS and isinstance(test.value, int | float):
        for value in (test.value - 1, test.value + 1):
            words = f"{test.name} {test.op} {test.value} becomes {value}"
            yield test.model_copy(update={"value": value}), words
    if reference(test.value) is not None and isinstance(test.value, dict):
        for key in ("times", "plus"):
            known = test.value.get(key)
            for value in (known - 1, known + 1) if isinstance(known, int) else ():
                words = f"{test.name} {test.op}: {key} {known} becomes {value}"
                yield test.model_copy(update={"value": {**test.value, key: value}}), words
    yield from _moved_apart(test)
    if test.count is not None:
        op, number = test.count.op, test.count.number
        for moved in (number - 1, number + 1):
            if moved >= 0:
                bound = CountBound.model_validate({op: moved})
                words = f"{test.name}: count {op} {number} becomes {moved}"
                yield test.model_copy(update={"count": bound}), words


def _moved_apart(test: ArgCondition) -> Iterator[tuple[ArgCondition, str]]:
    """Yield a test of two dates or times with the distance between them moved by one of its units."""
    plus = test.value.get("plus") if test.part is not None and isinstance(test.value, dict) else None
    if isinstance(plus, str):
        for moved in (f"{int(plus[:-1]) + step}{plus[-1]}" for step in (-1, 1)):
            words = f"{test.name} {test.op}: plus {plus} becomes {moved}"
            yield test.model_copy(update={"value": {**json_text.members(test.value), "plus": moved}}), words


def _with_if(rule: Rule, update: Mapping[str, object]) -> Rule:
    return rule.model_copy(update={"if_": rule.if_.model_copy(update=dict(update))})


def _with_condition(rule: Rule, key: str, number: int, update: Mapping[str, Iterable[str] | bool]) -> Rule:
    conditions = [*getattr(rule.if_, key)]
    values = {name: value if isinstance(value, bool) else tuple(value) for name, value in update.items()}
    conditions[number] = conditions[number].model_copy(update=values)
    return _with_if(rule, {key: tuple(conditions)})


def _with_verdict(rule: Rule, verdict: Verdict) -> Rule:
    """Change a verdict; `or_none` speaks of allow rules only, and an approver of escalating ones."""
    approver = rule.approver if verdict is Verdict.ESCALATE else None
    changed = rule.model_copy(update={"then": verdict, "approver": approver})
    if verdict is not Verdict.ALLOW:
        for key, number, condition in _conditions(rule.if_):
            if condition.or_none:
                changed = _with_condition(changed, key, number, {"or_none": False})
    return changed


def _renamed(rule: Rule, old: str, new: str) -> Rule:
    for key, number, condition in _conditions(rule.if_):
        if old in condition.patterns:
            patterns = [new if pattern == old else pattern for pattern in condition.patterns]
            rule = _with_condition(rule, key, number, {_CONDITIONS[key]: patterns})
    return rule


def _conditions(condition: If) -> Iterator[tuple[str, int, RoleCondition]]:
    for key in _CONDITIONS:
        for number, tested in enumerate(getattr(condition, key) or ()):
            yield key, number, tested


def _can_meet(tests: Sequence[JsonValue] | None, other: Sequence[JsonValue] | None) -> bool:
    return tests is None or other is None or bool({*tests} & {*other})


def _moved_fact(test: FactCondition) -> Iterator[JsonValue]:
    """Yield the operands next to the one of a fact's test: one more, one less, a second more or less."""
    if test.op in _BOUNDS and isinstance(test.value, int | float):
        yield from (test.value - 1, test.value + 1)
    elif test.op in ("older_than", "younger_than"):
        seconds = seconds_of(str(test.value))
        yield from (f"{number}s" for number in (seconds - 1, seconds + 1) if number >= 0)
