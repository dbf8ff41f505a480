"""Compiled rules into Rego, one package per server: deterministic, stable under `opa fmt`.

A rule becomes one `matches` block for each role and pattern that it speaks of (`blocks.py`), or an entry of a
table where many differ in nothing else: OPA reads and compiles each rule of a module, and a table of ten
thousand patterns it only reads. A match is `{order, rule, verdict, resources: {subject id: true}}`;
`rego/ironcurtain/decision` reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ironcurtain.compiler.render.blocks import Frame, PatternBlock, PlainBlock, blocks_of
from ironcurtain.compiler.render.input_schema import SCHEMA
from ironcurtain.compiler.render.terms import (
    TAB,
    collection,
    match_head,
    metadata,
    metadata_title,
    reference,
    string,
)
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy, Rule

_CALLED = {"facts": "facts.holds", "matching": "matching.", "operators": "operators."}
"""How calls of each module of the library begin; a policy imports those that it uses."""
_FEWEST = 64
"""From this many blocks on that differ in rule and pattern only, a table stands for them."""


def render_policy(policy: CompiledPolicy, server: str, annotations: Annotations) -> str:
    """Return the Rego module of one server.

    Args:
        policy: A checked policy (`rules.check_policy`), with patterns in canonical form.
        server: The server; rules that name others, or none of its tools, are left out.
        annotations: The annotated tools of all servers.
    """
    tools = [tool.tool for tool in annotations.servers[server].tools]
    numbered = enumerate(policy.rules, 1)
    blocks = [
        (order, rule, list(blocks_of(rule, tools)))
        for order, rule in numbered
        if _concerns(rule, server, tools)
    ]
    tables = _tables_of((order, rule, block) for order, rule, own in blocks for block in own)
    texts = [
        *(_rule(order, rule, alone) for order, rule, own in blocks if (alone := _outside(tables, own))),
        *(table.text(number) for number, table in enumerate(tables.values(), 1)),
    ]
    body = "\n".join(texts)
    used = [f"import data.ironcurtain.{name}\n" for name, call in _CALLED.items() if call in body]
    imports = "".join(used) + ("\n" if used else "")
    return f"{_header(server)}\n{imports}{body}".rstrip("\n") + "\n"


def schema_annotation() -> str:
    """Return the METADATA lines by which OPA checks a module against the policy input's schema."""
    return f"# schemas:\n#   - input: schema.{SCHEMA}\n"


def package_path(server: str) -> str:
    """Return the path of a server's package, as `ironcurtain.policy["my-server"]`."""
    return reference("ironcurtain.policy", [server])


def _header(server: str) -> str:
    return (
        "# METADATA\n"
        f"# title: {metadata(f'Policy of {server}')}\n"
        "# description: Rendered from the compiled rules. Change those, not this file.\n"
        f"{schema_annotation()}package {package_path(server)}\n"
    )


def _concerns(rule: Rule, server: str, tools: Iterable[str]) -> bool:
    named = rule.if_.server is None or server in rule.if_.server
    return named and (rule.if_.tool is None or any(tool in rule.if_.tool for tool in tools))


def _outside(
    tables: Collection[Frame], blocks: Iterable[PatternBlock | PlainBlock]
) -> list[PatternBlock | PlainBlock]:
    """Return the blocks for which no table stands."""
    return [block for block in blocks if isinstance(block, PlainBlock) or block.frame not in tables]


def _rule(order: int, rule: Rule, blocks: Sequence[PatternBlock | PlainBlock]) -> str:
    title = f"# METADATA\n# title: {metadata_title(rule.name)}\n"
    description = f"# description: {metadata(rule.description or rule.reason)}\n"
    custom = f"# custom: {metadata({'clause': rule.clause})}\n"
    head = match_head(str(order), string(rule.name), rule.then)
    bodies = [head + "".join(f"{TAB}{line}\n" for line in block.lines) + "}\n" for block in blocks]
    return title + description + custom + "\n".join(bodies)


@dataclass
class _RuleTable:
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


def _tables_of(blocks: Iterable[tuple[int, Rule, PatternBlock | PlainBlock]]) -> dict[Frame, _RuleTable]:
    """Return a table for each frame of which there are many blocks.

    Args:
        blocks: The blocks of all rules of a server, with their rule and its order.
    """
    tables: dict[Frame, _RuleTable] = {}
    for order, rule, block in blocks:
        if isinstance(block, PatternBlock):
            table = tables.setdefault(block.frame, _RuleTable(block.frame))
            table.rules.setdefault(block.pattern, {})[order] = rule
    return {
        frame: table
        for frame, table in tables.items()
        if sum(len(rules) for rules in table.rules.values()) >= _FEWEST
    }
