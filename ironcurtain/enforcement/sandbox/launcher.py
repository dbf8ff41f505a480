"""Who contains the servers of one proxy: by policy, configuration and what this machine can do.

    launcher = SandboxLauncher.open(config, inputs)  # SandboxMissingError where servers cannot be contained
    async with launcher.connect(name, on_words=say, on_end=ended, tell=tell, opened=connect_pipes) as streams:
        launcher.state(name)  # what was seen to confine it

What always holds:

1. Where the policy is `enforce`, a server that is to be contained is started contained, or not at all.
2. A running server's mounts are those of its start; a policy with another reach takes a new start.
3. What is called contained was seen by a probe inside an identical sandbox, not taken from the settings.
4. A server that is started early is started as any other; nothing is said to it or read of it before
   `connect`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from ironcurtain.decision.canonical.git.process import Git
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.enforcement.sandbox.contained_process import contained_in_thread
from ironcurtain.enforcement.sandbox.data_directory import DataDirectory, data_directory
from ironcurtain.enforcement.sandbox.limits import Mounts, SandboxLimits, beyond, widened
from ironcurtain.enforcement.sandbox.profile import Profile, SandboxInputs, build_profile
from ironcurtain.enforcement.sandbox.programs import ProgramSurvey, survey
from ironcurtain.enforcement.sandbox.reach.opened import NewRepositories, RepositoryWatch
from ironcurtain.enforcement.sandbox.reach.reach import Reach
from ironcurtain.enforcement.sandbox.report import Observation, offer, offer_for
from ironcurtain.enforcement.sandbox.server_program import named_directories, program_places
from ironcurtain.enforcement.sandbox.start_failure import EndedStart, StartFailure
from ironcurtain.enforcement.sandbox.uncontained import reachable, without_reachable
from ironcurtain.enforcement.sandbox.watch import UNSTARTED, Confinement, SandboxWatch, Tell
from ironcurtain.errors import SandboxMissingError, ServerFailedError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.launching import Open
from ironcurtain.servers.server_process import ServerProcess, ServerStart
from ironcurtain.system.background import Once
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

S = TypeVar("S")

_LAST_WORDS = 20
_LOOK = 2.0
_REST = 100
"""How much longer than a look for new repositories the rest after it is."""


class SandboxLauncher:
    """Starts servers contained as far as the configuration wants it, and knows what was seen of each."""

    def __init__(self, config: ServerConfig, inputs: SandboxInputs, found: ProgramSurvey) -> None:
        """Take a survey that the policy is content with; see `open`."""
        self._config, self._inputs, self._found = config, inputs, found
        self._reachable = reachable(config, inputs)
        self._states: dict[str, Confinement] = {}
        self._watched: dict[str, SandboxWatch] = {}
        self._limits: dict[str, SandboxLimits] = {}
        self._ended: dict[str, EndedStart] = {}
        self._makers: dict[SandboxWatch, tuple[Path, ...]] = {}
        self._told = NewRepositories()
        self._programs = Once(self._places_of_programs)
        self._early: dict[str, tuple[_Started, AsyncExitStack]] = {}

    @classmethod
    def open(cls, config: ServerConfig, inputs: SandboxInputs) -> SandboxLauncher:
        """Look what this machine can do.

        Raises:
            SandboxMissingError: If it cannot contain servers and the policy is `enforce`.
        """
        if not any(each.command and each.sandbox is not False for each in config.servers.values()):
            return cls(config, inputs, ProgramSurvey(None))
        needs = survey(config.sandbox.program, near=config.directory, reachable=reachable(config, inputs))
        if needs.programs is None and config.sandbox.policy == "enforce":
            raise SandboxMissingError(
                needs.sentence,
                where=str(config.path),
                hint="Install what is missing (`ironcurtain doctor` names the commands), or write "
                '"sandbox": {"policy": "warn"} beside "mcpServers".',
            )
        return cls(config, inputs, needs)

    def notes(self) -> list[str]:
        """Return what the person who starts the proxy must know, a line each."""
        lines = []
        for name, server in self._config.servers.items():
            reason = self._uncontained(server) if server.command else ""
            if reason and not (server.sandbox is not False and self._config.sandbox.policy == "skip"):
                lines.append(
                    f"server {name} is NOT CONTAINED: {reason}; protected files, keys and approvals are "
                    "safe from it only as far as the operating system protects them"
                )
        return lines

    def state(self, name: str) -> Confinement:
        """Return what has been seen of a server by now."""
        if name in self._watched:
            self._watched[name].take()
        return self._states.get(name, UNSTARTED)

    def beyond(self, name: str, resources: Iterable[Resource], *, asked: bool = False) -> str:
        """Return what the sandbox of a running server keeps it from, with what mends it, if anything."""
        if (limits := self._limits.get(name)) is None:
            return ""
        for resource in resources:
            what = beyond(limits.usual, resource)
            if what and asked:
                what = beyond(limits.asked, resource)
            if what:
                mends = offer(name, what, resource.value, self._config.path, self._home)
                named = visible(resource.value)
                return f"the policy permits it to {what} {named}, and its sandbox does not: {mends}"
        return ""

    def mends(self, name: str, violation: str) -> str:
        """Return what mends what a server was seen to be refused; empty where nothing does."""
        return offer_for(name, violation, self._config.path, self._home)

    @property
    def _home(self) -> str:
        return os.path.realpath(self._inputs.home)

    def contains(self, name: str) -> bool:
        """Tell whether a server runs in a sandbox."""
        return name in self._limits

    def is_apart(self, name: str, resources: Iterable[Resource]) -> bool:
        """Tell whether an approved call needs a process of its own: the one that runs does not reach it."""
        limits = self._limits.get(name)
        return limits is not None and limits.is_apart(resources)

    def for_one_call(self, name: str, resources: Iterable[Resource]) -> SandboxLauncher:
        """Return what starts a process of a running server for one approved call, wide enough for that alone.

        It looks at directories: use it in a thread.

        Raises:
            ServerFailedError: If the server does not run any more.
        """
        if (limits := self._limits.get(name)) is None:
            raise ServerFailedError("the server is not running")
        made = SandboxLauncher(self._config, widened(name, self._inputs, resources, limits), self._found)
        # New repositories are told of once, and every process that could have been asked to make one counts.
        made._told, made._makers, made._programs = self._told, self._makers, self._programs
        return made

    def across_mounts(self, name: str, paths: Iterable[str]) -> str:
        """Say that files of a call lie in different mounts of a server's sandbox; nothing if they do not."""
        limits = self._limits.get(name)
        roots = {limits.usual.mount_of(path) for path in paths} if limits is not None else set()
        if len(roots) <= 1:
            return ""
        shown = " and ".join(visible(each) for each in sorted(roots))
        return (
            f"{shown} are different mounts of its sandbox, and nothing can be renamed from one to the other"
        )

    def violations(self, name: str) -> list[str]:
        """Return what a running server was refused since its start, as far as that was seen."""
        watch = self._watched.get(name)
        if watch is None:
            return []
        watch.take()
        return watch.violations

    def follow(self, reaches: Mapping[str, Reach], asked: Mapping[str, Reach]) -> list[str]:
        """Take what another policy lets servers reach; return those with a sandbox that it is another for.

        What runs stays as it is: its mounts are those of its start.
        """
        before = self._inputs
        self._inputs = now = replace(before, reaches=reaches, asked=asked)
        return [
            name
            for name, server in self._config.servers.items()
            if server.command
            and not self._uncontained(server)
            and (before.reach(name), before.reach_asked(name)) != (now.reach(name), now.reach_asked(name))
        ]

    def _profile(self, name: str) -> tuple[Profile, SandboxLimits]:
        """Return what a server's sandbox lets it do, and the limits of it and of a wider one."""
        programs = self._programs()
        runtime = self._found.programs.package() if self._found.programs else None
        server, inputs = self._config.servers[name], self._inputs
        profile = build_profile(name, server, inputs, programs, runtime)
        usual = asked = Mounts.of(profile)
        if inputs.reach_asked(name) != inputs.reach(name):
            asked = Mounts.of(build_profile(name, server, inputs.when_asked(), programs, runtime))
        return profile, SandboxLimits(usual, asked)

    def readable(self, name: str, places: Sequence[str]) -> list[str]:
        """Return those of some places that a server will see."""
        return [place for place in places if Mounts.of(self._profile(name)[0]).can_read(place)]

    def _data(self, name: str, start: ServerStart) -> DataDirectory | None:
        """Return where a server has its home."""
        inputs, home, git = self._inputs, Path(self._home), None
        place = inputs.data(name) if inputs.data is not None else None
        if place is not None and inputs.reach_asked(name).repositories:
            git = Git.of({**os.environ, "HOME": str(home)}, self._reachable)
        return data_directory(self._config.servers[name], start, inputs.directory, home, place, git=git)

    def _places_of_programs(self) -> frozenset[Path]:
        """Return where the programs of all servers and the sandbox's own lie."""
        started = [each for each in self._config.servers.values() if each.command]
        made = [program_places(each, self._inputs.directory, Path(self._home)) for each in started]
        ours = self._found.programs.places() if self._found.programs else []
        return frozenset([*ours, *(place for places in made for place in places)])

    async def start_early(self) -> None:
        """Start all servers, so that they get ready while the rest of the proxy is loaded.

        One that cannot be started is left to `connect`, which says why.
        """
        async with anyio.create_task_group() as tasks:
            for name, server in self._config.servers.items():
                if server.command:
                    tasks.start_soon(self._start_early, name)

    async def _start_early(self, name: str) -> None:
        async with AsyncExitStack() as stack:
            with suppress(Exception):
                started = await self._start(name, None, stack)
                self._early[name] = started, stack.pop_all()

    async def end_early(self, names: Iterable[str] | None = None, tell: Tell | None = None) -> None:
        """End the servers that were started early and that nobody has connected to.

        Args:
            names: These; None ends all.
            tell: Told what was seen of their sandboxes; None where nothing is recorded yet.
        """
        meant = [*self._early] if names is None else [name for name in names if name in self._early]
        for name, (started, stack) in [(name, self._early.pop(name)) for name in meant]:
            async with stack:
                if tell is not None:
                    await self._tell_uncontained(name, tell)
                    if started.watch is not None:
                        await started.watch.tell_all(tell)

    async def _tell_uncontained(self, name: str, tell: Tell) -> None:
        if reason := self._uncontained(self._config.servers[name]):
            self._states[name] = Confinement("none", f"started uncontained: {reason}")
            await tell(name, Observation("uncontained", reason))

    @asynccontextmanager
    async def connect(
        self,
        name: str,
        start: ServerStart | None = None,
        *,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        tell: Tell,
        opened: Open[S],
    ) -> AsyncIterator[S]:
        """Start a server, contained where that is wanted and possible; yield what it is spoken to through.

        Args:
            name: The server.
            start: How it is started without a sandbox; None starts it as it is configured, if it was not
                started early.
            on_words: Told each line of its standard error.
            on_end: Told why nothing more comes from it.
            tell: Told what is seen of its sandbox.
            opened: Opens that.

        Raises:
            ServerFailedError: If it cannot be started.
            ServerConfigError: If its configuration opens one of the system's own places.
        """
        await self._tell_uncontained(name, tell)
        async with AsyncExitStack() as stack:
            started = await self._started(name, start, stack)
            if started.watch is None:
                yield await stack.enter_async_context(opened(started.process, on_words, on_end))
                return
            watch = started.watch
            await stack.enter_async_context(self._watching(name, started, watch, tell))

            words: deque[str] = deque(maxlen=_LAST_WORDS)

            def spoke(line: str) -> None:
                words.append(line)
                on_words(line)

            def ended(why: str) -> None:
                watch.take()
                if not watch.refused:
                    self._ended[name] = self._end(name, started, words, watch.violations)
                on_end(watch.refused or why)

            self._ended.pop(name, None)
            yield await stack.enter_async_context(opened(started.process, spoke, ended))

    def _end(
        self, name: str, started: _Started, words: Sequence[str], violations: Sequence[str]
    ) -> EndedStart:
        assert started.limits is not None  # noqa: S101 - it is contained
        inputs, file, mounts = self._inputs, self._config.path, started.limits.usual
        named = named_directories(self._config.servers[name], inputs.directory, inputs.home)
        return EndedStart(name, file, self._home, mounts, named, words, violations, bool(inputs.asked))

    def why_ended(self, name: str) -> StartFailure | None:
        """Return what its sandbox probably had to do with it that a server has ended, None where nothing."""
        return self._ended[name].failure() if name in self._ended else None

    async def _started(self, name: str, start: ServerStart | None, stack: AsyncExitStack) -> _Started:
        if start is not None or name not in self._early:
            return await self._start(name, start, stack)
        started, held = self._early.pop(name)
        stack.push_async_callback(held.aclose)
        return started

    async def _start(self, name: str, start: ServerStart | None, stack: AsyncExitStack) -> _Started:
        """Start a server, which ends with the stack; nothing is said to it."""
        programs, reason = self._found.programs, self._uncontained(self._config.servers[name])
        if start is None:
            start = await to_thread.run_sync(parameters, name, self._config)
        if reason or programs is None:
            process = await ServerProcess.start(without_reachable(start, self._reachable))
            stack.push_async_callback(process.stop)
            return _Started(process)
        profile, limits = await to_thread.run_sync(self._profile, name)
        strict = self._config.sandbox.policy == "enforce"
        data = None if profile.shows_settings else await to_thread.run_sync(self._data, name, start)
        made = contained_in_thread(start, profile, programs, data, strict=strict)
        inside = await stack.enter_async_context(made)
        planted = await to_thread.run_sync(RepositoryWatch, tuple(map(Path, limits.usual.writable)))
        watch = SandboxWatch(name, inside, self._states, self._inputs.home)
        process = await ServerProcess.start(inside.start)
        stack.push_async_callback(process.stop)
        return _Started(process, limits, planted, watch)

    @asynccontextmanager
    async def _watching(
        self, name: str, started: _Started, watch: SandboxWatch, tell: Tell
    ) -> AsyncIterator[None]:
        """Tell what is seen of a server's sandbox, for as long as it runs."""
        assert started.limits is not None and started.planted is not None  # noqa: S101, PT018 - it is contained
        self._watched[name], self._limits[name] = watch, started.limits
        if self._inputs.reach(name).repositories:
            self._makers[watch] = tuple(map(Path, started.limits.usual.writable))
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch.run, tell)
                tasks.start_soon(self._look_again, name, started.planted, tell)
                yield
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._look(name, started.planted, tell)
                self._makers.pop(watch, None)
                del self._watched[name], self._limits[name]
                await watch.tell_all(tell)

    async def _look_again(self, name: str, planted: RepositoryWatch, tell: Tell) -> None:
        """Look for new repositories as long as a server runs, for a hundredth of the time at most."""
        rest = _LOOK
        while True:
            await anyio.sleep(rest)
            began = anyio.current_time()
            await self._look(name, planted, tell)
            rest = max(_LOOK, _REST * (anyio.current_time() - began))

    async def _look(self, name: str, planted: RepositoryWatch, tell: Tell) -> None:
        look = await to_thread.run_sync(planted.look)
        makers = [place for places in self._makers.values() for place in places]
        for seen in self._told.of(look, makers):
            await tell(name, seen)

    def _uncontained(self, server: Server) -> str:
        """Return why a server is started uncontained; nothing if it is contained."""
        if server.sandbox is False:
            return "the configuration says so"
        return "" if self._found.programs is not None else self._found.sentence


class _Started(Struct):
    """A server that was started, and to which nothing has been said.

    Attributes:
        process: Its process.
        limits: What its sandbox lets it reach; None where it has none, and so are the others.
        planted: Looks for new repositories.
        watch: Reads the report on it.
    """

    process: ServerProcess
    limits: SandboxLimits | None = None
    planted: RepositoryWatch | None = None
    watch: SandboxWatch | None = None
