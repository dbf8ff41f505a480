"""One or two policies, loaded in one assumed world that holds a witness for everything they speak of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from ironcurtain.analysis.engine.prepare_cache import PrepareCache
from ironcurtain.analysis.engine.values.witnesses import (
    SECOND_NAME,
    PatternWitness,
    above_witnesses,
    fresh_words,
    list_witnesses,
    outside_witnesses,
    pattern_witnesses,
    sandbox_witnesses,
)
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.roles import GIT_REMOTE, Registry
from ironcurtain.model.scenarios import DescribedFile, DescribedWorld, Remote, Repository
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct


class PolicyUnderTest(Struct):
    """One policy in the assumed world.

    Attributes:
        tokens: By `@list`, a name that tells lists of one name and different members apart.
        steps: Steps 3 to 5 under the policy, shared with policies that differ in nothing these steps read.
    """

    bundle: Bundle
    content: PolicyContent
    policy: LoadedPolicy
    tokens: Mapping[str, str]
    steps: PrepareCache

    @property
    def has_custom_modules(self) -> bool:
        """Whether the bundle holds Rego modules that a project wrote itself."""
        return bool(self.bundle.custom_modules)


class PoliciesUnderTest(Struct):
    """Policies under examination.

    Attributes:
        world: The world as it was given: what every answer assumes.
        policies: The policies, loaded in that world with the witnesses' places added.
        marks: An index of further patterns that resources are told apart by, such as a guarantee's.
        marked: Those patterns.
        witnesses: By kind, everything to try.
        remotes: By witness value, the name of a git remote in every described repository.
        fresh: Two words that nothing else contains.
        sandbox: The sandbox's real directory.
    """

    world: DescribedWorld
    policies: tuple[PolicyUnderTest, ...]
    marks: PatternIndex
    marked: frozenset[str]
    witnesses: Mapping[str, tuple[PatternWitness, ...]]
    remotes: Mapping[str, str]
    fresh: tuple[str, str]
    sandbox: str | None

    def __iter__(self) -> Iterator[PolicyUnderTest]:
        """Yield the policies in order."""
        return iter(self.policies)

    def __getitem__(self, index: int) -> PolicyUnderTest:
        """Return one of the policies."""
        return self.policies[index]

    def __len__(self) -> int:
        """Return how many policies there are."""
        return len(self.policies)

    @cached_property
    def registry(self) -> Registry:
        """The roles of all the policies."""
        return _registry(side.content for side in self)


class SharedCaches:
    """Steps 3 to 5 of one comparison after the other; policies that the steps cannot tell apart share them.

    They read the tools, the world, and the directories that rules name.
    """

    def __init__(self) -> None:
        self._known: list[tuple[PolicyContent, DescribedWorld, set[str], PrepareCache]] = []

    def steps(self, content: PolicyContent, policy: LoadedPolicy, world: DescribedWorld) -> PrepareCache:
        """Return the steps under a policy that is loaded in a world."""
        directories = set(policy.patterns.directories.values())
        for known, in_world, named, steps in self._known:
            if (
                named == directories
                and in_world == world
                and known.case_insensitive_hosts == content.case_insensitive_hosts
                and known.annotations == content.annotations
            ):
                return steps
        steps = PrepareCache(policy)
        self._known.append((content, world, directories, steps))
        return steps


def load_policies(
    bundles: Sequence[Bundle],
    world: DescribedWorld,
    marks: Mapping[str, Iterable[str]] | None = None,
    caches: SharedCaches | None = None,
) -> PoliciesUnderTest:
    """Load bundles in a described world.

    Args:
        bundles: One policy, or two to compare.
        world: The world to assume.
        marks: Further patterns by kind that resources shall be told apart by.
        caches: What earlier comparisons did.

    Raises:
        BundleRelationError: If the world is not the one that a bundle was verified in.
    """
    contents = [PolicyContent.of(bundle) for bundle in bundles]
    registry = _registry(contents)
    marks = {kind: tuple(patterns) for kind, patterns in (marks or {}).items()}
    fresh = fresh_words(_texts(contents, world, marks))
    without_witnesses = [LoadedPolicy(content, _site(world), SimulatedHost(world)) for content in contents]
    resolver = Resolver(SimulatedHost(world), home=world.home)
    index = PatternIndex(
        marks,
        {},
        registry=registry,
        home=resolver.resolve(world.home, None),
        resolve_directory=lambda path: resolver.resolve(path, None),
        case_insensitive_hosts=contents[0].case_insensitive_hosts,
    )
    sandbox = resolver.resolve(world.sandbox, None) if world.sandbox is not None else None
    directories = {
        **{name: real for policy in without_witnesses for name, real in policy.patterns.directories.items()},
        **index.directories,
    }
    witnesses = _witnesses(contents, world.domains, marks, registry, fresh[0], directories)
    if sandbox is not None:
        second_name = f"{sandbox}/{fresh[0]}-second-name"
        world_files = {**world.files, second_name: DescribedFile(links=2)}
        full = world.model_copy(update={"files": world_files})
        witnesses["path"] += sandbox_witnesses(sandbox, fresh[0], second_name)
    else:
        full = world
    full, remotes = _with_remotes(full, _unmarked_first(witnesses, marks, contents), contents)
    memory = SimulatedHost(full)
    loaded = [LoadedPolicy(content, _site(full), memory) for content in contents]
    caches = caches or SharedCaches()
    policies = tuple(
        PolicyUnderTest(bundle, content, policy, _tokens(content), caches.steps(content, policy, full))
        for bundle, content, policy in zip(bundles, contents, loaded, strict=True)
    )
    found = {kind: tuple(dict.fromkeys(each)) for kind, each in witnesses.items()}
    marked = frozenset(pattern for patterns in marks.values() for pattern in patterns)
    return PoliciesUnderTest(world, policies, index, marked, found, remotes, fresh, sandbox)


def _registry(contents: Iterable[PolicyContent]) -> Registry:
    named = {role.name: role for content in contents for role in content.annotations.roles}
    return Registry(named.values())


def _site(world: DescribedWorld) -> Deployment:
    return Deployment(
        home=world.home,
        sandbox=world.sandbox,
        protected=world.protected,
        working_roots=world.working_roots,
        domains=world.domains,
    )


def _texts(
    contents: Iterable[PolicyContent], world: DescribedWorld, marks: Mapping[str, Iterable[str]]
) -> list[str]:
    """Return everything that a fresh word must not be part of."""
    texts = [world.model_dump_json(), json.dumps({k: list(v) for k, v in marks.items()})]
    for content in contents:
        texts += [pattern for patterns in content.patterns.values() for pattern in patterns]
        texts += [value for _, values in content.lists.values() for value in values]
        texts += [rule.if_.model_dump_json() for rule in content.rules.values() if rule.if_ is not None]
        texts.append(content.annotations.model_dump_json(include={"roles": True}))
    return texts


def _witnesses(
    contents: Sequence[PolicyContent],
    domains: Mapping[str, Sequence[str]],
    marks: Mapping[str, Iterable[str]],
    registry: Registry,
    fresh: str,
    directories: Mapping[str, str],
) -> dict[str, list[PatternWitness]]:
    named: dict[str, set[str]] = {kind: set(marks.get(kind, ())) for kind in registry.pattern_kinds}
    for content in contents:
        for kind, patterns in content.patterns.items():
            named[kind] |= set(patterns)
    named["url"] |= {domain for listed in domains.values() for domain in listed}
    found: dict[str, list[PatternWitness]] = {}
    members = {value for content in contents for _, values in content.lists.values() for value in values}
    for kind, texts in named.items():
        found[kind] = outside_witnesses(kind, registry, fresh, texts | members)
        found[kind] += pattern_witnesses(kind, texts, registry, fresh, directories)
    for content in contents:
        for name, (kind, values) in content.lists.items():
            found[kind] += list_witnesses(name, kind, values, registry, fresh)
    found["path"] += above_witnesses(directories.values())
    return found


def _unmarked_first(
    witnesses: Mapping[str, Sequence[PatternWitness]],
    marks: Mapping[str, Iterable[str]],
    contents: Sequence[PolicyContent],
) -> dict[str, list[PatternWitness]]:
    """Return witnesses by kind, those of marks alone behind, which so change no other's remote."""
    named = {text for content in contents for texts in content.patterns.values() for text in texts}
    only = {text for texts in marks.values() for text in texts} - named
    return {kind: sorted(each, key=lambda one: one.label in only) for kind, each in witnesses.items()}


