"""Whether annotations fit their tools' schemas, the role registry and themselves.

Used for answers of the annotate stage and for annotations that people write by hand; without an
`input_schema` a tool's arguments are known by `args` alone and the checks against the schema fall away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from jsonschema import Draft202012Validator

from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, leaves, schema_leaves
from ironcurtain.decision.canonical.plain_values import fits_plainly
from ironcurtain.decision.reserved_tools import RESERVED
from ironcurtain.decision.roles import GIT_REMOTE, NONE, Registry, Role
from ironcurtain.errors import AnnotationError, raise_all
from ironcurtain.model.annotations import Annotations, Argument, ToolAnnotation, When
from ironcurtain.servers.tools import schema_problem
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import is_hidden, quoted, visible

_FETCH_SCHEMES = frozenset({"http", "https"})
_REMOTE_SCHEMES = frozenset({"http", "https", "ssh", "git"})
# Words by which a description says what happens when an argument is not given.
_STATES_ABSENCE = re.compile(
    r"\b(?:omit|omits|omitted|omitting|absent|default|defaults|unset|without"
    r"|not (?:given|provided|specified|set|supplied))\b",
    re.IGNORECASE,
)


def check_annotations(annotations: Annotations, registry: Registry) -> None:
    """Check a whole file of annotations.

    Raises:
        AnnotationError: For each mistake (several as `SeveralErrors`).
    """
    raise_all(
        [
            AnnotationError(problem, where=server)
            for server, annotated in annotations.servers.items()
            for problem in server_problems(annotated.tools, registry)
        ]
    )


def server_problems(tools: tuple[ToolAnnotation, ...], registry: Registry) -> list[str]:
    """Return the mistakes in one server's annotations, each naming its tool."""
    counts = Counter(tool.tool for tool in tools)
    problems = [
        f"tool {quoted(name)} is annotated {count} times" for name, count in counts.items() if count > 1
    ]
    for tool in tools:
        if tool == RESERVED.get(tool.tool):
            continue  # what a URI is follows from its own scheme, so its roles never come together
        problems += [f"tool {quoted(tool.tool)}: {problem}" for problem in tool_problems(tool, registry)]
    return problems


def tool_problems(tool: ToolAnnotation, registry: Registry) -> list[str]:
    """Return the mistakes in the annotation of one tool, one sentence each."""
    if any(is_hidden(character) for name in (tool.tool, *(a.name for a in tool.args)) for character in name):
        return ["a name holds a control or invisible character"]
    if tool.input_schema is not None:
        problem = schema_problem(tool.input_schema)
        if problem:
            return [f"its input_schema is no usable JSON Schema: {problem}"]
    unknown = [*_unknown_roles(tool, registry)]
    if unknown:
        return unknown  # everything below asks the registry what the roles mean
    places = (
        None if tool.input_schema is None else {leaf.name: leaf for leaf in schema_leaves(tool.input_schema)}
    )
    return [
        *_name_problems(tool),
        *(_coverage_problems(tool, places) if places is not None else ()),
        *(problem for argument in tool.args for problem in _role_problems(argument, registry, places)),
        *(problem for argument in tool.args for problem in _flag_problems(argument, tool, registry)),
        *conditional_problems(tool, places),
        *_composite_problems(tool, registry),
        *_effect_problems(tool, registry),
    ]


def _unknown_roles(tool: ToolAnnotation, registry: Registry) -> Iterator[str]:
    for argument in tool.args:
        branches = argument.conditional.when if argument.conditional else ()
        for role in dict.fromkeys(
            [*argument.possible_roles, *(r for branch in branches for r in branch.roles)]
        ):
            if role not in registry:
                yield f"argument {quoted(argument.name)} has the unknown role {quoted(role)}"
    for composite in tool.composites:
        if composite.role not in registry:
            yield f"a composite has the unknown role {quoted(composite.role)}"


