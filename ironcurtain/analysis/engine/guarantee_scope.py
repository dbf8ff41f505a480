"""Reading guarantees: their names looked up, their patterns canonical, contradictions refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ironcurtain.analysis.engine.rules.predicates import Predicate, rule_predicate
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.patterns import canonical_pattern, contains
from ironcurtain.decision.reserved_tools import RESERVED
from ironcurtain.decision.roles import GIT_REMOTE, NONE, Registry
from ironcurtain.errors import GuaranteeError, IronCurtainError, PatternError, raise_all
from ironcurtain.model.annotations import Annotations, ToolAnnotation
from ironcurtain.model.conditions import ValueTest
from ironcurtain.model.facts import fact_types
from ironcurtain.model.guarantees import Guarantee, Guarantees, GuaranteeScope
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.unknown_facts import Root, reference
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

SANDBOX = "sandbox"
_SHOWN = 12
_UNOPENED = "No rule opens these requests: all are denied, so only `never` can be kept."
_BY_INDEX = "Tests reach into an array by `*`, not by an index."


class ReadGuarantee(Struct):
    """A guarantee with its names looked up.

    Attributes:
        tools: The tools that it speaks of; of a guarantee about resources, those that can have such.
        kind: The kind of its patterns.
        within: Canonical patterns, the sandbox as its directory; None if it does not ask.
        unopened: Requests beside tool calls that it names and no rule opens: none is ever permitted.
    """

    guarantee: Guarantee
    tools: tuple[tuple[str, str], ...]
    kind: str
    within: frozenset[str] | None
    outside: frozenset[str] | None
    predicates: tuple[Predicate, ...]
    unopened: tuple[str, ...] = ()

    @property
    def patterns(self) -> frozenset[str]:
        """All its patterns."""
        return (self.within or frozenset()) | (self.outside or frozenset())

    def matches(self, key: ResourceKey, registry: Registry) -> bool:
        """Tell whether the guarantee's roles and patterns speak of a resource."""
        roles = self.guarantee.when.roles
        if roles is not None and key.role not in roles:
            return False
        if self.within is None and self.outside is None:
            return True
        if key.role == NONE or registry[key.role].pattern_kind != self.kind:
            return False
        inside = self.within is None or bool(self.within & key.marks)
        return inside and not (self.outside or frozenset()) & key.marks


def read_guarantees(
    guarantees: Guarantees, content: PolicyContent, registry: Registry, world: DescribedWorld
) -> list[ReadGuarantee]:
    """Look up everything that guarantees name.

    Raises:
        GuaranteeError: For each one that names what does not exist, or contradicts itself.
    """
    prepared: list[ReadGuarantee] = []
    problems: list[IronCurtainError] = []
    for guarantee in guarantees.guarantees:
        try:
            prepared.append(_prepare(guarantee, content, registry, world))
        except GuaranteeError as error:
            problems.append(GuaranteeError(f"guarantee {guarantee.id}: {error.what}", hint=error.hint))
    raise_all(problems)
    return prepared


def _prepare(
    guarantee: Guarantee, content: PolicyContent, registry: Registry, world: DescribedWorld
) -> ReadGuarantee:
    scope = guarantee.when
    if guarantee.clause is not None and content.clauses and guarantee.clause not in content.clauses:
        raise GuaranteeError(f"there is no clause {quoted(guarantee.clause)}", hint=_known(content.clauses))
    tools, unopened = _tools(guarantee, content.annotations)
    if unopened and not tools:
        return ReadGuarantee(guarantee, (), "", None, None, (), unopened)
    _check_roles(scope, tools, content.annotations, registry)
    _check_pointers(scope, tools, content)
    kind = _kind(scope, registry)
    if scope.roles is not None or scope.within is not None or scope.outside is not None:
        tools = having_roles(tools, roles_of(scope.roles, kind, registry), content.annotations)
    within, outside = (_patterns(p, kind, content, registry, world) for p in (scope.within, scope.outside))
    _check_contradiction(within, outside, kind, registry)
    # A promise to allow speaks of callers that are known; every other one of those that are not, too.
    demand = guarantee.always or Verdict.DENY
    return ReadGuarantee(guarantee, tools, kind, within, outside, tests_of(scope, demand), unopened)


def tests_of(scope: GuaranteeScope, demand: Verdict) -> tuple[Predicate, ...]:
    """Return the tests of a scope as they are read in a rule of a verdict."""
    return (
        *(rule_predicate("args", test, demand) for test in scope.args),
        *(rule_predicate("caller", test, demand) for test in scope.caller),
        *(rule_predicate("facts", test.test, demand) for test in scope.facts),
    )


