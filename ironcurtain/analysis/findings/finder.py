"""The interface of the modules in `kinds/`: what a finder is given, and what it yields.

Each of these modules has a finder or two, which yield a draft for each finding of its kind, or of a few kinds
that one search tells apart. `kinds/all_kinds.py` lists them.

    def unusable_tools(inputs: FinderInputs) -> Iterator[FindingDraft]:
        for server, name in inputs.context.analysis.tools:
            ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from ironcurtain.analysis.clauses.report import ClauseOutcome
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.structs import Struct

Languages: TypeAlias = Callable[[ToolAnnotation], Mapping[str, str]]
"""Returns the language of each argument of a tool that holds one, by the argument's name."""


class UnknownName(Struct):
    """Something that a rule names, and that no tool of the rule has.

    Attributes:
        rule: The rule's name.
        order: The rule's position in the policy.
        what: What is named, such as `argument`.
        known: The names that there are.
    """

    rule: str
    order: int
    what: str
    name: str
    known: tuple[str, ...]


class FinderInputs(Struct):
    """What is known of a policy before findings are looked for.

    Attributes:
        context: The examined policy.
        languages: Tells which arguments hold a language.
        decided: The scenarios that demand something, decided; None where it is unknown which there are.
        outcomes: What becomes of each clause.
        unknown_names: What rules name that no tool has.
    """

    context: FindingContext
    languages: Languages
    decided: DecidedScenarios | None
    outcomes: tuple[ClauseOutcome, ...]
    unknown_names: tuple[UnknownName, ...]


Finder: TypeAlias = Callable[[FinderInputs], Iterator[FindingDraft]]