def _with_remotes(
    world: DescribedWorld,
    witnesses: Mapping[str, Sequence[PatternWitness]],
    contents: Sequence[PolicyContent],
) -> tuple[DescribedWorld, dict[str, str]]:
    """Make every path witness a repository with a remote for every address, where a tool uses remotes."""
    if not any(_uses_remotes(content) for content in contents):
        return world, {}
    places = [w.values[0] for w in witnesses["path"] if not w.whole and w.label != SECOND_NAME]
    addresses = [*(value for w in witnesses["url"] for value in w.values), *places]
    remotes = {address: f"r{number}" for number, address in enumerate(dict.fromkeys(addresses), 1)}
    described = Repository(remotes={name: Remote(fetch=(url,)) for url, name in remotes.items()})
    taken = {*world.repositories, *world.files, *world.symlinks}
    repositories = {**world.repositories, **{place: described for place in places if place not in taken}}
    return world.model_copy(update={"repositories": repositories}), remotes


def _uses_remotes(content: PolicyContent) -> bool:
    return any(
        any(argument.repository for argument in tool.args)
        and any(GIT_REMOTE in argument.possible_roles for argument in tool.args)
        for tool in content.tools.values()
    )


def _tokens(content: PolicyContent) -> dict[str, str]:
    return {
        f"@{name}": f"@{name} {json_text.digest([kind, [*sorted(values)]])}"
        for name, (kind, values) in content.lists.items()
    }
