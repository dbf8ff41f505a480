"""Who contains the servers of one proxy: by policy, configuration and what this machine can do.

    launcher = SandboxLauncher.open(config, inputs)  # SandboxMissingError where servers cannot be contained
    async with launcher.connect(name, start, on_words=say, on_end=ended, tell=tell) as streams:
        launcher.state(name)  # what was seen to confine it

What always holds:

1. Where the policy is `enforce`, a server that is to be contained is started contained, or not at all.
2. A running server's mounts are those of its start; a policy with another reach takes a new start.
3. What is called contained was seen by a probe inside an identical sandbox, not taken from the settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio import to_thread
from mcp import StdioServerParameters

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.enforcement.sandbox.contained_process import ContainedStart, contained
from ironcurtain.enforcement.sandbox.limits import Mounts, SandboxLimits, beyond, widened
from ironcurtain.enforcement.sandbox.profile import Profile, SandboxInputs, build_profile
from ironcurtain.enforcement.sandbox.programs import Programs, ProgramSurvey, program_places, survey
from ironcurtain.enforcement.sandbox.reach.opened import NewRepositories, RepositoryWatch
from ironcurtain.enforcement.sandbox.reach.reach import Reach
from ironcurtain.enforcement.sandbox.report import Observation, Report, offer
from ironcurtain.errors import SandboxMissingError, ServerFailedError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.stdio_transport import Streams, connect_pipes
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.text import quoted, visible

_POLL = 0.25
_LOOK = 2.0
_REST = 100
"""How much longer than a look for new repositories the rest after it is."""
_MECHANISM = "bubblewrap" if sys.platform == "linux" else "seatbelt"


@dataclass(frozen=True)
class Confinement:
    """What was seen to confine a server's process.

    Attributes:
        isolation: `none`, or the name of the mechanism.
        observed: How that was seen.
    """

    isolation: str
    observed: str


UNSTARTED = Confinement("none", "the server has not been started")
Tell = Callable[[str, Observation], Awaitable[None]]
"""Is told of a server what was seen of it."""


class SandboxLauncher:
    """Starts servers contained as far as the configuration wants it, and knows what was seen of each."""

    def __init__(self, config: ServerConfig, inputs: SandboxInputs, found: ProgramSurvey) -> None:
        """Take a survey that the policy is content with; see `open`."""
        self._config, self._inputs, self._found = config, inputs, found
        self._reachable = _reachable(config, inputs)
        self._states: dict[str, Confinement] = {}
        self._watched: dict[str, _Watch] = {}
        self._limits: dict[str, SandboxLimits] = {}
        self._makers: dict[_Watch, tuple[Path, ...]] = {}
        self._told = NewRepositories()
        self._programs: frozenset[Path] | None = None

    @classmethod
    def open(cls, config: ServerConfig, inputs: SandboxInputs) -> SandboxLauncher:
        """Look what this machine can do.

        Raises:
            SandboxMissingError: If it cannot contain servers and the policy is `enforce`.
        """
        wanted = [
            name for name, server in config.servers.items() if server.command and server.sandbox is not False
        ]
        needs = survey(config.sandbox.program, near=config.directory, reachable=_reachable(config, inputs))
        if wanted and needs.programs is None and config.sandbox.policy == "enforce":
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
                mends = offer(name, what, resource.value)
                named = visible(resource.value)
                return f"the policy permits it to {what} {named}, and its sandbox does not: {mends}"
        return ""

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
        """Take what another policy lets servers reach; return those that it is another reach for.

        What runs stays as it is: its mounts are those of its start.
        """
        before = self._inputs
        self._inputs = now = replace(before, reaches=reaches, asked=asked)
        return [
            name
            for name in self._config.servers
            if before.reach(name) != now.reach(name) or before.reach_asked(name) != now.reach_asked(name)
        ]

    def _profile(self, name: str) -> tuple[Profile, SandboxLimits]:
        """Return what a server's sandbox lets it do, and the limits of it and of a wider one."""
        if self._programs is None:
            home = Path(os.path.realpath(self._inputs.home))
            started = [each for each in self._config.servers.values() if each.command]
            made = [program_places(each, self._inputs.directory, home) for each in started]
            ours = self._found.programs.places() if self._found.programs else []
            self._programs = frozenset([*ours, *(place for places in made for place in places)])
        runtime = self._found.programs.package() if self._found.programs else None
        server, inputs = self._config.servers[name], self._inputs
        profile = build_profile(name, server, inputs, self._programs, runtime)
        usual = asked = Mounts.of(profile)
        if inputs.reach_asked(name) != inputs.reach(name):
            asked = Mounts.of(build_profile(name, server, inputs.when_asked(), self._programs, runtime))
        return profile, SandboxLimits(usual, asked)

    @asynccontextmanager
    async def connect(
        self,
        name: str,
        start: StdioServerParameters,
        *,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        tell: Tell,
    ) -> AsyncIterator[Streams]:
        """Start a server and yield its streams: `connect_pipes`, contained where that is wanted and possible.

        Raises:
            ServerFailedError: If it cannot be started.
            ServerConfigError: If its configuration opens one of the system's own places.
        """
        server = self._config.servers[name]
        programs, reason = self._found.programs, self._uncontained(server)
        if reason or programs is None:
            self._states[name] = Confinement("none", f"started uncontained: {reason}")
            await tell(name, Observation("uncontained", reason))
            free = _without_reachable(start, self._reachable)
            async with connect_pipes(free, on_words=on_words, on_end=on_end) as streams:
                yield streams
            return
        profile, limits = await to_thread.run_sync(self._profile, name)
        strict = self._config.sandbox.policy == "enforce"
        async with _inside(start, profile, programs, strict=strict) as inside:
            places = tuple(map(Path, limits.usual.writable))
            planted = await to_thread.run_sync(RepositoryWatch, places)
            watch = self._watched[name] = _Watch(name, inside, self._states, tell, self._inputs.home)
            self._limits[name] = limits
            if self._inputs.reach(name).repositories:
                self._makers[watch] = places

            def ended(why: str) -> None:
                watch.take()
                on_end(watch.refused or why)

            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(watch.run)
                    tasks.start_soon(self._look_again, name, planted, tell)
                    async with connect_pipes(inside.start, on_words=on_words, on_end=ended) as streams:
                        yield streams
                    tasks.cancel_scope.cancel()
            finally:
                with anyio.CancelScope(shield=True):
                    await self._look(name, planted, tell)
                    self._makers.pop(watch, None)
                    del self._watched[name], self._limits[name]
                    await watch.tell_all()

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


