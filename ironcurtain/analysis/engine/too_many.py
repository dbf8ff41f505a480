"""The error that a policy has more ways to a verdict than can be examined."""

from __future__ import annotations

from collections.abc import Sequence

from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.space.variables import Variable
from ironcurtain.errors import EvidenceError
from ironcurtain.system.text import visible

MAX_PATHS = 100_000


def too_many(
    server: str, tool: str, rules: Sequence[RuleOfTool], variables: Sequence[Variable]
) -> EvidenceError:
    """Return the error, with the arguments that the most rules of a tool test."""
    testing = {
        v: sum(bool({a.key for a in v.atoms} & {a.key for a in rule.atoms}) for rule in rules)
        for v in variables
    }
    most = sorted(variables, key=lambda v: (-testing[v], -len(v.classes)))[:5]
    named = ", ".join(
        f"{visible(v.places[0][1])} ({len(v.classes)} classes) in {testing[v]} rules" for v in most
    )
    return EvidenceError(
        f"the rules of {visible(server)}/{visible(tool)} have more than {MAX_PATHS:,} ways to a verdict",
        hint=f"Rules test too many arguments together: {named}. Split or drop such tests.",
    )
