"""Compiled rules into Rego, one package per server: deterministic, stable under `opa fmt`.

A rule becomes one `matches` block for each role and pattern that it speaks of (`blocks.py`), or an entry of a
table where many differ in nothing else (`tables.py`). A match is `{order, rule, verdict, resources: {subject
id: true}}`; `rego/ironcurtain/decision` reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ironcurtain.compiler.render.blocks import Frame, PatternBlock, PlainBlock, blocks_of
from ironcurtain.compiler.render.input_schema import SCHEMA
from ironcurtain.compiler.render.tables import tables_of
from ironcurtain.compiler.render.terms import TAB, match_head, metadata, metadata_title, reference, string
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy, Rule

_CALLED = {"facts": "facts.holds", "matching": "matching.", "operators": "operators."}
"""How calls of each module of the library begin; a policy imports those that it uses."""


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
    tables = tables_of((order, rule, block) for order, rule, own in blocks for block in own)
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
