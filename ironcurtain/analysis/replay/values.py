"""The arguments and facts that a recorded call may have had, as far as a policy distinguishes them.

A record with values has one answer. A record without values fixes the outcome of some tests; then every class
of values (see `variables`) that agrees with them is possible, and the policy is asked about all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from ironcurtain.analysis.engine.rules.predicates import Predicate, predicate_of_key
from ironcurtain.analysis.engine.rules.rules import ToolPredicates
from ironcurtain.analysis.engine.space.variables import Variable, VariableClass, variables_of
from ironcurtain.analysis.engine.values.enumeration import Enumeration
from ironcurtain.analysis.engine.values.witnesses import fresh_words
from ironcurtain.analysis.replay.pseudonymization import KeyedDigests
from ironcurtain.analysis.replay.resources import UnknownError
from ironcurtain.analysis.replay.skeletons import SkeletonReader, Skeletons
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.pointers import tokens
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.record_types import AbstractArguments, DecisionRecord
from ironcurtain.enforcement.facts.facts_of_tool import declaration_digest
from ironcurtain.model.facts import lookups
from ironcurtain.model.unknown_facts import Root, values_by_root
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field

MAX_COMPLETIONS = 64


class CompletedCall(Struct):
    """Arguments and caller facts that stand for all that a recorded call may have had, and declared facts."""

    args: dict[str, JsonValue]
    caller: dict[str, JsonValue]
    facts: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def values(self) -> dict[Root, dict[str, JsonValue]]:
        """All of them, by where tests look for them."""
        return {"args": self.args, "caller": self.caller, "facts": self.facts}


class CallCompletions:
    """What the calls of a log may have been, to one policy.

    Args:
        content: The policy's content.
        digests: The digests of the log's records without values; None where its records have values.
        registry: The roles.
    """

    def __init__(self, content: PolicyContent, digests: KeyedDigests | None, registry: Registry) -> None:
        self._content, self._registry = content, registry
        self._reader = SkeletonReader(digests) if digests is not None else None
        self._predicates = ToolPredicates(content)
        self._variables: dict[tuple[str, str, frozenset[str]], Enumeration[Variable]] = {}

    def of(self, record: DecisionRecord, tool: ValidatedTool) -> list[CompletedCall]:
        """Return what a recorded call may have been, at least one.

        Raises:
            UnknownError: If the record does not hold enough to say.
        """
        predicates = self.predicates(record.server, tool)
        tested = {name for predicate in predicates for root, name in predicate.places if root == "facts"}
        facts = self._facts(record, tested) if tested else {}
        if record.abstract is not None:
            return self._completed(record, record.abstract, predicates, tool)
        roots: dict[str, Root] = {"arguments": "args", "caller": "caller", "facts": "facts"}
        redacted = {
            (roots[steps[0]], steps[1]) for steps in map(tokens, record.redacted) if steps[0] in roots
        }
        if any(set(predicate.places) & redacted for predicate in predicates):
            raise UnknownError("a value of the call is redacted")
        return [CompletedCall(record.arguments or {}, record.caller, facts)]

    def _facts(self, record: DecisionRecord, tested: Iterable[str]) -> dict[str, JsonValue]:
        """Return the declared facts that a call was decided on, if they are those that the policy tests."""
        recorded = record.facts
        if recorded is None or recorded.values is None or not recorded.values.keys() >= {*tested}:
            raise UnknownError("the policy tests facts that the record does not hold")
        declared = self._content.facts
        for name in dict.fromkeys(
            each for test in sorted(tested) for each in lookups(declared, test) or [test.partition("/")[0]]
        ):
            if name not in declared or recorded.declared.get(name) != declaration_digest(declared[name]):
                raise UnknownError(f"the fact {name} is declared otherwise than when the call was recorded")
        return recorded.values

    def predicates(self, server: str, tool: ValidatedTool) -> tuple[Predicate, ...]:
        """Return the tests that rules make of calls of a tool."""
        return self._predicates.of(server, tool.annotation)

    def _completed(
        self,
        record: DecisionRecord,
        abstract: AbstractArguments,
        predicates: Sequence[Predicate],
        tool: ValidatedTool,
    ) -> list[CompletedCall]:
        if self._reader is None:
            raise UnknownError("the log holds no values, and its key is not given")
        skeletons: Skeletons = {"args": abstract.args, "caller": abstract.caller, "facts": {}}
        determined = {predicate.key: self._reader.holds(predicate, skeletons) for predicate in predicates}
        known = {key: outcome for key, outcome in determined.items() if outcome is not None} | abstract.tests
        variables = self._variables_of(record.server, tool, predicates, frozenset(abstract.tests))
        if not variables.is_complete and not known.keys() >= determined.keys():
            raise UnknownError(f"the policy tests what the record does not hold ({min(variables.gaps)})")
        pools = [_possible(variable, known) for variable in variables.values]
        count = 1
        for pool in pools:
            count *= len(pool)
        if count > MAX_COMPLETIONS:
            raise UnknownError("the policy tests too much that the record does not hold")
        return [_completion(combination) for combination in itertools.product(*pools)]

    def _variables_of(
        self, server: str, tool: ValidatedTool, predicates: Sequence[Predicate], recorded: frozenset[str]
    ) -> Enumeration[Variable]:
        memo = (server, tool.annotation.tool, recorded)
        if memo not in self._variables:
            both = {
                predicate.key: predicate
                for predicate in (*map(predicate_of_key, sorted(recorded)), *predicates)
            }
            fresh = fresh_words([*both, json_text.canonical(tool.annotation.input_schema or {}).decode()])
            self._variables[memo] = variables_of(both.values(), tool, self._registry, fresh)
        return self._variables[memo]


def _possible(variable: Variable, known: Mapping[str, bool]) -> list[VariableClass]:
    """Return the classes that agree with what is known, one for each outcome of what is not."""
    tested = {predicate.key for predicate in variable.predicates} & known.keys()
    true = frozenset(key for key in tested if known[key])
    matching = [class_ for class_ in variable.classes if class_.true & tested == true]
    if not matching:
        raise UnknownError("no value that we can think of passes the tests as the recorded one did")
    return matching


def _completion(classes: Iterable[VariableClass]) -> CompletedCall:
    values = values_by_root()
    for class_ in classes:
        for (root, name), value in class_.values:
            values[root][name] = value
    return CompletedCall(values["args"], values["caller"])
