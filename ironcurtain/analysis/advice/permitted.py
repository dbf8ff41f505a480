"""What a policy permits, class by class, and which classes logs used."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ironcurtain.analysis.advice.report import PermittedClass, Use
from ironcurtain.analysis.advice.usage import CallClass
from ironcurtain.analysis.engine.lookup import Located, located
from ironcurtain.analysis.engine.opa_queries import Answered, Examined, OpaOutcome
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.rules.diagram import merged
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.rules.wording import path_words
from ironcurtain.analysis.engine.space.elements import ResourceKey
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.context import answers_of
from ironcurtain.analysis.replay.resources import UnknownError
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

_SHOWN_CALLERS = 5


_Sentence: TypeAlias = tuple[str, str, str, Verdict]
"""Server, tool, the clause that permits (empty for the workspace's own), and how."""


class _Permission(Struct):
    """One class that is permitted: a cell, and a path of its diagram."""

    examined: Examined
    cell: EquivalenceClass
    answered: Answered

    @property
    def key(self) -> Hashable:
        return (self.examined.space, self.cell.keys, self.answered.path)

    @property
    def outcome(self) -> OpaOutcome | None:
        return self.answered.outcomes[0]

    @property
    def sentence(self) -> _Sentence:
        space, outcome = self.examined.space, self.outcome
        clause, verdict = (outcome.clause or "", outcome.verdict) if outcome else ("", Verdict.DENY)
        return (space.server, space.tool, clause, verdict)


@dataclass
class _Used:
    calls: int = 0
    last: str = ""
    callers: set[str] = field(default_factory=set)


class UsedClasses:
    """The permitted classes of an analysed policy, with their use.

    Args:
        analysis: The policy.
        classes: The recorded calls.

    Attributes:
        unplaced: How many permitted calls are of no class that was examined.
    """

    def __init__(self, analysis: PolicyAnalysis, classes: Iterable[CallClass]) -> None:
        self._analysis = analysis
        self._used: set[Hashable] = set()
        self._by_sentence: dict[_Sentence, _Used] = {}
        self.unplaced = 0
        for each in classes:
            if each.is_used:
                self._add(each)

    def use(self) -> tuple[Use, ...]:
        """Return, for every tool and sentence, what is permitted and what of it was used."""
        groups: dict[_Sentence, list[_Permission]] = {}
        for permission in self._permissions():
            groups.setdefault(permission.sentence, []).append(permission)
        return tuple(self._use(key, permissions) for key, permissions in sorted(groups.items()))

    def unused(self, rule: str) -> tuple[int, tuple[PermittedClass, ...]]:
        """Return how many classes a rule decides, and those that no call used."""
        own = [each for each in self._permissions() if each.outcome is not None and each.outcome.rule == rule]
        return len(own), self._words([each for each in own if each.key not in self._used])

    def _permissions(self) -> Iterator[_Permission]:
        for examined in self._analysis.tools.values():
            for cell, _, answered in answers_of(examined):
                permission = _Permission(examined, cell, answered)
                if permission.sentence[-1] is not Verdict.DENY:
                    yield permission

    def _add(self, each: CallClass) -> None:
        examined = self._analysis.tools.get((each.example.server, each.example.tool))
        try:
            places = [] if examined is None else [*_places(examined, each)]
        except (LookupError, UnknownError):
            places = []
        if examined is None or not places:
            self.unplaced += each.calls
            return
        permissions = [_Permission(examined, place.cell, place.answered) for place in places]
        self._used |= {permission.key for permission in permissions}
        for sentence in {permission.sentence for permission in permissions}:
            used = self._by_sentence.setdefault(sentence, _Used())
            used.calls += each.calls
            used.last = max(used.last, each.last)
            used.callers |= each.callers

    def _use(self, sentence: _Sentence, permissions: list[_Permission]) -> Use:
        server, tool, clause, verdict = sentence
        used = self._by_sentence.get(sentence, _Used())
        callers = sorted(used.callers)
        unused = [each for each in permissions if each.key not in self._used]
        return Use(
            server=server,
            tool=tool,
            clause=clause or None,
            verdict=verdict,
            permitted=len(permissions),
            used=len(permissions) - len(unused),
            calls=used.calls,
            callers=tuple(callers[:_SHOWN_CALLERS]),
            others=len(callers[_SHOWN_CALLERS:]),
            last=used.last or None,
            unused=self._words(unused),
        )

    def _words(self, permissions: list[_Permission]) -> tuple[PermittedClass, ...]:
        """Return classes as the matrix names them: cells that are left alike are one line."""
        left: dict[tuple[Examined, str], dict[int, list[_Permission]]] = {}
        for each in permissions:
            cells = left.setdefault((each.examined, each.cell.role), {})
            cells.setdefault(id(each.cell), []).append(each)
        said: dict[PermittedClass, None] = {}
        for (examined, role), by_cell in left.items():
            variables = examined.space.variables
            regions = [
                Region(
                    chain,
                    label,
                    tuple(
                        sorted(
                            tuple(sorted(path_words(path, variables)))
                            for path in merged(
                                [p.answered.path for p in by_cell.get(id(cell), ())], variables
                            )
                        )
                    ),
                )
                for cell in examined.space.cells.values()
                if cell.role == role
                for chain, label in cell.regions
            ]
            for behaviour, labels in grouped(regions).items():
                for when in behaviour:
                    said[PermittedClass(roles=(role,), where=labels, when=when)] = None
        return tuple(sorted(said, key=lambda one: (one.roles, one.where, one.when)))


def _places(examined: Examined, each: CallClass) -> Iterator[Located]:
    """Yield where the resources of a class of recorded calls stand; none if the record leaves that open.

    Raises:
        LookupError: If the calls are none of those that were examined.
        UnknownError: If the record does not hold enough.
    """
    seen = each.replayer.seen(each.example)
    space = examined.space
    tokens: Mapping[str, str] = space.policies[0].tokens
    keys = {
        f"{number:05d}": ResourceKey(
            resource.role.name,
            space.reader.patterns.intersection(tokens.get(pattern, pattern) for pattern in patterns),
            resource.discharged,
            resource.minimum_rule,
            frozenset(),
        )
        for number, (resource, patterns) in enumerate(zip(seen.resources, seen.patterns, strict=True))
    }
    found = [[*located(examined, keys, completion.values)] for completion in seen.completions]
    if all([each.answered for each in one] == [each.answered for each in found[0]] for one in found):
        yield from found[0]
