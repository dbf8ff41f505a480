"""The rules of an output policy: reading them, and which of them overrides which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from ironcurtain.gateway.output.automaton import TooManyStatesError, covers
from ironcurtain.gateway.output.paths import Path, PathSyntaxError, parse
from ironcurtain.system.structs import Struct

MAX_RULES = 100


class Action(IntEnum):
    """What happens to a leaf; of two, the higher is the more restrictive."""

    ALLOW = 0
    MASK = 1
    REDACT = 2
    STRIP = 3


_ACTIONS = {"allow": Action.ALLOW, "mask": Action.MASK, "redact": Action.REDACT}


class OutputRule(Struct):
    """One line of a policy."""

    path: Path
    action: Action


class PolicyProblem(Struct):
    """Something wrong with a policy.

    Attributes:
        path: The path as it was written.
        what: What is wrong.
        hint: What to do about it.
    """

    path: str
    what: str
    hint: str


class OutputPolicyError(ValueError):
    """A policy that cannot be used.

    Attributes:
        problems: Everything that is wrong with it.
    """

    def __init__(self, problems: Sequence[PolicyProblem]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.what}" for each in problems))
        self.problems = tuple(problems)


def read_rules(written: Mapping[str, str]) -> tuple[list[OutputRule], list[PolicyProblem]]:
    """Read rules, by path `allow`, `mask` or `redact`; return them and everything that is wrong."""
    rules: list[OutputRule] = []
    problems: list[PolicyProblem] = []
    for text, word in written.items():
        action = _ACTIONS.get(word)
        if action is None:
            what = f"there is no action {word!r}"
            problems.append(PolicyProblem(text, what, "Actions are allow, mask and redact."))
        try:
            path = parse(text)
        except PathSyntaxError as error:
            problems.append(PolicyProblem(text, str(error), error.suggestion))
            continue
        if action is not None:
            rules.append(OutputRule(path, action))
    return rules, problems


def compared(rules: Sequence[OutputRule]) -> tuple[dict[int, frozenset[int]], list[PolicyProblem]]:
    """Return by rule the rules of strictly less coverage, and rules of equal coverage that contradict."""
    problems: list[PolicyProblem] = []
    narrower: dict[int, set[int]] = {number: set() for number in range(len(rules))}
    for one, wide in enumerate(rules):
        for two, narrow in enumerate(rules[:one]):
            try:
                down, up = covers(wide.path, narrow.path), covers(narrow.path, wide.path)
            except TooManyStatesError:
                what = f"it cannot be compared with {narrow.path}"
                problems.append(PolicyProblem(str(wide.path), what, "Use fewer `..` and `.*` in one path."))
                continue
            if down and up and wide.action is not narrow.action:
                what = f"{narrow.path} covers the same, with another action"
                problems.append(PolicyProblem(str(wide.path), what, "Keep one of the two."))
            if down and not up:
                narrower[one].add(two)
            elif up and not down:
                narrower[two].add(one)
    return {number: frozenset(found) for number, found in narrower.items()}, problems