def _reachable(config: ServerConfig, inputs: SandboxInputs) -> tuple[Path, ...]:
    session = (Path(os.path.realpath(inputs.workspace)),) if inputs.workspace else ()
    return (*session, *config.writable(inputs.home))


def _without_reachable(start: StdioServerParameters, reachable: tuple[Path, ...]) -> StdioServerParameters:
    """Return an uncontained start that runs nothing by name from where tools and servers can write.

    Raises:
        ServerFailedError: If its program is only there.
    """
    environment = start.env or {}
    search = ProgramSearch(environment.get("PATH", os.defpath), reachable)
    program = Path(start.command) if "/" in start.command else search.find(start.command)
    if program is None:
        raise ServerFailedError(
            f"the command {quoted(start.command)} {search.passed_over(start.command) or 'was not found'}",
            hint="Write its absolute path, or install it outside the sandbox.",
        )
    return start.model_copy(
        update={"command": str(program), "env": {**environment, "PATH": search.safe_path()}}
    )


@asynccontextmanager
async def _inside(
    start: StdioServerParameters, profile: Profile, programs: Programs, *, strict: bool
) -> AsyncIterator[ContainedStart]:
    """`contained`, in threads: it waits for other processes, and removes whatever the server has left."""
    made = contained(start, profile, programs, strict=strict)
    try:
        inside = await to_thread.run_sync(made.__enter__)
    except OSError as error:
        raise ServerFailedError(f"its sandbox cannot be prepared: {visible(str(error))}") from error
    try:
        yield inside
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(made.__exit__, None, None, None)


class _Watch:
    """Reads the report on one started server, and sees whether what it is kept from is still that."""

    def __init__(
        self, name: str, inside: ContainedStart, states: dict[str, Confinement], tell: Tell, home: Path
    ) -> None:
        self._name, self._states, self._tell = name, states, tell
        self._report = Report(inside.report, home)
        self.violations: list[str] = []
        self._held = {path: _identity(path) for path in inside.held}
        self._untold: list[Observation] = []
        self.refused = ""
        states[name] = Confinement("none", "nothing has been seen of its sandbox yet")

    def take(self) -> None:
        """Read what is new."""
        for seen in self._report.new():
            self._untold.append(seen)
            if seen.kind == "violation":
                self.violations.append(seen.text)
            if seen.kind in {"observed", "open"}:
                self._states[self._name] = Confinement(
                    _MECHANISM if seen.kind == "observed" else "none", seen.text
                )
            elif seen.kind == "refused":
                self.refused = f"its sandbox could not be made: {seen.text}"

    async def run(self) -> None:
        """Tell what is seen, for as long as the server runs."""
        while True:
            await self.tell_all()
            await anyio.sleep(_POLL)

    async def tell_all(self) -> None:
        """Tell what has been seen and not yet told."""
        self.take()
        self._look_at_held()
        untold, self._untold = self._untold, []
        for seen in untold:
            await self._tell(self._name, seen)

    def _look_at_held(self) -> None:
        for path in [path for path, was in self._held.items() if _identity(path) != was]:
            del self._held[path]
            what = f"{visible(str(path))} was replaced; the server is kept from it again when it next starts"
            self._untold.append(Observation("open", what))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
