"""Sentences that say what rules mean, by a template: no model writes or reads them here.

A proposal is rules and the sentence that this makes of them, so both say the same. What a compile makes of
the sentence is for the compile to say, and its `diff` has to show the same classes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ironcurtain.analysis.engine.rules.predicates import rule_predicates
from ironcurtain.analysis.engine.rules.wording import predicate_words
from ironcurtain.decision.canonical.patterns import separator
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import parse_fetch_url, parse_remote_url
from ironcurtain.decision.roles import BUILT_IN, GIT_REMOTE, NONE, Role
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If, PathsCondition
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import visible

CONDITION_KEYS = {
    "path": ("paths", "within"),
    "url": ("domains", "allowed"),
    "identifier": ("lists", "allowed"),
}
"""By a role's category: the key of a condition, and that of its patterns."""
_PLAIN = re.compile(r"[A-Za-z0-9~/._+:-][A-Za-z0-9@~/._+:-]{0,199}")
"""Without `*`, and without `@` in front: what is a pattern or a list in a rule is no name of a thing."""
_COMMAND = re.compile(r"[A-Za-z0-9@~/._+:= -]{1,60}")
_PROSE = re.compile(r"[.:](?: |$)|(?:[A-Za-z]+ ){3}[A-Za-z]")
_MIN_DEPTH = 2


# -- places ----------------------------------------------------------------------------------------


def is_plain(text: str, *, command: bool = False) -> bool:
    """Tell whether a name can stand in a sentence without saying anything there: agents choose names."""
    if command:
        return _COMMAND.fullmatch(text) is not None and _PROSE.search(text) is None
    return _PLAIN.fullmatch(text) is not None


def place_of(role: Role, value: str, home: str, hosts: frozenset[str], *, exact: bool = False) -> str | None:
    """Return the place of a resource as a person would write it; None where there is no narrow one.

    Args:
        role: Its role.
        value: Its canonical value.
        home: The home directory of the session.
        hosts: Hosts whose path segments compare case-folded.
        exact: Whether to name the resource itself instead of the directory, host or folder that it is in.
    """
    if role.category == "path":
        # Without an ending it may be a directory; if it is a file, it is named itself.
        is_file = "." in posixpath.basename(value) and not exact
        return directory_pattern(posixpath.dirname(value) if is_file else value, home)
    place: str | None = value
    if role.category == "url":
        place = _address(role, value, hosts, exact=exact)
    if place is None or not is_plain(place):
        return None
    return place if role.category == "url" or exact else _identifier(role, place)


def directory_pattern(path: str, home: str) -> str | None:
    """Return a directory as a pattern; None for home, what is above it, and hidden ones."""
    if not path.startswith("/") or f"{home}/".startswith(f"{path.rstrip('/')}/"):
        return None
    is_own = path.startswith(f"{home}/")
    pattern = f"~{path[len(home) :]}" if is_own else path
    steps = pattern.strip("/").split("/")
    if len(steps) < _MIN_DEPTH or any(step.startswith(".") for step in steps) or not is_plain(pattern):
        return None
    return pattern


def around(role: Role, places: Sequence[str], home: str) -> str | None:
    """Return the narrowest place around several of one role; None where a person would name none."""
    if role.category == "path":
        real = [f"{home}{place[1:]}" if place.startswith("~") else place for place in places]
        return directory_pattern(posixpath.commonpath(real), home)
    if role.category == "identifier" and separator(role) == "/":
        common = posixpath.commonpath([place.removesuffix("/**") for place in places])
        return f"{common}/**" if common else None
    return None


def _address(role: Role, value: str, hosts: frozenset[str], *, exact: bool) -> str | None:
    """Return the host of an address; of a git remote the repository on it."""
    try:
        url = parse_remote_url(value) if role.name == GIT_REMOTE else parse_fetch_url(value)
    except UnrepresentableError:
        return None
    if url.port is not None:
        return None
    scheme = "" if url.scheme in ("https", "ssh") else f"{url.scheme}://"
    segments = url.segments if exact or role.name == GIT_REMOTE else ()
    if url.host.name in hosts:
        segments = tuple(segment.lower() for segment in segments)
    return "/".join([f"{scheme}{url.host.name}", *segments])


def _identifier(role: Role, value: str) -> str | None:
    if separator(role) != "/":
        return value
    folder = value.rpartition("/")[0]
    return f"{folder}/**" if folder else value


# -- sentences -------------------------------------------------------------------------------------


def sentence_of(rules: Iterable[Rule], tools: Mapping[tuple[str, str], ToolAnnotation]) -> str:
    """Return in words what rules say of some tools; of no rules, nothing."""
    return " ".join(dict.fromkeys(_sentence(rule, tools) for rule in rules))


def _sentence(rule: Rule, tools_of_policy: Mapping[tuple[str, str], ToolAnnotation]) -> str:
    condition = rule.if_
    tools = " and ".join(f"`{visible(tool)}`" for tool in condition.tool or ()) or "any tool"
    servers = " or ".join(f"`{visible(server)}`" for server in condition.server or ())
    what = f"{tools} of {servers}" if servers else tools
    where = _joined(
        [*_conditions(condition, rule.then), *map(predicate_words, rule_predicates(condition, rule.then))]
    )
    where = f" where {where}" if where else ""
    # Every resource of a call is judged by itself, which a reader of the sentence would not guess.
    others = _other_roles(condition, tools_of_policy)
    where += f"; any {' or '.join(others)} of such a call needs a sentence of its own" if others else ""
    if rule.then is Verdict.ALLOW:
        return f"The agent may use {what} without approval{where}."
    if rule.then is Verdict.ESCALATE:
        asked = f" of {visible(rule.approver)}" if rule.approver else ""
        return f"The agent must ask for approval{asked} before it uses {what}{where}."
    return f"The agent must not use {what}{where}."


def _other_roles(condition: If, tools: Mapping[tuple[str, str], ToolAnnotation]) -> list[str]:
    """Return the roles of resources that calls can have and a condition does not speak of."""
    if condition.roles == (NONE,) or not condition.named_roles:
        return []
    about = [t for place, t in tools.items() if condition.is_about(*place, side_effects=t.side_effects)]
    possible = {role for tool in about for argument in tool.args for role in argument.possible_roles}
    possible |= {composite.role for tool in about for composite in tool.composites}
    opaque = {role.name for role in BUILT_IN if not role.resource}
    return sorted(possible - {*condition.named_roles} - opaque)


def _conditions(condition: If, then: Verdict) -> Iterator[str]:
    if condition.side_effects is not None:
        yield "the tool changes something" if condition.side_effects else "the tool changes nothing"
    if condition.roles is not None:
        named = " or ".join(map(visible, condition.roles))
        yield "no resource is named" if condition.roles == (NONE,) else f"a {named} is named"
    for one in condition.role_conditions:
        every = "every" if then is Verdict.ALLOW else "a"
        roles = " and ".join(map(visible, one.roles))
        lies = "lies in" if isinstance(one, PathsCondition) else "is"
        patterns = " or ".join(f"`{visible(pattern)}`" for pattern in one.patterns)
        yield f"{every} {roles} {lies} {patterns}{' or there is none' if one.or_none else ''}"
    if condition.in_sandbox:
        yield "also in the workspace"


def _joined(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)
