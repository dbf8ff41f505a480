"""What one server may touch: what rules could let it, and what the configuration adds or takes away.

Out of a server's configuration and `SandboxInputs` comes its `Profile`, as real paths of this machine. The
system's own files are opened by nothing; a configuration that would is an error. Keys and sign-ins of the
user's programs are opened by no rule, only by the configuration.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from ironcurtain.enforcement.sandbox.programs import program_places
from ironcurtain.enforcement.sandbox.reach.opened import Kept, is_in, opened_by, personal_places
from ironcurtain.enforcement.sandbox.reach.reach import WITHOUT_POLICY, Reach
from ironcurtain.enforcement.sandbox.reach.repositories import closed_to_strangers, code_of_repositories
from ironcurtain.enforcement.sandbox.reach.sign_ins import sign_ins
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
        allowed_domains: Hosts that can be contacted, `*.` for subdomains, some with a port.
        denied_domains: Those of these that cannot.
        sealed: Hidden directories that are shown empty and read-only. Were they writable, a server would keep
            in them what is gone when it ends.
    """

    allow_read: tuple[Path, ...] = ()
    deny_read: tuple[Path, ...] = ()
    allow_write: tuple[Path, ...] = ()
    deny_write: tuple[Path, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
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
    wanted = _Wanted.of(server, inputs)
    reach, home = inputs.reach(name), _real(inputs.home)
    running = runtime_directory()
    # A server has its part of what runs; `contained` hides the rest, also of what is made later.
    ours = [real for path in [*inputs.own, *inputs.configuration] if (real := _real(path)) != running]
    _check_own(name, [*wanted.allow_read, *wanted.allow_write], [*ours, running])
    secrets = [_real(path) for path in sign_ins(inputs.home)]
    session = [_real(inputs.workspace)] if inputs.workspace and reach.session else []
    kept = _kept(wanted, [*ours, *secrets, running], session, inputs)
    opened = opened_by(reach, home, lambda named: _paths(inputs, named), kept)
    own = program_places(server, inputs.directory, home)
    writable = [*session, *wanted.allow_write, *opened.writable]
    if sys.platform == "darwin":
        _check_running(name, running, writable)
    broker = [path for path in personal_places(home) if not (opened.anywhere or is_in(path, opened.reads))]
    taken = [*opened.hidden, *inputs.hidden]
    shown = [*own, *([runtime] if runtime else []), *opened.reads, *opened.writable]
    shown = [path for path in shown if is_in(path, [*broker, *taken])]
    readable = [*wanted.allow_read, *session, *(path for path in shown if not is_in(path, kept.unread))]
    taken = [path for path in taken if path not in readable and path not in writable]
    hidden = [*ours, *secrets, *wanted.deny_read, *broker, *taken]
    sealed = [path for path in broker if path not in writable]
    code = code_of_repositories([*session, *wanted.allow_write, *opened.writes], home=inputs.home)
    closed = [] if reach.repositories else closed_to_strangers(writable)
    closed = [path for path in closed if not any(each.is_relative_to(path) for each in wanted.allow_write)]
    code = [path for path in (*code, *opened.held) if not is_in(path, closed)]
    protected = [real for path in inputs.protected if (real := _real(path)) != running]
    held = [
        *_once([*protected, *ours], opened.held, [*session, *wanted.allow_write, *opened.writes]),
        *wanted.deny_write,
        *opened.kept,
        *inputs.held,
        *closed,
        *[path for path in code if path not in wanted.allow_write],
        *[path for path in (own if programs is None else programs) if is_in(path, opened.writable)],
    ]
    shared = [*(_real(inputs.home / path) for path in _SHARED), Path(_SHARED_TEMPORARY)]
    allowed, denied = _domains(server, reach)
    return Profile(
        allow_read=_existing(readable),
        deny_read=_existing(hidden),
        allow_write=_existing(writable),
        deny_write=(*_inside(held, writable, session), *_existing(shared)),
        allowed_domains=allowed,
        denied_domains=denied,
        sealed=tuple(sealed),
    )


def _kept(wanted: _Wanted, closed: list[Path], session: list[Path], inputs: SandboxInputs) -> Kept:
    return Kept(
        unread=(*closed, *wanted.deny_read),
        unwritten=tuple(wanted.deny_write),
        projects=tuple({_real(path).parent for path in inputs.configuration}),
        session=tuple(session),
    )


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


def _check_running(name: str, running: Path, writable: list[Path]) -> None:
    """Refuse to open what holds the files of what runs: there no part of a denied whole can be given back."""
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
