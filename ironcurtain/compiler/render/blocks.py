"""The bodies of a rule: one for each role and pattern that it speaks of.

OPA indexes `"pattern" in input.patterns.role`, so a decision costs the same at 50 rules and at 10,000.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ironcurtain.compiler.render.conditions import (
    condition_lines,
    fact_lines,
    guard_line,
    member_line,
    roles_guard_line,
)
from ironcurtain.compiler.render.terms import reference, string
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

_PLAIN = "input"
_SANDBOXED = "input.sandboxed"


class Frame(Struct):
    """What blocks have in common that differ in rule and pattern only.

    Attributes:
        verdict: What the rule says.
        before: The lines about the call.
        place: Where resources are looked for: `input`, or those that containment discharged.
        role: The role of the resources that a pattern covers.
        after: The guards and tests.
    """

    verdict: Verdict
    before: tuple[str, ...]
    place: str
    role: str
    after: tuple[str, ...]

    @property
    def patterns(self) -> str:
        """The reference to the patterns that cover resources of the role."""
        return reference(f"{self.place}.patterns", [self.role])

    def lines(self, pattern: str) -> list[str]:
        """Return the body of the block of one pattern."""
        ids = reference(f"{self.place}.within", [self.role, pattern])
        return [*self.before, f"{string(pattern)} in {self.patterns}", *self.after, f"ids := {ids}"]


class PatternBlock(Struct):
    """The block of a rule for resources that a pattern covers."""

    frame: Frame
    pattern: str

    @property
    def lines(self) -> list[str]:
        """The body."""
        return self.frame.lines(self.pattern)


class PlainBlock(Struct):
    """The block of a rule for all resources, or all of a role."""

    lines: list[str]


def blocks_of(rule: Rule, tools: Iterable[str]) -> Iterator[PatternBlock | PlainBlock]:
    """Yield every block of a rule: call, justified resources, guards, tests, ids.

    Args:
        rule: A rule with patterns in canonical form.
        tools: The tools of the server; others that the rule names are left out.
    """
    before = _call_lines(rule, tools)
    tests = [
        *(line for test in rule.if_.args or () for line in condition_lines("args", test, rule.then)),
        *(line for test in rule.if_.caller or () for line in condition_lines("caller", test, rule.then)),
        *(line for one in rule.if_.facts or () for line in fact_lines(one.test, rule.then)),
    ]
    if not rule.if_.named_roles:
        everything = "subjects" if rule.if_.in_sandbox else "undischarged"
        yield PlainBlock([*before, *tests, f"ids := matching.{everything}"])
    for role in rule.if_.named_roles:
        after = [*_guard_lines(rule, role), *tests]
        own = next((c for c in rule.if_.role_conditions if role in c.roles), None)
        for place in [_PLAIN, _SANDBOXED] if rule.if_.in_sandbox else [_PLAIN]:
            if own is None:
                yield PlainBlock([*before, *after, f"ids := {reference(f'{place}.roles', [role])}"])
                continue
            frame = Frame(rule.then, tuple(before), place, role, tuple(after))
            yield from (PatternBlock(frame, pattern) for pattern in own.patterns)


def _call_lines(rule: Rule, tools: Iterable[str]) -> list[str]:
    lines = []
    if rule.if_.tool is not None:
        lines.append(member_line("input.tool", [tool for tool in rule.if_.tool if tool in tools]))
    if rule.if_.side_effects is not None:
        lines.append(f"input.side_effects == {'true' if rule.if_.side_effects else 'false'}")
    return lines


def _guard_lines(rule: Rule, role: str) -> list[str]:
    """Return the guards for resources of the role: every condition that names only other roles."""
    allow = rule.then is Verdict.ALLOW
    in_sandbox = rule.if_.in_sandbox
    lines = []
    if rule.if_.roles is not None and role not in rule.if_.roles:
        lines.append(roles_guard_line(rule.if_.roles, in_sandbox=in_sandbox))
    others = [c for c in rule.if_.role_conditions if role not in c.roles]
    return lines + [guard_line(c, allow=allow, in_sandbox=in_sandbox) for c in others]
