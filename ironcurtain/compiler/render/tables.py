"""Rules that differ in their pattern only, as one table and one rule over it.

OPA reads and compiles each rule of a module; a table of ten thousand patterns it only reads. Where few rules
are alike, each stands for itself, as people read them best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ironcurtain.compiler.render.blocks import Frame, PatternBlock, PlainBlock
from ironcurtain.compiler.render.terms import TAB, collection, match_head, metadata, reference, string
from ironcurtain.model.policy import Rule

_FEWEST = 64
"""From this many blocks on that differ in rule and pattern only, a table stands for them."""


@dataclass
class RuleTable:
    """Blocks of one frame.

    Attributes:
        rules: Of each pattern, the rules that name it, by their order.
    """

    frame: Frame
    rules: dict[str, dict[int, Rule]] = field(default_factory=dict)

    def text(self, number: int) -> str:
        """Return the table, and the rule over it, as Rego."""
        name = f"_rules_by_pattern_{number}"
        what = f"The rules that {self.frame.verdict} {self.frame.role} by pattern: order and name of each."
        head = match_head("order", "rule", self.frame.verdict)
        ids = f"{reference(f'{self.frame.place}.within', [self.frame.role])}[pattern]"
        body = [
            *self.frame.before,
            f"some pattern in {self.frame.patterns}",
            f"some [order, rule] in {name}[pattern]",
            *self.frame.after,
            f"ids := {ids}",
        ]
        return (
            f"# METADATA\n# description: {metadata(what)}\n{name} := {{\n"
            + "".join(line for pattern in self.rules for line in self._entry(pattern))
            + f"}}\n\n# METADATA\n# description: {metadata(f'What the rules of `{name}` match.')}\n"
            + head
            + "".join(f"{TAB}{line}\n" for line in body)
            + "}\n"
        )

    def _entry(self, pattern: str) -> Iterator[str]:
        for rule in self.rules[pattern].values():
            yield f"{TAB}# {metadata(f'{rule.clause}: {rule.description or rule.reason}')}\n"
        key = f"{string(pattern)}: "
        members = [f"[{order}, {string(rule.name)}]" for order, rule in self.rules[pattern].items()]
        yield f"{TAB}{key}{collection(members, '{}', used=len(key) + 5)},\n"


def tables_of(blocks: Iterable[tuple[int, Rule, PatternBlock | PlainBlock]]) -> dict[Frame, RuleTable]:
    """Return a table for each frame of which there are many blocks.

    Args:
        blocks: The blocks of all rules of a server, with their rule and its order.
    """
    tables: dict[Frame, RuleTable] = {}
    for order, rule, block in blocks:
        if isinstance(block, PatternBlock):
            table = tables.setdefault(block.frame, RuleTable(block.frame))
            table.rules.setdefault(block.pattern, {})[order] = rule
    return {
        frame: table
        for frame, table in tables.items()
        if sum(len(rules) for rules in table.rules.values()) >= _FEWEST
    }
