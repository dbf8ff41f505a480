"""What the rules of a policy could let one server reach: places to read and to write, and domains.

It is an upper bound. Every rule with a verdict that counts does so for every tool that it could speak of, and
what it says of arguments, callers and other resources of a call is taken to hold. What only takes away, a
rule that denies or has another verdict, does so where it stands first and holds whatever else is in the call.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from ironcurtain.bundle.content import PolicyContent, RuleText
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.decision.roles import GIT_REMOTE, Registry, Role
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If, RoleCondition
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct, field

_ALLOWED_OR_ASKED = frozenset({Verdict.ALLOW, Verdict.ESCALATE})
_HOST = re.compile(r"(?:[a-z]+://)?(?P<host>\[[^\]]*\]|[^/:]*)(?P<port>:[0-9]+)?(?:/.*)?")
_LIST = "@"
_OF_GIT = frozenset({"write-history", "delete-history", GIT_REMOTE})


class Places(Struct):
    """Directories and files, as rules name them: absolute, or from the home on (`~/Documents`).

    Attributes:
        named: Those that rules name.
        anywhere: Whether a rule names no place, so that it could be any.
        never: What of all places these do not open, since an earlier rule takes it away.
    """

    named: tuple[str, ...] = ()
    anywhere: bool = False
    never: tuple[str, ...] = ()


class Reach(Struct):
    """What one server could be asked to reach.

    Attributes:
        reads: What its tools could read.
        writes: What its tools could write or delete; it can be read, too.
        session: Whether its tools work on files in the session's sandbox.
        domains: Hosts that its tools could contact, `*.` for subdomains.
        any_domain: Whether a rule names no host, so that it could be any.
        repositories: Whether its tools could change git repositories as such, or make new ones.
    """

    reads: Places = field(default_factory=Places)
    writes: Places = field(default_factory=Places)
    session: bool = False
    domains: tuple[str, ...] = ()
    any_domain: bool = False
    repositories: bool = False


NOTHING = Reach()
"""The reach of a server that no rule lets do anything."""

WITHOUT_POLICY = Reach(reads=Places(anywhere=True), session=True, repositories=True)
"""What is taken for a server where no policy says more."""


def reach_of(content: PolicyContent, server: str, verdicts: Collection[Verdict] = _ALLOWED_OR_ASKED) -> Reach:
    """Return what rules with one of some verdicts could let a server reach.

    Args:
        content: The policy.
        server: The server's name; one that the policy does not know reaches nothing.
        verdicts: Which verdicts count; what a rule with another one says first, no later rule opens.
    """
    tools = [tool for (name, _), tool in content.tools.items() if name == server]
    if not tools:
        return NOTHING
    if any(rule.if_ is None for rule in content.rules.values()):  # a bundle of before conditions were kept
        anywhere = Places(anywhere=True)
        return Reach(anywhere, anywhere, session=True, any_domain=True, repositories=True)
    registry = Registry(content.annotations.roles)
    rules = sorted(content.rules.values(), key=lambda each: each.order)
    reads, writes, urls = _Union(), _Union(), _Union()
    session = repositories = False
    for tool in tools:
        about = [rule for rule in rules if speaks_of(rule.if_, server, tool, meant=is_reserved(tool))]
        for role in _roles(tool, registry):
            opened = _found(about, role.name, content.lists, verdicts)
            if role.category == "path":
                (writes if role.writes else reads).add(opened)
                contained = tool.contained and role.containable and not is_reserved(tool)
                permitted = contained or bool(opened.opened)
                session = session or permitted
                repositories = repositories or (permitted and role.writes and _is_of_git(tool))
            elif role.category == "url":
                urls.add(opened)
    contacted = urls.places()
    hosts = tuple(dict.fromkeys(map(_host, contacted.named)))
    return Reach(
        reads=reads.places(writes),
        writes=writes.places(),
        session=session,
        domains=tuple(host for host in hosts if host != "*"),
        any_domain=contacted.anywhere or "*" in hosts,
        repositories=repositories,
    )


def reaches(
    content: PolicyContent, servers: Iterable[str], *, observe: bool
) -> tuple[dict[str, Reach], dict[str, Reach]]:
    """Return what each of some servers reaches, and what it could be let reach when a person approves.

    Args:
        content: The policy.
        servers: The names of the servers.
        observe: Whether nothing is enforced: then nobody is asked, and both are the same.
    """
    names = list(servers)
    asked = {name: reach_of(content, name) for name in names}
    return asked if observe else {name: reach_of(content, name, {Verdict.ALLOW}) for name in names}, asked


def speaks_of(conditions: If | None, server: str, tool: ToolAnnotation, *, meant: bool) -> bool:
    """Tell whether a rule could speak of a tool; `meant` where it must name the tool, or server and role."""
    named = conditions is not None and (conditions.tool or (conditions.server and conditions.named_roles))
    if conditions is None or (meant and not named):
        return False  # no home is opened for resources that a server probably does not have
    return conditions.is_about(server, tool.tool, side_effects=tool.side_effects)


def _is_of_git(tool: ToolAnnotation) -> bool:
    """Tell whether a tool works on repositories, or gets one from a remote."""
    roles = {role for argument in tool.args for role in argument.possible_roles}
    return any(argument.repository for argument in tool.args) or not roles.isdisjoint(_OF_GIT)


def _roles(tool: ToolAnnotation, registry: Registry) -> Iterator[Role]:
    """Yield the roles that resources of a tool's calls can have, each once."""
    names = [role for argument in tool.args for role in argument.possible_roles]
    names += [composite.role for composite in tool.composites]
    if any(argument.repository for argument in tool.args):
        names.append("read-path")  # of what git borrows from elsewhere
    yield from (registry[name] for name in dict.fromkeys(names) if registry[name].resource)


