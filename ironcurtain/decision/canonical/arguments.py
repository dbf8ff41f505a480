"""Step 4: each annotated leaf under each role it carries, as resources in canonical form (specification 2.4).

What comes out is exactly what is judged and exactly what is sent: each leaf of a resource role is
replaced by its canonical form, and whatever cannot be represented exactly refuses the call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.characters import check_plain, trimmed
from ironcurtain.decision.canonical.codecs import decode, encode
from ironcurtain.decision.canonical.conditional import roles_in_call
from ironcurtain.decision.canonical.git.remotes import RemoteCanonicalizer
from ironcurtain.decision.canonical.host_view import HostView, RepositoryPlaces, UnreadableError
from ironcurtain.decision.canonical.identifiers import canonical_identifier, check_branch_name
from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.resources import Resource, ResourceCollector, ResourceLimit
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import parse_fetch_url
from ironcurtain.decision.roles import GIT_REMOTE, Registry, Role
from ironcurtain.model.annotations import Argument, Composite, ToolAnnotation
from ironcurtain.model.reasons import Reason, ReasonCode
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue, is_integer
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

BRANCH_NAME = "branch-name"
READ_PATH = "read-path"


class CanonicalizationContext(Struct):
    """What canonicalisation needs to know of the place where a call happens.

    Attributes:
        resolver: Resolves paths in the world.
        server: The server that the call goes to; git is asked in its environment.
        home: The home directory, absolute.
        working_root: Directory that the server's relative paths resolve against, or None.
        directories_inside: Given a real directory, the real directories inside it that the policy names.
    """

    world: HostView
    resolver: Resolver
    server: str
    home: str
    working_root: str | None
    registry: Registry
    directories_inside: Callable[[str], tuple[str, ...]]


class Canonical(Struct):
    """The outcome of step 4.

    Attributes:
        arguments: The canonical arguments: what is decided on, and what is sent.
        resources: The resources in document order, at least one.
        resolver: The resolver with its memo of this call's look-ups, for the structural checks.
        starts: By the steps to each leaf that was read as a path, where a relative one starts.
        remote_start: Where a remote starts that is a relative path.
    """

    arguments: dict[str, JsonValue]
    resources: tuple[Resource, ...]
    resolver: Resolver
    starts: Mapping[tuple[str, ...], str | None]
    remote_start: str | None


class _Leaf(NamedTuple):
    """A scalar below an annotated argument, with the roles that it carries in this call.

    Attributes:
        roles: Those of its roles that name a resource.
        is_branch: Whether it is the name of a branch, too.
        stage: When it is judged; the lower ones are first.
    """

    steps: tuple[str, ...]
    pointer: str
    value: JsonValue
    argument: Argument
    roles: list[Role]
    is_branch: bool
    stage: int


def canonicalise(
    tool: ToolAnnotation, arguments: dict[str, JsonValue], around: CanonicalizationContext
) -> Canonical:
    """Turn the filled arguments of a call into canonical arguments and resources.

    Raises:
        UnrepresentableError: If something under a resource role cannot be judged exactly.
    """
    return _Call(tool, arguments, around).run()


class _Call:
    """The working state of one canonicalisation."""

    def __init__(
        self, tool: ToolAnnotation, arguments: dict[str, JsonValue], around: CanonicalizationContext
    ) -> None:
        self.tool = tool
        self.given = arguments
        self.arguments = json_text.copied(arguments)
        self.around = around
        self.resolver = around.resolver
        self.remotes = RemoteCanonicalizer(
            around.world, around.server, self.resolver, around.registry, around.working_root
        )
        self.found: defaultdict[tuple[str, ...], list[Resource]] = defaultdict(list)
        self.limit = ResourceLimit()
        self.paths: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        self.starts: dict[tuple[str, ...], str | None] = {}
        self.repository: str | None = None

    def run(self) -> Canonical:
        leaves = list(self._leaves())
        self._check_all_covered(leaves)
        # A path may be relative to another argument, and a remote belongs to the repository argument,
        # so plain leaves come first, then relative ones, then remotes.
        for leaf in sorted((leaf for leaf in leaves if leaf.roles or leaf.is_branch), key=_STAGE):
            self._canonicalise(leaf)
        self._canonicalise_absent_remotes(leaves)
        for composite in self.tool.composites:
            self._canonicalise_composite(composite)
        remote_start = self.repository or self.around.working_root
        return Canonical(self.arguments, self._collect(), self.resolver, self.starts, remote_start)

    # -- finding the leaves ---------------------------------------------------------------------

    def _leaves(self) -> Iterator[_Leaf]:
        for argument in self.tool.args:
            pattern = pointers.steps_of(argument.name)
            if pattern[0] not in self.given:
                continue
            names = roles_in_call(argument, self.given)
            roles = [role for role in map(self.around.registry.__getitem__, names) if role.resource]
            stage, is_branch = _stage(argument, names), BRANCH_NAME in names
            for steps, value in pointers.matches(self.given, pattern):
                if value is None and not self._is_element(steps):
                    continue  # it counts as absent: step 3 let it pass
                for below, scalar in _scalars(value, roles):
                    place = (*steps, *below)
                    yield _Leaf(place, pointers.join(place), scalar, argument, roles, is_branch, stage)

    def _is_element(self, steps: tuple[str, ...]) -> bool:
        parent = next(found for _, found in pointers.matches(self.given, steps[:-1]))
        return isinstance(parent, list)

    def _check_all_covered(self, leaves: list[_Leaf]) -> None:
        """Where pointers below an argument are annotated, every leaf below it must be matched by one."""
        patterns = [pointers.tokens(a.name) for a in self.tool.args if a.name.startswith("/")]
        if not patterns:
            return
        annotated = {leaf.steps for leaf in leaves}
        for name in [name for name in self.given if any(pattern[0] == name for pattern in patterns)]:
            for below, value in pointers.ends(self.given[name]):
                steps = (name, *below)
                # What is empty holds no leaf, but a key or an element that nothing annotates is a part, too.
                known = isinstance(value, dict | list) and any(pointers.meets(p, steps) for p in patterns)
                if not known and steps not in annotated and value is not None:
                    raise UnrepresentableError(
                        f"has a part that no annotation covers, at {_shown(pointers.join(steps))}"
                    )

    # -- canonicalising them --------------------------------------------------------------------

    def _canonicalise(self, leaf: _Leaf) -> None:
        try:
            self._canonicalise_roles(leaf)
        except UnrepresentableError as error:
            raise UnrepresentableError(error.cause.within(f"{_shown(leaf.pointer)} ")) from None

    def _canonicalise_roles(self, leaf: _Leaf) -> None:
        if leaf.is_branch:
            check_branch_name(_as_text(leaf.value))
        if not leaf.roles:
            return
        roles, value, codec = leaf.roles, leaf.value, leaf.argument.codec
        if codec is None or not isinstance(value, str):
            self._replace(leaf, self._canonical(leaf, roles, value))
            return
        values = [str(self._canonical(leaf, roles, part)) for part in decode(codec, value)]
        self._replace(leaf, encode(codec, value, values))

    def _canonical(self, leaf: _Leaf, roles: list[Role], value: JsonValue) -> JsonValue:
        """Record the resources of one decoded value; return the value to send."""
        category = roles[0].category
        if category == "path":
            return self._path(leaf, roles, _as_text(value))
        if category == "url":
            return self._url(leaf, roles, _as_text(value))
        return self._identifier(leaf, roles, value)

    def _path(self, leaf: _Leaf, roles: list[Role], text: str) -> str:
        start = self.starts[leaf.steps] = self._start(leaf.argument)
        path = self.resolver.resolve(text, start)
        if trimmed(path) != path:
            raise UnrepresentableError("ends with a blank, or with a character that cannot be seen")
        self.paths[leaf.steps].append(path)
        for role in roles:
            recursive = leaf.argument.recursive or role.name == "delete-path"
            self._record(leaf.steps, Resource("", role, path, leaf.pointer, (), path, recursive))
            for directory in self.around.directories_inside(path) if recursive else ():
                self._record(leaf.steps, Resource("", role, directory, leaf.pointer, (), directory))
        if leaf.argument.repository:
            self._repository(leaf, roles, path)
        return path

    def _repository(self, leaf: _Leaf, roles: list[Role], path: str) -> None:
        """A git tool also touches the work-tree top and the git directory, wherever they lie."""
        if self.repository not in {None, path}:
            raise UnrepresentableError("is a second repository, and a call is judged in one")
        self.repository = path
        try:
            places = self.around.world.repository(path, server=self.around.server)
        except UnreadableError as error:
            unusable = "is no repository that git can work in"
            cause = Reason(ReasonCode.REPOSITORY, f"{unusable}: {error}", unusable)
            raise UnrepresentableError(cause) from None
        if places is None:
            return
        top = self.resolver.resolve(places.top, None) if places.top else None
        common = self.resolver.resolve(places.common, None)
        for role in roles:
            if top and not is_within(top, path):
                self._record(leaf.steps, Resource("", role, top, leaf.pointer, resource=top))
            if not is_within(common, path):
                self._record(
                    leaf.steps,
                    Resource("", role, common, leaf.pointer, resource=common, git_directory=True),
                )
        self._linked(leaf, roles, places)

    def _linked(self, leaf: _Leaf, roles: list[Role], places: RepositoryPlaces) -> None:
        """What a repository borrows is read; a submodule is worked in; other work trees can be changed."""
        reads = [self.around.registry[READ_PATH]]
        changes = [role for role in roles if role.writes]
        for others, evaluated in (
            (places.stores, reads),
            (places.submodules, [*roles, *reads]),
            (places.worktrees, changes),
        ):
            for place in (self.resolver.resolve(other, None) for other in others):
                for role in evaluated:
                    self._record(leaf.steps, Resource("", role, place, leaf.pointer, resource=place))

    def _start(self, argument: Argument) -> str | None:
        if argument.relative_to is None:
            return self.around.working_root
        bases = self.paths.get(pointers.steps_of(argument.relative_to), [])
        return bases[0] if len(bases) == 1 else None

    def _url(self, leaf: _Leaf, roles: list[Role], text: str) -> str:
        fetched = [role for role in roles if role.name != GIT_REMOTE]
        scheme = leaf.argument.assume_scheme
        sent = text
        if fetched:
            url = parse_fetch_url(text, assume_scheme=scheme)
            for role in fetched:
                self._record(leaf.steps, Resource("", role, url.text, leaf.pointer, resource=url))
            sent = url.text
        if len(fetched) == len(roles):
            return sent
        resources, remote = self.remotes.given(sent, leaf.pointer, self.repository, assume_scheme=scheme)
        if fetched and remote != sent:
            raise UnrepresentableError("has one spelling as a web address and another one as a git remote")
        self._record(leaf.steps, *resources)
        return remote

    def _identifier(self, leaf: _Leaf, roles: list[Role], value: JsonValue) -> JsonValue:
        sent: JsonValue
        numbers = all(role.identifier and role.identifier.numbers for role in roles)
        if is_integer(value) and numbers:
            text, sent = str(value), value
        else:
            text = _as_text(value)
            for role in roles:
                text = canonical_identifier(role, text)
            sent = text
        forms = {role: canonical_identifier(role, text) for role in roles}
        if set(forms.values()) != {text}:
            raise UnrepresentableError("has another canonical spelling under each of its roles")
        for role in forms:
            self._record(leaf.steps, Resource("", role, text, leaf.pointer, resource=text))
        return sent

    def _canonicalise_absent_remotes(self, leaves: list[_Leaf]) -> None:
        """A git tool without a remote contacts the one that git would choose in the call's repository."""
        if self.repository is None:
            return
        given = {leaf.argument.name for leaf in leaves}
        for argument in self.tool.args:
            if GIT_REMOTE in roles_in_call(argument, self.given) and argument.name not in given:
                steps = pointers.steps_of(argument.name)
                self._record(steps, *self.remotes.absent(pointers.join(steps), self.repository))

    def _canonicalise_composite(self, composite: Composite) -> None:
        places = [pointers.steps_of(name) for name in composite.join]
        values_by_name = [
            [v for _, v in pointers.matches(self.given, steps) if v is not None] for steps in places
        ]
        if not any(values_by_name):
            return
        names = ", ".join(composite.join)
        texts = [v for values in values_by_name for v in values if isinstance(v, str) and v]
        if not (len(texts) == len(places) == sum(map(len, values_by_name)) and all(values_by_name)):
            raise UnrepresentableError(f"{names} do not make one {composite.role}")
        if any(composite.with_ in text for text in texts):
            raise UnrepresentableError(f"{names} do not make one {composite.role}: one holds the separator")
        role = self.around.registry[composite.role]
        try:
            for text in texts:
                check_plain(text)
            form = canonical_identifier(role, composite.with_.join(texts))
        except UnrepresentableError as error:
            raise UnrepresentableError(error.cause.within(f"{names} together: ")) from None
        first, *others = (pointers.join(steps) for steps in places)
        self._record(places[0], Resource("", role, form, first, also_at=tuple(others), resource=form))

    # -- putting the outcome together -----------------------------------------------------------

    def _record(self, steps: tuple[str, ...], *resources: Resource) -> None:
        for resource in resources:
            self.limit.add(resource)
            self.found[steps].append(resource)

    def _replace(self, leaf: _Leaf, value: JsonValue) -> None:
        if value != leaf.value or type(value) is not type(leaf.value):
            pointers.assign(self.arguments, leaf.steps, value)

    def _collect(self) -> tuple[Resource, ...]:
        collector = ResourceCollector()
        for steps in self.found if len(self.found) < 2 else self._in_document_order():  # noqa: PLR2004 - nothing to sort
            for resource in self.found[steps]:
                collector.add(resource)
        return collector.finish(self.around.registry)

    def _in_document_order(self) -> list[tuple[str, ...]]:
        order = {steps: place for place, (steps, _) in enumerate(pointers.ends(self.arguments))}
        # An absent remote stands in no argument; it comes last.
        return sorted(self.found, key=lambda steps: order.get(steps, len(order)))


def _scalars(value: JsonValue, roles: list[Role]) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """Yield the leaves of an annotated value; a resource role takes a scalar or a flat array of them."""
    if not roles:
        yield from pointers.leaves(value)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (str(index),), item
    else:
        yield (), value


def _as_text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise UnrepresentableError(f"must be a string (got {json_text.type_name(value)})")
    return value


def _shown(pointer: str) -> str:
    return quoted(pointer)[1:-1]


def _stage(argument: Argument, roles: Collection[str]) -> int:
    if GIT_REMOTE in roles:
        return 2
    return 1 if argument.relative_to else 0


_STAGE = attrgetter("stage")
