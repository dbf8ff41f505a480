"""The space of one tool's calls under one or two policies: all that can be told apart about them.

    space = CallSpace("filesystem", "read_file", load_policies([bundle], world))
    for cell in space.cells.values():
        diagram = space.diagrams.of(cell)

Invariants:

- Nothing that a policy can tell apart is missing from it, unless `gaps` says why: every call that reaches OPA
  has one class of each variable, and each of its resources is in one cell.
- What is not known to exist is kept, and marked `fits=False`.
- It asks nothing of OPA: what the rules make of a call is read from the rules, and `opa_queries.py` compares
  that with OPA's answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ironcurtain.analysis.engine.indexes import PolicyIndex, indexed
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest
from ironcurtain.analysis.engine.rules.diagram import guard_order
from ironcurtain.analysis.engine.rules.predicates import Predicate, role_predicates
from ironcurtain.analysis.engine.rules.rules import GuardKey, rules_of_tool
from ironcurtain.analysis.engine.space.call_arguments import CallArguments
from ironcurtain.analysis.engine.space.cell_diagrams import CellDiagrams
from ironcurtain.analysis.engine.space.compared_identifiers import ComparedIdentifiers
from ironcurtain.analysis.engine.space.dependent import tied_gaps
from ironcurtain.analysis.engine.space.equivalence_classes import find_cells
from ironcurtain.analysis.engine.space.made_calls import unmade
from ironcurtain.analysis.engine.space.modes import Modes, presence_predicates
from ironcurtain.analysis.engine.space.placing import ResourceSource
from ironcurtain.analysis.engine.space.source_elements import SourceElements
from ironcurtain.analysis.engine.space.sources import SourceReader
from ironcurtain.analysis.engine.space.variables import PRESENT, variables_of
from ironcurtain.analysis.engine.values.possible_facts import declared_otherwise, possible_facts
from ironcurtain.decision.roles import GIT_REMOTE, NONE
from ironcurtain.errors import EvidenceError
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.unknown_facts import Root
from ironcurtain.system.frozen import JsonValue

CUSTOM_MODULES = "modules of the project's own"


class CallSpace:
    """Everything that can be told apart about the calls of one tool.

    Args:
        server: The tool's server.
        tool: Its name, known to every policy.
        policies: The policies.
        more: Further tests that calls are told apart by, beside those of the rules.

    Attributes:
        annotation: The tool's annotation.
        rules: Per policy, the rules that concern the tool.
        reader: Its sources, and the steps that their values are run through.
        sources: The arguments, and composites of arguments, that name resources.
        variables: The arguments and caller facts that are tested, with their classes.
        used_predicates: The keys of the tests that rules and roles make.
        compared: The resources that are compared with identifiers of the caller's.
        modes: The combinations of classes.
        arguments: Puts calls together.
        elements: What each source can add to a call.
        diagrams: What the rules say of each cell.
        guards: Every guard, with the policies that have it.
        cells: The equivalence classes of resources, by what each policy knows of them.
        gaps: Why something may be missing; empty where nothing is.

    Raises:
        EvidenceError: If there is more to tell apart than can be examined.
    """

    def __init__(
        self, server: str, tool: str, policies: PoliciesUnderTest, more: Sequence[Predicate] = ()
    ) -> None:
        self.server, self.tool, self.policies = server, tool, policies
        tools = [known for side in policies if (known := side.policy.tool(server, tool)) is not None]
        if len(tools) < len(policies):
            raise EvidenceError("a tool is missing from one of the policies")
        self.annotation = tools[0].annotation
        self.rules = tuple(
            rules_of_tool(side.content, server, self.annotation, side.tokens) for side in policies
        )
        named = {pattern for rules in self.rules for rule in rules for pattern in rule.patterns}
        self.reader = SourceReader(server, tools, policies, frozenset(named))
        self.sources: tuple[ResourceSource, ...] = self.reader.sources
        predicates = [
            *role_predicates(self.annotation),
            *(predicate for rules in self.rules for rule in rules for predicate in rule.predicates),
        ]
        predicates += presence_predicates(self.annotation, [*predicates, *more])
        self.used_predicates = frozenset(predicate.key for predicate in predicates)
        variables = variables_of(
            [*predicates, *more],
            tools[0],
            policies.registry,
            policies.fresh,
            possible_facts([side.content.facts for side in policies], server, tool),
        )
        self.variables = variables.values
        self.compared = ComparedIdentifiers.of(
            [*predicates, *more], self.annotation, policies.registry, policies.fresh
        )
        self.modes = Modes(self.sources, self.variables)
        self.arguments = CallArguments(tools[0], self.modes, self.reader, policies)
        self.elements = SourceElements(self.reader, self.modes, self.arguments, policies.registry)
        self.diagrams = CellDiagrams((server, tool), self.rules, self.modes, self.elements)
        self.gaps = variables.gaps | self.reader.gaps() | self.modes.gaps
        unlike = declared_otherwise(side.content.facts for side in policies)
        self.gaps |= {f"the fact {name}, which the policies declare otherwise" for name in unlike}
        self.gaps |= {*_declared_otherwise([side.content.caller for side in policies])}
        self.gaps |= {CUSTOM_MODULES for side in policies if side.has_custom_modules}
        self.gaps |= {*tied_gaps(self.annotation, self._tested(), self.arguments.filled({}))}
        self.guards: Mapping[GuardKey, frozenset[PolicyIndex]] = self._find_guards()
        self.cells = find_cells(self.modes, self.elements, len(policies))
        self.gaps |= {*unmade(self)}

    def signed(
        self, arguments: Mapping[str, JsonValue], caller: Mapping[str, JsonValue]
    ) -> dict[Root, dict[str, JsonValue]]:
        """Return arguments and caller facts of a call as classes hold them: signs in place of resources."""
        names = {name for source in self.sources if source.argument for name in source.places}
        signs = self.compared.signs(arguments)
        own = {
            name: signs.get(name, PRESENT) if name in names else value for name, value in arguments.items()
        }
        return {"args": own, "caller": self.compared.as_signs(caller, arguments)}

    def _find_guards(self) -> dict[GuardKey, frozenset[PolicyIndex]]:
        roles = {role for source in self.sources for role in _possible_roles(source)} | {NONE}
        found: dict[GuardKey, frozenset[PolicyIndex]] = {}
        for side, rules in indexed(PolicyIndex, self.rules):
            for rule in rules:
                for role in roles & rule.named_roles:
                    for guard in rule.guards_of(role):
                        found[guard.key] = found.get(guard.key, frozenset()) | {side}
        return dict(sorted(found.items(), key=lambda item: guard_order(item[0])))

    def _tested(self) -> frozenset[str]:
        """Return the top-level arguments that are tested."""
        return frozenset(name for v in self.variables for root, name in v.places if root == "args")


def _declared_otherwise(callers: Sequence[Mapping[str, CallerFact]]) -> Iterator[str]:
    """Yield the facts about the caller that policies read in different forms."""
    for name in sorted({name for each in callers for name in each}):
        if len({each[name].role if name in each else None for each in callers}) > 1:
            yield f"the caller's fact {name}, which the policies declare otherwise"


def _possible_roles(source: ResourceSource) -> tuple[str, ...]:
    roles = source.roles
    return (*roles, "read-path", "write-path") if GIT_REMOTE in roles else roles
