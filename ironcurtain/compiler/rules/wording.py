"""The conditions of a rule in words, as a person has to judge them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ironcurtain.analysis.engine.rules.predicates import rule_atom
from ironcurtain.analysis.engine.rules.wording import atom_words
from ironcurtain.model.policy import If, Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import visible


def condition_words(rule: Rule) -> str:
    """Return all conditions of a rule but its server, in one line."""
    return "; ".join(_conditions(rule.if_, rule.then)) or "none"


def _conditions(condition: If, then: Verdict) -> Iterator[str]:
    if condition.tool:
        yield f"tool {_any_of(condition.tool)}"
    if condition.side_effects is not None:
        yield "the tool has side effects" if condition.side_effects else "the tool has no side effects"
    if condition.roles:
        yield f"role {_any_of(condition.roles)}"
    for one in condition.role_conditions:
        none = " or none" if one.or_none else ""
        yield f"{_any_of(one.roles)} in {_any_of(one.patterns)}{none}"
    yield from (atom_words(rule_atom("args", test, then)) for test in condition.args or ())
    yield from (atom_words(rule_atom("caller", test, then)) for test in condition.caller or ())
    if condition.in_sandbox:
        yield "in the sandbox, too"


def _any_of(names: Iterable[str]) -> str:
    return " or ".join(visible(name) for name in names)