def _name_problems(tool: ToolAnnotation) -> Iterator[str]:
    """Every place is annotated once: not twice, and not both as a whole and in parts."""
    for name, count in Counter(argument.name for argument in tool.args).items():
        if count > 1:
            yield f"argument {quoted(name)} is annotated {count} times"
    whole = {argument.name for argument in tool.args if not argument.name.startswith("/")}
    for name in sorted(
        {argument.top_level for argument in tool.args if argument.name.startswith("/")} & whole
    ):
        yield f"argument {quoted(name)} is annotated both as a whole and by pointers into it"
    names = {*tool.argument_names, *(argument.name for argument in tool.args)}
    names |= {leaf.name for leaf in leaves(tool)}  # what the check for resources asks a person to confirm
    for confirmation in tool.confirmed:
        if confirmation.arg not in names:
            yield f"the confirmation names the unknown argument {quoted(confirmation.arg)}"


def _coverage_problems(tool: ToolAnnotation, places: dict[str, SchemaLeaf]) -> Iterator[str]:
    """Every argument of the schema is annotated, and nothing that the schema does not know."""
    annotated = {argument.name for argument in tool.args}
    for name in annotated - places.keys():
        known = ", ".join(place for place in places if not place.startswith("/")) or "none"
        yield f"argument {quoted(name)} is not in the tool's schema (its arguments: {known})"
    for leaf in places.values():
        if leaf.name.startswith("/") or leaf.name in annotated:
            continue
        parts = {name for name in annotated if name.startswith("/")}
        below = [
            p for p in places.values() if p.name.startswith("/") and p.top_level == leaf.name and not p.inner
        ]
        missing = [p.name for p in below if p.name not in parts]
        if not below or not parts & {p.name for p in below}:
            yield f"argument {quoted(leaf.name)} is not annotated"
        elif missing:
            yield f"argument {quoted(leaf.name)} is annotated in parts, but {quoted(missing[0])} is missing"


def _role_problems(
    argument: Argument, registry: Registry, places: dict[str, SchemaLeaf] | None
) -> Iterator[str]:
    roles = [registry[name] for name in argument.possible_roles]
    shown = quoted(argument.name)
    if len(set(argument.possible_roles)) != len(roles):
        yield f"argument {shown} names a role twice"
    if len({role.category for role in roles}) > 1:
        yield f"the roles of argument {shown} are of several categories: {', '.join(argument.possible_roles)}"
    leaf = places.get(argument.name) if places is not None else None
    if leaf is None or not any(role.resource for role in roles) or argument.codec:
        return
    if leaf.inner or _types(leaf) == {"object"}:
        yield f"argument {shown} holds objects; annotate the places inside it by pointers"
    elif not leaf.holds_text and not any(role.identifier and role.identifier.numbers for role in roles):
        yield f"argument {shown} can hold no string, so it cannot be a {roles[0].name}"


def _flag_problems(argument: Argument, tool: ToolAnnotation, registry: Registry) -> Iterator[str]:
    roles = [registry[name] for name in argument.possible_roles]
    shown = quoted(argument.name)
    is_path = any(role.category == "path" for role in roles)
    for flag in ("recursive", "repository"):
        if getattr(argument, flag) and not is_path:
            yield f"argument {shown} is {flag}, which only a path can be"
    if argument.relative_to is not None:
        yield from _relative_problems(argument, tool, registry, is_path=is_path)
    if argument.codec and not any(role.resource for role in roles):
        yield f"argument {shown} has a codec, but no role that identifies a resource"
    if argument.codec == "addresses" and any(role.name != "recipient" for role in roles):
        yield f"argument {shown} has the codec addresses, which is for the role recipient only"
    if argument.assume_scheme is not None:
        allowed = _assumable(roles)
        if argument.assume_scheme not in allowed:
            known = ", ".join(sorted(allowed)) or "none, since it is no URL"
            yield f"argument {shown} assumes the scheme {quoted(argument.assume_scheme)} (possible: {known})"


def _relative_problems(
    argument: Argument, tool: ToolAnnotation, registry: Registry, *, is_path: bool
) -> Iterator[str]:
    shown, target = quoted(argument.name), argument.relative_to or ""
    base = next((other for other in tool.args if target in {other.name, f"/{other.name}"}), None)
    if not is_path:
        yield f"argument {shown} has relative_to, which only a path can have"
    if base is None or base is argument:
        yield f"argument {shown} is relative to {quoted(target)}, which is no other annotated argument"
    elif not any(registry[role].category == "path" for role in base.possible_roles) or "*" in base.name:
        yield f"argument {shown} is relative to {quoted(target)}, which is no single path"
    elif base.relative_to is not None:
        yield f"argument {shown} is relative to {quoted(target)}, which is itself relative to another"