@dataclasses.dataclass
class _Found:
    """What the rules about one tool say of one role.

    Attributes:
        never: What rules have taken away by now.
        opened: The places that are named, each with what had been taken away before; None is any place.
    """

    never: list[str] = dataclasses.field(default_factory=list)
    opened: list[tuple[str | None, tuple[str, ...]]] = dataclasses.field(default_factory=list)

    def open(self, place: str | None) -> None:
        """Open a place, but for what has been taken away."""
        if place is None or not _is_in(place, self.never):
            self.opened.append((place, tuple(self.never)))

    def leads_to(self, place: str) -> bool:
        """Tell whether a place lies in what is opened."""
        return any(
            (opened is None or _is_in(place, [opened])) and not _is_in(place, never)
            for opened, never in self.opened
        )


def _found(
    rules: list[RuleText],
    role: str,
    lists: Mapping[str, tuple[str, tuple[str, ...]]],
    verdicts: Collection[Verdict],
) -> _Found:
    """Go through the rules in their order; the first that holds decides.

    So a plain one that does not count, as a denial never does, takes away from those after it.
    """
    opened = _Found()
    for rule in rules:
        conditions = rule.if_
        if conditions is None or (conditions.named_roles and role not in conditions.named_roles):
            continue
        patterns = _patterns(conditions, role, lists)
        counts = rule.then is not Verdict.DENY and rule.then in verdicts
        if not counts and not _is_plain(conditions, role):
            continue
        if patterns is None:
            if counts:
                opened.open(None)
            break
        if counts:
            for each in patterns:
                opened.open(each)
        else:
            opened.never += patterns
    return opened


def _patterns(
    conditions: If, role: str, lists: Mapping[str, tuple[str, tuple[str, ...]]]
) -> list[str] | None:
    """Return the patterns that one condition demands of a resource of a role; None if there is none."""
    demanding: RoleCondition | None = next((c for c in conditions.role_conditions if role in c.roles), None)
    if demanding is None:
        return None
    members = [(p, lists[p[1:]][1] if p.startswith(_LIST) else (p,)) for p in demanding.patterns]
    return [each for _, values in members for each in values]


def _is_plain(conditions: If, role: str) -> bool:
    """Tell whether a rule holds for a resource of a role whatever else the call has."""
    demanding = [each for each in conditions.role_conditions if role in each.roles]
    guards = len(demanding) < len(conditions.role_conditions)
    return not (guards or len(demanding) > 1 or conditions.args or conditions.caller)


def _is_in(place: str, directories: Collection[str]) -> bool:
    return any(place == each or place.startswith(f"{each.rstrip('/')}/") for each in directories)


def _host(pattern: str) -> str:
    """Return host and port of a URL's pattern."""
    match = _HOST.fullmatch(pattern)
    return match["host"] + (match["port"] or "") if match is not None else pattern


class _Union:
    """What several tools reach together: closed to all is only what none of them opens."""

    def __init__(self) -> None:
        self.each: list[_Found] = []

    def add(self, found: _Found) -> None:
        """Add what one tool reaches under one role."""
        self.each.append(found)

    def places(self, *others: _Union) -> Places:
        """Return all of it; what others open is not closed either."""
        opened = [place for found in self.each for place, _ in found.opened]
        every = [found for union in (self, *others) for found in union.each]
        taken = {place for found in self.each for place in found.never}
        return Places(
            tuple(dict.fromkeys(place for place in opened if place is not None)),
            None in opened,
            tuple(sorted(place for place in taken if not any(found.leads_to(place) for found in every))),
        )
