"""A policy loaded in a deployment: everything that deciding needs, resolved and checked once.

A `Deployment` is what a bundle does not hold: the directories and the servers' settings of one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.arguments import CanonicalizationContext
from ironcurtain.decision.canonical.host_view import HostView
from ironcurtain.decision.canonical.identifiers import canonical_caller, identifying
from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.paths_in_text import looks_like_path
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.decision.protected_paths import Protection
from ironcurtain.decision.roles import GIT_REMOTE, Registry
from ironcurtain.decision.structural_checks import Boundaries
from ironcurtain.errors import BundleRelationError, RefusedRootError
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.facts import Fact
from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import quoted, visible

SANDBOX = "the sandbox"
APART = "apart"


def forest(places: Mapping[str, str]) -> dict[str, str]:
    """Return for each label how its directory lies: `apart`, `inside LABEL` or `equal to LABEL`.

    Args:
        places: Real absolute directory by label (a pattern as written, or `the sandbox`).
    """
    ordered = sorted(places.items(), key=lambda item: (item[1].rstrip("/").split("/"), item[0]))
    relations: dict[str, str] = {}
    open_: list[tuple[str, str]] = []
    for label, path in ordered:
        while open_ and not is_within(path, open_[-1][1]):
            open_.pop()
        if not open_:
            relations[label] = APART
        else:
            kind = "equal to" if open_[-1][1] == path else "inside"
            relations[label] = f"{kind} {open_[-1][0]}"
        if not open_ or open_[-1][1] != path:
            open_.append((label, path))
    return relations


def check_relations(recorded: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Compare the recorded forest with the one here; labels that do not exist here are left out.

    Raises:
        BundleRelationError: Naming the first pair that lies differently.
    """
    here = forest({label: path for label, path in places.items() if label in recorded})
    assumed = _without(recorded, set(recorded) - set(here))
    for label in sorted(here):
        if here[label] != assumed[label]:
            raise BundleRelationError(
                f"the bundle was verified with {visible(label)} {visible(assumed[label])}, "
                f"but here it is {visible(here[label])}",
                hint="Move or unlink the directory, or compile the policy for this layout: `world` in "
                "scenarios.yaml says where the sandbox is.",
            )


def _without(recorded: Mapping[str, str], missing: set[str]) -> dict[str, str]:
    """Drop labels from a recorded forest; what lay inside a dropped one lies inside its parent."""
    relations = dict(recorded)
    for label in missing:
        above = relations.pop(label)
        for other, relation in relations.items():
            if relation in (f"inside {label}", f"equal to {label}"):
                relations[other] = above
    return relations


class Deployment(Struct):
    """The facts of one place of enforcement, or of the world that a verification assumes.

    Attributes:
        home: The home directory, absolute; what `~` means.
        sandbox: The session's working directory, absolute, or None: then nothing is contained.
        protected: Paths of the system's own files and directories, absolute.
        working_roots: By server, the directory its relative paths resolve against (default: sandbox).
        domains: By server, its domain list; a server that is missing has no domain gate.
        unchangeable: Paths that tools may read and not change, absolute.
    """

    home: str
    sandbox: str | None = None
    protected: tuple[str, ...] = ()
    working_roots: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unchangeable: tuple[str, ...] = ()

    def working_root(self, server: str) -> str | None:
        """Return the directory that a server's relative paths resolve against, or None."""
        return self.working_roots.get(server, self.sandbox)


