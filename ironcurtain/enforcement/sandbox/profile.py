"""What one server may touch: what rules could let it, and what the configuration adds or takes away.

Out of a server's configuration and `SandboxInputs` comes its `Profile`, as real paths of this machine. The
system's own files are opened by nothing; a configuration that would is an error. Keys and sign-ins of the
user's programs are opened by no rule, only by the configuration.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ironcurtain.decision.protected_paths import GIT_DIRECTORY
from ironcurtain.enforcement.sandbox.reach.opened import Kept, Opened, is_in, opened_by, personal_places
from ironcurtain.enforcement.sandbox.reach.reach import WITHOUT_POLICY, Reach
from ironcurtain.enforcement.sandbox.reach.repositories import closed_to_strangers, code_of_repositories
from ironcurtain.enforcement.sandbox.reach.sign_ins import sign_ins
from ironcurtain.enforcement.sandbox.server_program import named_directories, program_places
from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.config import real_paths
from ironcurtain.servers.config_model import FilesystemSettings, SandboxSettings, Server
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import Struct, field, replace
from ironcurtain.system.text import quoted

_SHARED = (".claude/debug", ".npm/_logs")
"""Directories of the home that the runtime lets everybody write; here they are no exception."""
_DOMAIN = re.compile(r"(?:localhost|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)+)(?::[0-9]+)?")
_SHARED_TEMPORARY = "/tmp/claude"  # noqa: S108 - the runtime's own, likewise


class SandboxInputs(Struct):
    """What holds for all servers of a session.

    Attributes:
        home: The home directory.
        workspace: The session's directory, which every server may write; None for none.
        own: The system's own files and directories: approvals, audit logs, keys. No server can read them.
        protected: What no server can write.
        configuration: What the policy and the servers are configured by, with secrets of other servers in
            it. No server can read it.
        reaches: By server, what it reaches: where calls are enforced, what rules could allow.
        asked: By server, what rules could allow or have a person asked about; `reaches` where it is missing.
        data: Returns where a server's data directory is; None gives each start an empty one.
        hidden: What is hidden beside, unless something opens it.
        held: What is not written beside.
        directory: What relative paths of the configuration start from.
        settings: What the configuration says for every server.
    """

    home: Path
    workspace: Path | None
    own: tuple[Path, ...]
    protected: tuple[Path, ...]
    directory: Path
    settings: FilesystemSettings = field(default_factory=FilesystemSettings)
    configuration: tuple[Path, ...] = ()
    reaches: Mapping[str, Reach] = field(default_factory=dict)
    asked: Mapping[str, Reach] = field(default_factory=dict)
    data: Callable[[str], Path] | None = None
    hidden: tuple[Path, ...] = ()
    held: tuple[Path, ...] = ()

    def reach(self, server: str) -> Reach:
        """Return what a server reaches."""
        return self.reaches.get(server, WITHOUT_POLICY)

    def reach_asked(self, server: str) -> Reach:
        """Return what a server could be let reach when a person approves."""
        return self.asked.get(server, self.reach(server))

    def when_asked(self) -> SandboxInputs:
        """Return the inputs of servers that reach all that a person could approve."""
        return replace(self, reaches={**self.reaches, **self.asked}, asked={})


class Profile(Struct):
    """What the sandbox of one server lets it do; paths are real ones, sorted.

    The deepest directory that holds a path decides what can be read; of what can be written, `deny_write` is
    taken out.

    Attributes:
        allow_read: What can be read within `deny_read`.
        deny_read: What cannot be read.
        allow_write: What can be written.
        deny_write: What of that cannot.
        git_files: What of that git reads as files, there or not.
        allowed_domains: Hosts that can be contacted, `*.` for subdomains, some with a port.
        denied_domains: Those of these that cannot.
        named: Hidden directories that the server's entry names: they are shown, empty and read-only, since a
            server may end where what it is started for is not there.
        shows_settings: Whether something is shown or open that is hidden in the home (`~/.NAME`) and is no
            program: a server would look for it there.
        sealed: Hidden directories that are shown empty and read-only. Were they writable, a server would keep
            in them what is gone when it ends.
    """

    allow_read: tuple[Path, ...] = ()
    deny_read: tuple[Path, ...] = ()
    allow_write: tuple[Path, ...] = ()
    deny_write: tuple[Path, ...] = ()
    git_files: tuple[Path, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    named: tuple[Path, ...] = ()
    shows_settings: bool = False
    sealed: tuple[Path, ...] = ()


def build_profile(
    name: str,
    server: Server,
    inputs: SandboxInputs,
    programs: Iterable[Path] | None = None,
    runtime: Path | None = None,
) -> Profile:
    """Return what a server's sandbox lets it do.

    Args:
        name: The server's name, for errors.
        server: Its configuration.
        inputs: What holds for all.
        programs: What the programs of all servers are made of; None looks for its own alone.
        runtime: The package of the sandbox runtime, which has to be seen inside.

    Raises:
        ServerConfigError: If the configuration opens one of the system's own places.
    """
    found = _Found.of(name, server, inputs)
    if sys.platform == "darwin":
        _check_running(name, found.writable)
    readable = _readable(found, runtime)
    code = _code(found, inputs.home)
    held = [*_held(found, inputs, found.program if programs is None else programs), *code]
    allowed, denied = _domains(server, found.reach)
    return Profile(
        allow_read=_existing(readable),
        deny_read=_existing(_hidden(found, readable)),
        allow_write=_existing(found.writable),
        deny_write=(*_inside(held, found.writable, found.session), *_existing(_shared(inputs.home))),
        git_files=tuple(path for path in code if path.name not in {"hooks", GIT_DIRECTORY}),
        allowed_domains=allowed,
        denied_domains=denied,
        named=tuple(path for path in found.named_directories if is_in(path, found.personal)),
        shows_settings=found.shows_settings(_real(inputs.home)),
        sealed=tuple(path for path in found.personal if path not in found.writable),
    )


class _Found(Struct):
    """What a profile is made of; real paths.

    Attributes:
        reach: What rules could let the server reach.
        wanted: What its configuration says.
        ours: The system's own places and what it is configured by, without what runs.
        secrets: Keys and sign-ins.
        session: The session's directory, where the server has it.
        kept: What no rule opens.
        opened: What rules open.
        program: What the server's program is made of.
        personal: The home and people's directories, hidden as a whole: none where rules let be read anywhere.
        taken: What else is hidden unless something opens it.
        named_directories: What its entry names of directories, but for what no rule opens.
    """

    reach: Reach
    wanted: _Wanted
    ours: list[Path]
    secrets: list[Path]
    session: list[Path]
    kept: Kept
    opened: Opened
    program: list[Path]
    personal: list[Path]
    taken: list[Path]
    named_directories: list[Path]

    @classmethod
    def of(cls, name: str, server: Server, inputs: SandboxInputs) -> _Found:
        wanted, reach, home = _Wanted.of(server, inputs), inputs.reach(name), _real(inputs.home)
        ours, running = _without_running([*inputs.own, *inputs.configuration]), runtime_directory()
        _check_own(name, [*wanted.allow_read, *wanted.allow_write], [*ours, running])
        secrets = [_real(path) for path in sign_ins(inputs.home)]
        session = [_real(inputs.workspace)] if inputs.workspace and reach.session else []
        kept = _kept(wanted, [*ours, *secrets, running], session, inputs)
        opened = opened_by(reach, home, lambda named: _paths(inputs, named), kept)
        places = [] if opened.anywhere else personal_places(home)
        return cls(
            reach=reach,
            wanted=wanted,
            ours=ours,
            secrets=secrets,
            session=session,
            kept=kept,
            opened=opened,
            program=program_places(server, inputs.directory, home),
            personal=[path for path in places if not is_in(path, opened.reads)],
            taken=[*opened.hidden, *inputs.hidden],
            named_directories=[
                path
                for path in named_directories(server, inputs.directory, home)
                if not is_in(path, kept.unread)
            ],
        )

    @property
    def named(self) -> list[Path]:
        """What can be written because something names it."""
        return [*self.session, *self.wanted.allow_write, *self.opened.writes]

    def shows_settings(self, home: Path) -> bool:
        """Tell whether something hidden in the home is named: not what a program is made of."""
        named = [*self.named, *self.wanted.allow_read, *self.opened.reads]
        below = [path.relative_to(home).parts for path in named if home in path.parents]
        return any(parts[0].startswith(".") or parts[0] == "Library" for parts in below)

    @property
    def writable(self) -> list[Path]:
        """All that can be written, but for what is held."""
        return [*self.session, *self.wanted.allow_write, *self.opened.writable]


def _kept(wanted: _Wanted, closed: list[Path], session: list[Path], inputs: SandboxInputs) -> Kept:
    return Kept(
        unread=(*closed, *wanted.deny_read),
        unwritten=tuple(wanted.deny_write),
        projects=tuple({_real(path).parent for path in inputs.configuration}),
        session=tuple(session),
    )


def _without_running(paths: Iterable[Path]) -> list[Path]:
    """Return real paths without the directory of what runs.

    A server has its part of that; `contained` hides the rest, also of what is made later.
    """
    running = runtime_directory()
    return [real for path in paths if (real := _real(path)) != running]


def _readable(found: _Found, runtime: Path | None) -> list[Path]:
    """Return what can be read in what is hidden: what is named, and what the server runs and works with."""
    needed = [*found.program, *([runtime] if runtime else []), *found.opened.reads, *found.opened.writable]
    hidden = [*found.personal, *found.taken]
    shown = [path for path in needed if is_in(path, hidden) and not is_in(path, found.kept.unread)]
    return [*found.wanted.allow_read, *found.session, *shown]


def _hidden(found: _Found, readable: list[Path]) -> list[Path]:
    """Return what cannot be read: what is kept from every server or hidden, where nothing opens it."""
    taken = [path for path in found.taken if path not in readable and path not in found.writable]
    return [*found.ours, *found.secrets, *found.wanted.deny_read, *found.personal, *taken]


def _held(found: _Found, inputs: SandboxInputs, programs: Iterable[Path]) -> list[Path]:
    """Return what cannot be written, be it in what can be written or not."""
    opened = found.opened
    return [
        *_once([*_without_running(inputs.protected), *found.ours], opened.held, found.named),
        *(path for path in opened.held if path not in found.wanted.allow_write),
        *found.wanted.deny_write,
        *opened.kept,
        *inputs.held,
        *[path for path in programs if is_in(path, opened.writable)],
    ]


def _code(found: _Found, home: Path) -> list[Path]:
    """Return what of repositories is not written: their code.

    Those that are none of the server's business are held as a whole, unless the configuration opens a part.
    """
    written = found.wanted.allow_write
    strange = [] if found.reach.repositories else closed_to_strangers(found.writable)
    closed = [path for path in strange if not any(each.is_relative_to(path) for each in written)]
    code = [*code_of_repositories(found.named, home=home), *found.opened.code]
    return [*closed, *(path for path in code if not is_in(path, closed) and path not in written)]


def _shared(home: Path) -> list[Path]:
    return [*(_real(home / path) for path in _SHARED), Path(_SHARED_TEMPORARY)]


def _once(paths: list[Path], held: Iterable[Path], writable: list[Path]) -> list[Path]:
    """Return what has to be held one by one: a stand-in is made for each that is not there.

    What lies in a place that is held as a whole need not be, unless it is writable in between.
    """
    whole = tuple(held)
    return [path for path in paths if not is_in(path, whole) or is_in(path, writable)]


class _Wanted(Struct):
    """What the configuration says for a server, as real paths."""

    allow_read: list[Path]
    allow_write: list[Path]
    deny_read: list[Path]
    deny_write: list[Path]

    @classmethod
    def of(cls, server: Server, inputs: SandboxInputs) -> _Wanted:
        settings = server.sandbox if isinstance(server.sandbox, SandboxSettings) else SandboxSettings()
        both = (inputs.settings, settings.filesystem)

        def paths(key: str) -> list[Path]:
            return _paths(inputs, (path for each in both for path in getattr(each, key)))

        return cls(*(paths(key) for key in ("allow_read", "allow_write", "deny_read", "deny_write")))


def _domains(server: Server, reach: Reach) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the domains to allow and to deny: of the configuration's list, else those that rules name."""
    settings = server.sandbox if isinstance(server.sandbox, SandboxSettings) else SandboxSettings()
    listed = settings.network.allowed_domains
    allowed = listed if listed is not None else tuple(filter(can_be_let_through, reach.domains))
    return allowed, settings.network.denied_domains


