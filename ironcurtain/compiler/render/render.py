"""Compiled rules into Rego, one package per server: deterministic, stable under `opa fmt`.

A rule becomes one `matches` block for each role and pattern that it speaks of, because OPA indexes
`"pattern" in input.patterns.role`: a decision then costs the same at 50 rules and at 10,000. A match is
`{order, rule, verdict, subjects: {subject id: true}}`; `rego/ironcurtain/decision` reads it.
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
from ironcurtain.compiler.render.terms import TAB, collection, metadata, metadata_title, reference, string
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.conditions import RoleCondition
from ironcurtain.model.policy import CompiledPolicy, Rule
from ironcurtain.model.verdict import Verdict

SCHEMA = "input"
"""The name of the policy input's schema for OPA's type checker, without `.json`."""

_CALLED = {"facts": "facts.holds", "matching": "matching.", "operators": "operators."}
"""How calls of each module of the library begin; a policy imports those that it uses."""
_PLAIN = "input"
_SANDBOXED = "input.sandboxed"


def render_policy(policy: CompiledPolicy, server: str, annotations: Annotations) -> str:
    """Return the Rego module of one server.

    Args:
        policy: A checked policy (`rules.check_policy`), with patterns in canonical form.
        server: The server; rules that name others, or none of its tools, are left out.
        annotations: The annotated tools of all servers.
    """
    tools = [tool.tool for tool in annotations.servers[server].tools]
    ordered = enumerate(policy.rules, 1)
    rules = [_rule(order, rule, tools) for order, rule in ordered if _concerns(rule, server, tools)]
    body = "\n".join(rules)
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


def _rule(order: int, rule: Rule, tools: Iterable[str]) -> str:
    title = f"# METADATA\n# title: {metadata_title(rule.name)}\n"
    description = f"# description: {metadata(rule.description or rule.reason)}\n"
    custom = f"# custom: {metadata({'clause': rule.clause})}\n"
    head = _head(order, rule)
    blocks = [head + "".join(f"{TAB}{line}\n" for line in lines) + "}\n" for lines in _bodies(rule, tools)]
    return title + description + custom + "\n".join(blocks)


def _head(order: int, rule: Rule) -> str:
    match = collection(
        [
            f'"order": {order}',
            f'"rule": {string(rule.name)}',
            f'"verdict": {string(rule.then)}',
            '"subjects": ids',
        ],
        "{}",
        used=len("matches contains  if {"),
        depth=0,
    )
    return f"matches contains {match} if {{\n"


def _bodies(rule: Rule, tools: Iterable[str]) -> Iterator[list[str]]:
    """Yield the body of every block: call, justified subjects, guards, tests, ids."""
    before = _call_lines(rule, tools)
    tests = [
        *(line for test in rule.if_.args or () for line in condition_lines("args", test, rule.then)),
        *(line for test in rule.if_.caller or () for line in condition_lines("caller", test, rule.then)),
        *(line for one in rule.if_.facts or () for line in fact_lines(one.test, rule.then)),
    ]
    if not rule.if_.named_roles:
        everything = "subjects" if rule.if_.in_sandbox else "undischarged"
        yield [*before, *tests, f"ids := matching.{everything}"]
    for role in rule.if_.named_roles:
        guards = _guard_lines(rule, role)
        for justified, ids in _justified(rule, role):
            yield [*before, *justified, *guards, *tests, ids]


def _call_lines(rule: Rule, tools: Iterable[str]) -> list[str]:
    lines = []
    if rule.if_.tool is not None:
        lines.append(member_line("input.tool", [tool for tool in rule.if_.tool if tool in tools]))
    if rule.if_.side_effects is not None:
        lines.append(f"input.side_effects == {'true' if rule.if_.side_effects else 'false'}")
    return lines


def _justified(rule: Rule, role: str) -> Iterator[tuple[list[str], str]]:
    """Yield, per block, the lines that select subjects of the role and the line that names their ids."""
    places = [_PLAIN, _SANDBOXED] if rule.if_.in_sandbox else [_PLAIN]
    own = _own_condition(rule, role)
    for place in places:
        if own is None:
            yield [], f"ids := {reference(f'{place}.roles', [role])}"
            continue
        for pattern in own.patterns:
            member = f"{string(pattern)} in {reference(f'{place}.patterns', [role])}"
            yield [member], f"ids := {reference(f'{place}.within', [role, pattern])}"


def _own_condition(rule: Rule, role: str) -> RoleCondition | None:
    return next((c for c in rule.if_.role_conditions if role in c.roles), None)


def _guard_lines(rule: Rule, role: str) -> list[str]:
    """Return the guards for subjects of the role: every condition that names only other roles."""
    allow = rule.then is Verdict.ALLOW
    in_sandbox = rule.if_.in_sandbox
    lines = []
    if rule.if_.roles is not None and role not in rule.if_.roles:
        lines.append(roles_guard_line(rule.if_.roles, in_sandbox=in_sandbox))
    others = [c for c in rule.if_.role_conditions if role not in c.roles]
    return lines + [guard_line(c, allow=allow, in_sandbox=in_sandbox) for c in others]