class LoadedPolicy:
    """A bundle's content at a deployment: tools, patterns, clauses, and the boundaries of each server."""

    def __init__(self, content: PolicyContent, deployment: Deployment, world: HostView) -> None:
        """Resolve the deployment's directories and the policy's patterns, once.

        Raises:
            RefusedRootError: If home or sandbox is a directory that can never be safe.
            BundleRelationError: If the policy's directories lie otherwise than was verified.
        """
        self.deployment = deployment
        self.revision = content.revision
        self.content = content
        self.clauses: Mapping[str, str] = MappingProxyType(dict(content.clauses))
        self.facts: Mapping[str, Fact] = MappingProxyType(dict(content.facts))
        self._world = world
        self._registry = Registry(content.annotations.roles)
        self._identifiers = identifying(content.caller)
        self._resolver = Resolver(world, home=deployment.home)
        self._lasting = self._resolver if world.never_changes else None
        self._sandbox = self._real(deployment.sandbox) if deployment.sandbox is not None else None
        self._refuse_roots()
        self.patterns = self._index(content.patterns, content.lists, content.case_insensitive_hosts)
        self._check_relations(content.relations)
        self._protection = self._protect()
        self._gates = {
            server: self._index({"url": domains}, {}, content.case_insensitive_hosts)
            for server, domains in deployment.domains.items()
        }
        self._tools: dict[tuple[str, str], ValidatedTool] = {}
        self._costs: dict[tuple[str, str], int | None] = {}

    def annotation(self, server: str, tool: str) -> ToolAnnotation | None:
        """Return the annotation of a tool that can be called, else None."""
        return self.content.tools.get((server, tool))

    def canonical_caller(self, caller: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Return caller facts with those that the policy declares as identifiers in their canonical form."""
        return canonical_caller(caller, self._identifiers, self._registry)

    def tool(self, server: str, tool: str) -> ValidatedTool | None:
        """Return the tool of an annotation, ready to use; None where there is no annotation.

        A tool's schema is prepared when it is first asked for: that takes longer than a decision, and most
        runs call only a few tools.
        """
        place = (server, tool)
        annotated = self.annotation(server, tool)
        if annotated is not None and place not in self._tools:
            fitted = ValidatedTool(annotated)
            self._costs[place] = self._cost(fitted)
            self._tools[place] = fitted
        return self._tools.get(place)

    def cost(self, server: str, tool: str) -> int | None:
        """Return what one value of a call can cost at most: see `ArgumentSchema.cost`.

        Returns:
            None where there is no bound, where annotation or schema can make an argument a path or a
            repository, and for a tool that has not been prepared yet.
        """
        return self._costs.get((server, tool)) if self.annotation(server, tool) is not None else 0

    def _cost(self, tool: ValidatedTool) -> int | None:
        if self._can_name_places(tool.annotation):
            return None
        return tool.schema.cost if tool.schema is not None else 0

    def _can_name_places(self, tool: ToolAnnotation) -> bool:
        roles = {self._registry[name] for argument in tool.args for name in argument.possible_roles}
        return (
            any(role.category == "path" or role.name == GIT_REMOTE for role in roles)
            or any(argument.repository for argument in tool.args)
            or any(looks_like_path(text) for _, text in pointers.leaves(tool.input_schema or {}))
        )

    def boundaries(self, server: str) -> Boundaries:
        """Return what the structural checks of a server hold against."""
        return Boundaries(
            protection=self._protection,
            sandbox=self._sandbox,
            working_root=self.deployment.working_root(server),
            gate=self._gates.get(server),
        )

    def canonicalization(self, server: str) -> CanonicalizationContext:
        """Return what canonicalisation needs to know for a call to a server."""
        world = self._world.for_one_call()
        return CanonicalizationContext(
            world=world,
            resolver=self._lasting or Resolver(world, home=self.deployment.home),
            server=server,
            home=self.deployment.home,
            working_root=self.deployment.working_root(server),
            registry=self._registry,
            directories_inside=self.patterns.directories_inside,
        )

    def _index(
        self,
        named: Mapping[str, tuple[str, ...]],
        lists: Mapping[str, tuple[str, tuple[str, ...]]],
        case_insensitive_hosts: frozenset[str],
    ) -> PatternIndex:
        return PatternIndex(
            named,
            lists,
            registry=self._registry,
            home=self._real(self.deployment.home),
            resolve_directory=self._real,
            case_insensitive_hosts=case_insensitive_hosts,
        )

    def _real(self, path: str) -> str:
        try:
            return self._resolver.resolve(path, None)
        except UnrepresentableError as error:
            raise RefusedRootError(f"the directory {quoted(path)} {error.reason}") from None

    def _refuse_roots(self) -> None:
        home = self._real(self.deployment.home)
        if home == "/":
            raise RefusedRootError("the home directory is /", hint="Give a real home directory.")
        if self._sandbox is None:
            return
        unsafe = {
            "/": "/",
            "the home directory": home,
            "the configuration directory": f"{home}/{CONFIGURATION_DIRECTORY}",
        }
        for what, place in unsafe.items():
            if is_within(place, self._sandbox):
                raise RefusedRootError(
                    f"the sandbox {visible(self._sandbox)} is or contains {what}",
                    hint="Give a directory of its own as sandbox.",
                )

    def _check_relations(self, recorded: Mapping[str, str]) -> None:
        places = dict(self.patterns.directories)
        if self._sandbox is not None:
            places[SANDBOX] = self._sandbox
        check_relations(recorded, places)

    def _protect(self) -> Protection:
        configuration = f"{self.deployment.home}/{CONFIGURATION_DIRECTORY}"
        protected = [self._real(path) for path in (*self.deployment.protected, configuration)]
        unchangeable = [self._real(path) for path in self.deployment.unchangeable]
        return Protection(
            protected, self._sandbox, self._world, unchangeable=unchangeable, lasting=self._lasting
        )
