"""All checks of a gate, in their order: each is one function from a `PolicyUnderReview` to checks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.compiler.verify.verify import REJECTED
from ironcurtain.errors import Exit, IronCurtainError, SeveralErrors
from ironcurtain.integrations.gate.checks.behaviour import guarantees, matrix
from ironcurtain.integrations.gate.checks.bundle import rendered, verified
from ironcurtain.integrations.gate.checks.quality import attacked, clauses, coverage, findings, mutation
from ironcurtain.integrations.gate.checks.sources import sources, tool_lists
from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview
from ironcurtain.system.background import in_background

Checker = Callable[[PolicyUnderReview], tuple[Check, ...]]

OF_FILES: tuple[tuple[str, Checker], ...] = (("sources", sources), ("tool lists", tool_lists))
"""By name: the checks of files that lie beside a published bundle, and are of no use before it is."""

ABOUT_RULES: tuple[tuple[str, Checker], ...] = (
    ("guarantees", guarantees),
    ("decision matrix", matrix),
    ("findings", findings),
    ("clauses", clauses),
    ("coverage", coverage),
    ("mutation", mutation),
    ("attack", attacked),
)
"""By name: the checks that speak of the policy's rules, so that these have to be what OPA evaluates."""


def run_published(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Run every check of a published bundle: also whether it is still what its project's files say.

    Raises:
        IronCurtainError: If something cannot be judged.
    """
    found = (run_check(name, partial(check, reviewed)) for name, check in OF_FILES)
    return (*(each for checks in found for each in checks), *run_checks(reviewed))


def run_checks(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Run every check; one that fails ends none of the others, unless they would speak of nothing.

    Raises:
        IronCurtainError: If something cannot be judged: a mistake in a file, an engine without an answer.
    """
    rules = run_check("rules", partial(rendered, reviewed))
    # While OPA checks and tests the bundle, our own part goes on.
    with in_background(partial(_about_rules, reviewed, rules)) as about:
        bundle = run_check("verification", partial(verified, reviewed))
    if any(check.name == REJECTED and not _passed((check,)) for check in bundle):
        return (*bundle, *rules, *_unknown())
    return (*bundle, *rules, *about.result())


def _about_rules(reviewed: PolicyUnderReview, rules: tuple[Check, ...]) -> tuple[Check, ...]:
    if not _passed(rules):
        return _unknown()
    found = (run_check(name, partial(check, reviewed)) for name, check in ABOUT_RULES)
    return tuple(check for checks in found for check in checks)


def _unknown() -> tuple[Check, ...]:
    unknown = "cannot be judged: see the checks above"
    return tuple(Check(name=name, status="failed", summary=unknown) for name, _ in ABOUT_RULES)


def _passed(checks: tuple[Check, ...]) -> bool:
    return all(check.status == "passed" for check in checks)


def run_check(name: str, check: Callable[[], tuple[Check, ...]]) -> tuple[Check, ...]:
    """Run a check; evidence that ends with "no" is one that failed.

    Raises:
        IronCurtainError: If it cannot be judged.
    """
    try:
        return check()
    except IronCurtainError as error:
        if error.exit is not Exit.NO:
            raise
        errors = error.errors if isinstance(error, SeveralErrors) else [error]
        problems = tuple(
            Problem(
                id=each.code,
                message=f"{each.where}: {each.what}" if each.where else each.what,
                suggestion=each.hint,
                docs=f"docs/errors/{each.code}.md",
            )
            for each in errors
        )
        return (Check(name=name, status="failed", summary=problems[0].message, problems=problems),)