def can_be_let_through(domain: str) -> bool:
    """Tell whether the sandbox's network knows a domain of a rule: a name, with subdomains or a port."""
    return _DOMAIN.fullmatch(domain) is not None


def _check_own(name: str, opened: list[Path], kept: list[Path]) -> None:
    for path in opened:
        if is_in(path, kept):
            raise ServerConfigError(
                f"the sandbox of server {name} opens {quoted(str(path))}, which is kept from every server",
                where=name,
                hint="Take it out of allowRead and allowWrite.",
            )


def shown_sign_ins(server: Server, inputs: SandboxInputs) -> list[Path]:
    """Return the keys and sign-ins that are there and that a server's configuration shows it."""
    filesystem = (
        server.sandbox.filesystem if isinstance(server.sandbox, SandboxSettings) else FilesystemSettings()
    )
    both = (inputs.settings, filesystem)
    shown = _paths(inputs, (path for each in both for path in (*each.allow_read, *each.allow_write)))
    there = _existing(_real(path) for path in sign_ins(inputs.home))
    inside = [path for path in there if any(path.is_relative_to(each) for each in shown)]
    return [*inside, *(each for each in shown if any(path in each.parents for path in there))]


def _check_running(name: str, writable: list[Path]) -> None:
    """Refuse to open what holds the files of what runs: there no part of a denied whole can be given back."""
    running = runtime_directory()
    opened = next((path for path in writable if running.is_relative_to(path)), None)
    if opened is not None:
        raise ServerConfigError(
            f"the sandbox of server {name} opens {quoted(str(opened))}, which holds {running.name}",
            where=name,
            hint="Name directories below it.",
        )


def _inside(held: list[Path], writable: list[Path], session: list[Path]) -> list[Path]:
    """Return what is held in writable directories, but not what holds the session's: the deeper decides."""
    kept = [path for path in held if not any(path == root or path in root.parents for root in session)]
    return sorted({path for path in kept if any(root in (path, *path.parents) for root in writable)})


def _existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(sorted({path for path in paths if path.exists()}))


def _paths(inputs: SandboxInputs, written: Iterable[str]) -> list[Path]:
    return real_paths(written, home=inputs.home, directory=inputs.directory)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
