"""Respelled calls sent to real servers in a sandbox: do they touch only what was decided?

What is sent is what the proxy would send: the canonical arguments of what is not denied, as if a person had
approved whatever is asked about.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.types import ListRootsResult, TextContent

from ironcurtain.analysis.attack.bases import BaseCall, moved_arguments, moved_path
from ironcurtain.analysis.attack.report import Live, Stray
from ironcurtain.analysis.attack.spellings.leaves import ResourceLeaf, resource_leaves
from ironcurtain.analysis.attack.spellings.several import CallStep
from ironcurtain.analysis.attack.spellings.spelling import Links, Scene, SpellingContext
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.proxy.surroundings import policy_roots
from ironcurtain.enforcement.proxy.upstream.roots import root_of
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.reach import reach_of
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import SandboxDefaults
from ironcurtain.servers.connect import LastWords, cause
from ironcurtain.servers.permitted import check_permitted
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.servers.tool_lists.listing import DEFAULT_TIMEOUT
from ironcurtain.servers.unchecked_call import call_unchecked
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace

_NAMES = ("note.txt", "deep/note.txt")
_BESIDE = "beside"


class Scratch(Struct):
    """A scratch directory.

    Attributes:
        root: The directory.
        places: By directory of the described world, the one that stands for it.
        home: The home in it; `sandbox` the sandbox.
    """

    root: Path
    places: Mapping[str, str]
    home: str
    sandbox: str

    @classmethod
    def of(cls, root: Path, home: str, sandbox: str) -> Scratch:
        """Return the scratch directory for a described home and sandbox."""
        at_home = str(root / "home")
        inside = f"{at_home}{sandbox.removeprefix(home)}" if is_within(sandbox, home) else str(root / "work")
        return cls(root, {sandbox: inside, home: at_home}, at_home, inside)

    def files(self, directories: Iterable[str]) -> dict[str, str]:
        """Return the initial files by path: some in each directory and beside it."""
        wanted = [self.sandbox, self.home, f"{self.home}/{_BESIDE}", *directories]
        inside = [place for place in wanted if is_within(place, str(self.root))]
        paths = sorted({f"{place.rstrip('/')}/{name}" for place in inside for name in _NAMES})
        return {path: _mark(path) for path in paths}

    def restore(self, files: Mapping[str, str], links: Links) -> None:
        """Restore the directory to its initial state."""
        for place in (Path(self.home), Path(self.sandbox)):
            place.mkdir(parents=True, exist_ok=True)
            for child in place.iterdir():
                if child.is_symlink() or not child.is_dir():
                    child.unlink()
                elif str(child) != self.sandbox:
                    shutil.rmtree(child)
        for path, mark in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(mark)
        for link, target in links.symbolic.items():
            Path(link).parent.mkdir(parents=True, exist_ok=True)
            Path(link).symlink_to(target)

    def changed(self, files: Mapping[str, str]) -> Iterator[str]:
        """Yield the real paths that were added, removed or changed."""
        there = {str(path): path.read_text(errors="replace") for path in self._all() if path.is_file()}
        for path in sorted(there.keys() | files.keys()):
            if there.get(path) != files.get(path):
                yield path

    def _all(self) -> Iterator[Path]:
        yield from (path for path in self.root.rglob("*") if not path.is_symlink())


def marks_in(text: str, files: Mapping[str, str]) -> list[str]:
    """Return the files whose marks an answer shows."""
    return [path for path, mark in files.items() if mark in text]


def _mark(path: str) -> str:
    return f"mark-{hashlib.sha256(path.encode()).hexdigest()[:24]}"


MAXIMUM = 300
"""The most respelled calls that are sent."""
_SECONDS = 20.0
_CHANGES = frozenset({"write-path", "delete-path"})
_ALL = _CHANGES | {"read-path"}


class _Sent(Struct):
    call: CallStep
    decision: Decision


class _Outcome(Struct):
    isolation: str
    strays: list[Stray]
    answered: int


def attack_live(
    bundle: Bundle, world: DescribedWorld, bases: Iterable[BaseCall], config: ServerConfig, opa: OpaCommand
) -> Live:
    """Send respelled calls on paths to real servers, and compare what they touch with what was decided.

    The world's home and sandbox are made in a scratch directory.

    Raises:
        SandboxMissingError: If servers have to be contained and cannot be.
        ServerFailedError: If a server does not start or dies.
    """
    with TemporaryDirectory(prefix="ironcurtain-attack-") as made:
        scratch = Scratch.of(Path(made).resolve(), world.home, world.sandbox or f"{world.home}/sandbox")
        return _Attack(bundle, world, scratch, config, opa).run(bases)


class _Attack:
    """One live attack."""

    def __init__(
        self, bundle: Bundle, world: DescribedWorld, scratch: Scratch, config: ServerConfig, opa: OpaCommand
    ) -> None:
        self._bundle, self._scratch, self._opa = bundle, scratch, opa
        self._config = _alone(config)
        self._content = PolicyContent.of(bundle)
        self._registry = Registry(self._content.annotations.roles)
        Path(scratch.home).mkdir(parents=True)
        Path(scratch.sandbox).mkdir(parents=True, exist_ok=True)
        deployment = Deployment(
            home=scratch.home,
            sandbox=scratch.sandbox,
            protected=tuple(moved_path(path, scratch.places) for path in world.protected),
            domains=world.domains,
        )
        self._policy = LoadedPolicy(self._content, deployment, ThisHost(home=scratch.home))
        self._ground = SpellingContext(scratch.home, scratch.sandbox, (scratch.sandbox,))
        directories = self._policy.patterns.directories.values()
        self._files = scratch.files(directories)

    def run(self, bases: Iterable[BaseCall]) -> Live:
        calls = list(self._respelled(bases))
        self._scratch.restore(self._files, self._ground.links)
        ready = {
            f"{number:05d}": prepare(Call(step.server, step.tool, step.arguments), self._policy)
            for number, step in enumerate(calls)
        }
        decided = decide_prepared(ready, self._bundle, self._policy, self._opa)
        sent: dict[str, list[_Sent]] = {}
        for call, id_ in zip(calls, ready, strict=True):
            decision = decided[id_]
            if decision.verdict is not Verdict.DENY and isinstance(ready[id_], Prepared):
                sent.setdefault(call.server, []).append(_Sent(call, decision))
        outcomes = {
            server: asyncio.run(self._send_all(server, judged)) for server, judged in sorted(sent.items())
        }
        return Live(
            isolation={server: outcome.isolation for server, outcome in outcomes.items()},
            sent=sum(map(len, sent.values())),
            answered=sum(outcome.answered for outcome in outcomes.values()),
            refused=len(calls) - sum(map(len, sent.values())),
            strays=tuple(stray for outcome in outcomes.values() for stray in outcome.strays),
        )

    def _respelled(self, bases: Iterable[BaseCall]) -> list[CallStep]:
        """Return respelled calls of configured servers on existing files, the same number of each tool."""
        tools: dict[tuple[str, str], list[Iterator[CallStep]]] = {}
        for base in bases:
            place = (base.step.server, base.step.tool)
            if place not in tools and (sources := list(self._of_tool(base))):
                tools[place] = sources
        room = max(1, MAXIMUM // max(1, len(tools)))
        return [call for sources in tools.values() for call in islice(_in_turn(sources), room)]

    def _of_tool(self, base: BaseCall) -> Iterator[Iterator[CallStep]]:
        """Yield for each path argument and file the respelled calls of a tool."""
        step = base.step
        arguments = moved_arguments(step.arguments, self._scratch.places)
        tool = self._policy.annotation(step.server, step.tool)
        if tool is None or step.server not in self._config.servers or not self._is_of_files(tool):
            return
        for leaf in resource_leaves(tool, arguments, self._registry):
            if leaf.is_path and leaf.part is None:
                for file in self._files:
                    yield self._spelled(step.server, step.tool, arguments, replace(leaf, text=file))

    def _is_of_files(self, tool: ToolAnnotation) -> bool:
        """Tell whether a tool names paths only, so that its calls reach nothing outside the directory."""
        roles = [self._registry[role] for argument in tool.args for role in argument.possible_roles]
        return not tool.composites and all(r.category == "path" for r in roles if r.resource)

    def _spelled(
        self, server: str, tool: str, arguments: dict[str, JsonValue], leaf: ResourceLeaf
    ) -> Iterator[CallStep]:
        for spelling in leaf.spellings(self._ground):
            changed = leaf.with_value(arguments, spelling.value)
            if changed is not None and spelling.scene is not Scene.FOLDED:
                yield CallStep(server, tool, changed)

    async def _send_all(self, server: str, calls: Sequence[_Sent]) -> _Outcome:
        """Send calls to one contained server one by one, each to the directory in its initial state."""
        words, strays, answered = LastWords(), [], 0
        inputs = SandboxInputs(
            home=Path(self._scratch.home),
            workspace=Path(self._scratch.sandbox),
            own=(),
            protected=(self._config.path,),
            directory=self._config.directory,
            settings=self._config.sandbox.filesystem,
            configuration=(self._config.path,),
            reaches={server: reach_of(self._content, server)},
        )
        check_permitted(self._config, [server])
        launcher = SandboxLauncher.open(self._config, inputs)

        async def tell(_name: str, _seen: Observation) -> None:
            """Ignore what the sandbox refused: nothing was touched."""

        async def roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001 - the SDK names it
            resolver = Resolver(ThisHost(home=self._scratch.home), home=self._scratch.home)
            found = policy_roots(reach_of(self._content, server), self._scratch.sandbox, resolver)
            return ListRootsResult(roots=[*map(root_of, found)])

        streams = launcher.connect(
            server,
            on_words=words.line,
            on_end=words.end,
            tell=tell,
            opened=connect_pipes,
        )
        client = Client(streams, mode="auto", cache=None, list_roots_callback=roots)
        try:
            async with asyncio.timeout(DEFAULT_TIMEOUT) as limit, client:
                await client.list_tools()
                limit.reschedule(None)  # each call has a limit of its own
                isolation = launcher.state(server).isolation
                for call in calls:
                    stray, is_answer = await self._send(client, call)
                    answered += is_answer
                    strays += [stray] if stray is not None else []
        except IronCurtainError:
            raise
        except TimeoutError:
            raise words.failed(server, "gave no answer in time") from None
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises, this server failed
            raise words.failed(server, f"failed: {cause(error)}") from None
        return _Outcome(isolation, strays, answered)

    async def _send(self, client: Client, permitted: _Sent) -> tuple[Stray | None, bool]:
        """Send one call; return what it touched beside what was decided, and whether it was answered."""
        call, decision = permitted.call, permitted.decision
        sent = decision.arguments or {}
        async with asyncio.timeout(_SECONDS):
            result = await call_unchecked(client, call.tool, sent)
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        changed = list(self._scratch.changed(self._files))
        touched = {
            *_beside(marks_in(text, self._files), decision, _ALL),
            *_beside(changed, decision, _CHANGES),
        }
        if changed:
            self._scratch.restore(self._files, self._ground.links)
        if not touched:
            return None, not result.is_error
        stray = Stray(
            server=call.server,
            tool=call.tool,
            arguments=call.arguments,
            sent=sent,
            judged=tuple(sorted({resource.value for resource in decision.subjects})),
            touched=tuple(sorted(touched)),
        )
        return stray, not result.is_error


def _alone(config: ServerConfig) -> ServerConfig:
    """Return the servers that run in a sandbox, without a network and with only their workspace writable."""
    servers = {}
    for name, server in config.servers.items():
        if server.command and server.sandbox is not False:
            servers[name] = server.model_copy(update={"sandbox": None})
    return replace(config, servers=servers, sandbox=SandboxDefaults(program=config.sandbox.program))


def _beside(paths: Iterable[str], decision: Decision, roles: frozenset[str]) -> Iterator[str]:
    """Yield the paths that lie in no place that was decided under one of some roles."""
    decided = [resource.value for resource in decision.subjects if resource.role in roles]
    yield from (path for path in paths if not any(is_within(path, place) for place in decided))


def _in_turn(sources: Iterable[Iterator[CallStep]]) -> Iterator[CallStep]:
    waiting = list(sources)
    while waiting:
        ready = [(source, call) for source in waiting if (call := next(source, None)) is not None]
        yield from (call for _, call in ready)
        waiting = [source for source, _ in ready]