def _assumable(roles: list[Role]) -> frozenset[str]:
    names = {role.name for role in roles}
    if GIT_REMOTE in names:
        return _REMOTE_SCHEMES
    return _FETCH_SCHEMES if "fetch-url" in names else frozenset()


def _composite_problems(tool: ToolAnnotation, registry: Registry) -> Iterator[str]:
    joined = Counter(name for composite in tool.composites for name in composite.join)
    for name in sorted(name for name, count in joined.items() if count > 1):
        yield f"argument {quoted(name)} is joined twice"
    for composite in tool.composites:
        if registry[composite.role].category != "identifier":
            yield f"a composite has the role {composite.role}, which is no identifier"
        for name in composite.join:
            argument = next((a for a in tool.args if a.name == name), None)
            if argument is None:
                yield f"a composite joins {quoted(name)}, which is no annotated argument"
            elif any(registry[role].resource for role in argument.possible_roles):
                yield f"argument {quoted(name)} is joined and carries a resource role of its own"


def _effect_problems(tool: ToolAnnotation, registry: Registry) -> Iterator[str]:
    roles = [registry[role] for argument in tool.args for role in argument.possible_roles]
    resources = [role for role in roles if role.resource]
    if not tool.side_effects and (resources or tool.composites):
        yield "side_effects is false, but the tool takes a resource"


def _types(leaf: SchemaLeaf) -> set[str]:
    types = leaf.schema.get("type")
    named = types if isinstance(types, list) else [types]
    return {name for name in named if isinstance(name, str)} - {"null"}


def conditional_problems(tool: ToolAnnotation, places: dict[str, SchemaLeaf] | None) -> Iterator[str]:
    """Yield the mistakes in a tool's conditional roles; `places` are its schema's, None without one."""
    for argument in tool.args:
        for branch in argument.conditional.when if argument.conditional else ():
            yield from _branch_problems(argument, branch, tool, places)


def _branch_problems(
    argument: Argument, branch: When, tool: ToolAnnotation, places: dict[str, SchemaLeaf] | None
) -> Iterator[str]:
    shown = quoted(argument.name)
    # `none` carries no role at all, so it is inside every default: `git_remote` has no URL in its list mode.
    added = [role for role in branch.roles if role not in {*argument.possible_roles, NONE}]
    if added:
        yield f"a condition of argument {shown} adds {visible(', '.join(added))}; it may only narrow"
    if branch.arg not in {other.name for other in tool.args if not other.name.startswith("/")}:
        yield f"a condition of argument {shown} tests {quoted(branch.arg)}, which is not annotated"
        return
    if branch.arg == argument.name:
        yield f"a condition of argument {shown} tests the argument itself"
    leaf = places.get(branch.arg) if places is not None else None
    for value in _tested(branch):
        if value is None:
            yield f"a condition of argument {shown} compares with null; test present: false instead"
        elif leaf is not None and not _takes(_value_schema(leaf), value):
            yield f"a condition of argument {shown} tests {quoted(branch.arg)} for an impossible value"
    if (
        branch.present is False
        and set(branch.roles) != set(argument.possible_roles)
        and not states_absence(leaf)
    ):
        yield (
            f"a condition of argument {shown} narrows where {quoted(branch.arg)} is absent, "
            "but the schema does not say what absent means"
        )


def _tested(branch: When) -> tuple[JsonValue, ...]:
    if "equals" in branch.model_fields_set:
        return (branch.equals,)
    return branch.in_ or ()


def _takes(schema: dict[str, JsonValue], value: JsonValue) -> bool:
    said = fits_plainly(value, [schema])
    return Draft202012Validator(schema).is_valid(value) if said is None else said


def _value_schema(leaf: SchemaLeaf) -> dict[str, JsonValue]:
    return {key: leaf.schema[key] for key in ("type", "enum", "const") if key in leaf.schema}


def states_absence(leaf: SchemaLeaf | None) -> bool:
    """Tell whether the schema says of a place what leaving it out means."""
    if leaf is None:
        return False
    return "default" in leaf.schema or bool(_STATES_ABSENCE.search(str(leaf.schema.get("description", ""))))
