"""Patches by which a repair changes rules, one named rule each.

Rules that no patch names stay as they are and where they are; the rules that went in are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import model_validator

from ironcurtain.compiler.rules.compile_rules import read_rule
from ironcurtain.errors import RuleError
from ironcurtain.model.policy import Rule
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import quoted

Op = Literal["update", "add", "prepend", "delete"]


class Patch(Frozen):
    """One change of an ordered list of rules.

    Attributes:
        op: `update` replaces the rule of that name, `add` puts a new rule behind another one, `prepend`
            puts one first, `delete` removes one.
        name: The rule that is changed; for `add` and `prepend` the new rule.
        after: For `add`: the name of the rule that the new one follows.
        rule: The whole rule as it shall be; None for `delete`.
    """

    op: Op
    name: str
    after: str | None = None
    rule: Rule | None = None

    @model_validator(mode="after")
    def _has_its_parts(self) -> Patch:
        if (self.rule is None) != (self.op == "delete"):
            msg = f"{self.op} takes {'no' if self.op == 'delete' else 'a'} rule"
            raise ValueError(msg)
        if (self.after is None) == (self.op == "add"):
            msg = f"{self.op} takes {'the name of a rule' if self.op == 'add' else 'nothing'} in `after`"
            raise ValueError(msg)
        return self


class AnsweredPatch(Frozen):
    """A patch as answers give it; `rule` has the form of a rule in an answer of the rules stage."""

    op: Op
    name: str
    after: str | None = None
    rule: dict[str, JsonValue] | None = None

    def read(self, server: str) -> Patch:
        """Return the patch of a server's rules.

        Raises:
            ValidationError: If it or its rule is none.
        """
        rule = read_rule(server, self.rule) if self.rule is not None else None
        return Patch(op=self.op, name=self.name, after=self.after, rule=rule)


class AnsweredPatches(Frozen):
    """The content of an answer of the repair stage."""

    patches: tuple[AnsweredPatch, ...]


def apply_patches(rules: Sequence[Rule], patches: Sequence[Patch]) -> tuple[Rule, ...]:
    """Return the rules with the patches applied in their order; the given rules are not changed.

    Raises:
        RuleError: If a patch names a rule that does not exist or was deleted, gives a name twice, or
            would rename a rule.
    """
    result = list(rules)
    deleted: set[str] = set()
    for patch in patches:
        if patch.rule is not None and patch.rule.name != patch.name:
            raise _error(
                patch, f"gives the rule the name {quoted(patch.rule.name)}", "Delete it and add a new one."
            )
        if patch.op == "delete":
            del result[_position(patch, patch.name, result, deleted)]
            deleted.add(patch.name)
        elif patch.op == "update":
            result[_position(patch, patch.name, result, deleted)] = _rule(patch)
        else:
            if any(rule.name == patch.name for rule in result):
                raise _error(patch, "gives a name that another rule has", "Use update, or another name.")
            after = patch.after
            place = 0 if after is None else _position(patch, after, result, deleted) + 1
            result.insert(place, _rule(patch))
    return tuple(result)


def _position(patch: Patch, name: str, rules: Sequence[Rule], deleted: set[str]) -> int:
    found = next((place for place, rule in enumerate(rules) if rule.name == name), None)
    if found is None:
        state = "was deleted by an earlier patch" if name in deleted else "does not exist"
        raise _error(patch, f"names {quoted(name)}, which {state}", "Name a rule that is there.")
    return found


def _rule(patch: Patch) -> Rule:
    if patch.rule is None:
        raise _error(patch, "brings no rule", "Give the whole rule.")
    return patch.rule


def _error(patch: Patch, what: str, hint: str) -> RuleError:
    return RuleError(f"the patch {patch.op} {quoted(patch.name)} {what}", hint=hint)