def _tools(
    guarantee: Guarantee, annotations: Annotations
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the tools that a guarantee speaks of, and the requests that it names and no rule opens."""
    scope, unopened = guarantee.when, []
    for server in scope.server or ():
        if server not in annotations.servers:
            raise GuaranteeError(f"there is no server {quoted(server)}", hint=_known(annotations.servers))
    places = [place for place in annotations.tools() if scope.server is None or place[0] in scope.server]
    names = {tool for _, tool in places}
    for tool in scope.tool or ():
        if tool not in names and tool in RESERVED and guarantee.never is not None:
            unopened.append(tool)
        elif tool not in names:
            hint = _UNOPENED if tool in RESERVED else _known(names)
            raise GuaranteeError(f"there is no tool {quoted(tool)}", hint=hint)
    chosen = tuple(place for place in places if scope.tool is None or place[1] in scope.tool)
    return chosen, tuple(unopened)


def _check_roles(
    scope: GuaranteeScope, tools: Iterable[tuple[str, str]], annotations: Annotations, registry: Registry
) -> None:
    resources = [role.name for role in registry.resources]
    for role in scope.roles or ():
        if role not in resources:
            raise GuaranteeError(f"there is no role {quoted(role)} of resources", hint=_known(resources))
    found = [annotations.find(server, name) for server, name in tools]
    carried = {role for tool in found if tool is not None for role in possible_roles(tool)} - {NONE}
    if scope.roles is not None and not carried & set(scope.roles):
        raise GuaranteeError(
            f"no tool that it speaks of has a resource of role {', '.join(scope.roles)}", hint=_known(carried)
        )


def roles_of(roles: Collection[str] | None, kind: str, registry: Registry) -> frozenset[str]:
    """Return the roles that a condition speaks of: those that it names, or all of a kind of patterns."""
    return frozenset(roles or (role.name for role in registry.resources if role.pattern_kind == kind))


def having_roles(
    tools: Iterable[tuple[str, str]], roles: Collection[str], annotations: Annotations
) -> tuple[tuple[str, str], ...]:
    """Return those of some tools that can have a resource of one of some roles."""
    return tuple(
        (server, name)
        for server, name in tools
        for tool in [annotations.find(server, name)]
        if tool is not None and not possible_roles(tool).isdisjoint(roles)
    )


def possible_roles(tool: ToolAnnotation) -> frozenset[str]:
    """Return every role that a resource of a tool can have."""
    named = {role for argument in tool.args for role in argument.possible_roles}
    named |= {composite.role for composite in tool.composites} | {NONE}
    # A remote may be a local directory.
    return frozenset(named | {"read-path", "write-path"} if GIT_REMOTE in named else named)


def _check_pointers(scope: GuaranteeScope, tools: Iterable[tuple[str, str]], content: PolicyContent) -> None:
    """Refuse what would test nothing: an argument that no tool has, an index into an array, an unknown fact.

    OPA looks names up in objects only.
    """
    found = [tool for server, name in tools if (tool := content.annotations.find(server, name)) is not None]
    known = {name for tool in found for name in tool.argument_names}
    facts = fact_types(content.facts)
    for root, name in _named(scope):
        top, *below = pointers.steps_of(name)
        by_index = [step for step in below if step.isdecimal()]
        if root == "facts":
            if name not in facts:
                raise GuaranteeError(f"no fact {quoted(name)} is declared", hint=_known(facts))
        elif root == "caller":
            if by_index:
                raise GuaranteeError(f"`caller` {quoted(name)} names an element by its index", hint=_BY_INDEX)
        elif top not in known or any(
            not any(_describes(step, tool.input_schema) for tool in found) for step in by_index
        ):
            raise GuaranteeError(
                f"`args` {quoted(name)}: no tool that it speaks of has such an argument",
                hint=_known(known) if top not in known else _BY_INDEX,
            )


def _named(scope: GuaranteeScope) -> Iterator[tuple[Root, str]]:
    """Yield each argument and fact, with its root, that a scope tests, or compares another one with."""
    tests_by_root: tuple[tuple[Root, tuple[ValueTest, ...]], ...] = (
        ("args", scope.args),
        ("caller", scope.caller),
        ("facts", tuple(test.test for test in scope.facts)),
    )
    for root, tests in tests_by_root:
        for test in tests:
            yield from ((root, name) for name in test.names)
            referred = reference(test.value)
            if referred is not None:
                yield referred


def _describes(name: str, node: JsonValue) -> bool:
    """Tell whether a schema has a property of this name anywhere."""
    if isinstance(node, dict):
        properties = node.get("properties")
        known = isinstance(properties, dict) and name in properties
        return known or any(_describes(name, child) for child in node.values())
    return isinstance(node, list | tuple) and any(_describes(name, child) for child in node)


def _kind(scope: GuaranteeScope, registry: Registry) -> str:
    if scope.roles is None:
        patterns = (*(scope.within or ()), *(scope.outside or ()))
        if any(p != SANDBOX and not p.startswith(("/", "~")) for p in patterns):
            raise GuaranteeError(
                "its patterns are no directories", hint="Name the roles that they belong to."
            )
        return "path"
    kinds = {registry[role].pattern_kind for role in scope.roles}
    if len(kinds) > 1 and (scope.within or scope.outside):
        raise GuaranteeError(
            f"one pattern cannot speak of {' and '.join(sorted(kinds))}",
            hint="Write one guarantee for each role.",
        )
    return min(kinds)


def _patterns(
    texts: Sequence[str] | None, kind: str, content: PolicyContent, registry: Registry, world: DescribedWorld
) -> frozenset[str] | None:
    if texts is None:
        return None
    found = set()
    for text in texts:
        if text == SANDBOX and kind == "path":
            if world.sandbox is None:
                raise GuaranteeError(
                    "the assumed world has no sandbox", hint="Give the scenarios' world one."
                )
            found.add(world.sandbox)
            continue
        try:
            found.add(
                canonical_pattern(kind, text, registry, case_insensitive_hosts=content.case_insensitive_hosts)
            )
        except PatternError as error:
            raise GuaranteeError(error.what, hint=error.hint) from None
    return frozenset(found)


def _check_contradiction(
    within: frozenset[str] | None, outside: frozenset[str] | None, kind: str, registry: Registry
) -> None:
    """Refuse patterns that leave nothing: then the guarantee would hold whatever the policy says."""
    if within is None or outside is None:
        return
    if all(any(contains(kind, outer, inner, registry) for outer in outside) for inner in within):
        raise GuaranteeError(
            f"nothing lies within {', '.join(map(visible, sorted(within)))} and outside "
            f"{', '.join(map(visible, sorted(outside)))}",
            hint="Correct one of the two.",
        )


def _known(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = ", …" if len(listed) > _SHOWN else ""
    return f"Known: {', '.join(visible(name) for name in listed[:_SHOWN])}{more}."
